"""A table drawn line by line: fixed columns, a cursor that stays on its row, marks, repaints of changed cells only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from accel_tui.tui.bindings import bind
from accel_tui.tui.widgets.columns import Column, Place, Row, lay_out
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, fit, segments

WHEEL_ROWS = 3


class Grid(Painted, can_focus=True):
    """Rows of styled cells. Whoever fills it decides what a pick or a sort means; the grid tells what was asked."""

    DEFAULT_CSS = """
    Grid { height: 1fr; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("move.up", "move(-1)"),
        bind("move.down", "move(1)"),
        bind("move.page_up", "page(-1)"),
        bind("move.page_down", "page(1)"),
        bind("move.first", "edge(-1)"),
        bind("move.last", "edge(1)"),
        bind("item.open", "open"),
        bind("item.pick", "pick"),
        bind("item.range", "extend(1)"),
        bind("item.range_up", "extend(-1)"),
        bind("item.clear", "clear"),
        bind("pane.sort", "sort"),
    ]

    class Told(Message):
        """What all messages of a grid share."""

        def __init__(self, grid: Grid) -> None:
            super().__init__()
            self.grid = grid

        @property
        def control(self) -> Grid:
            return self.grid

    class Moved(Told):
        """The cursor stands on another row; `key` is None when no row is left."""

        def __init__(self, grid: Grid, key: str | None) -> None:
            super().__init__(grid)
            self.key = key

    class Opened(Told):
        """A row was opened by key or double click."""

        def __init__(self, grid: Grid, key: str) -> None:
            super().__init__(grid)
            self.key = key

    class Picked(Told):
        """Rows were picked: a single one is toggled, several are added (`toggle` is false)."""

        def __init__(self, grid: Grid, keys: tuple[str, ...], *, toggle: bool) -> None:
            super().__init__(grid)
            self.keys = keys
            self.toggle = toggle

    class Cleared(Told):
        """All picks were given back."""

    class SortAsked(Told):
        """A header was clicked, or the next column was asked for (`column` is None)."""

        def __init__(self, grid: Grid, column: str | None) -> None:
            super().__init__(grid)
            self.column = column

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        marks: bool = True,
        id: str | None = None,
    ) -> None:
        """
        Args:
            columns: In their order from the left.
            marks: Keep a column for the rows' marks, behind that of the cursor.
        """
        super().__init__(id=id)
        self._head_rows = 1
        self.led = False
        """A field that has the focus passes the keys of the cursor on."""
        self._columns = tuple(columns)
        self._lead = 2 if marks else 1
        self._rows: tuple[Row, ...] = ()
        self._cursor = 0
        self._top = 0
        self._anchor: int | None = None
        self._sorted: tuple[str, bool] | None = None
        self._empty: tuple[Cell, ...] = ()
        self._layout: tuple[tuple[int, bool, tuple[Column, ...]], tuple[Place, ...]] | None = None

    # What it shows

    @property
    def head_rows(self) -> int:
        """Rows of the header: 1, or 0 where there is no room for one."""
        return self._head_rows

    @head_rows.setter
    def head_rows(self, number: int) -> None:
        if number != self._head_rows:
            self._head_rows = number
            self._clamp()
            self.refresh()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as they are shown."""
        return self._rows

    @property
    def active(self) -> bool:
        """Its cursor is the one that keys move: it has the focus, or is led by a field that has it."""
        return self.has_focus or self.led

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, whether they fit or not."""
        return self._columns

    @property
    def cursor_key(self) -> str | None:
        """The key of the row under the cursor."""
        return self._rows[self._cursor].key if self._rows else None

    @property
    def visible_columns(self) -> tuple[str, ...]:
        """Keys of the columns that the width allows."""
        return tuple(place.column.key for place in self._places)

    def show(self, rows: Sequence[Row], *, columns: Sequence[Column] | None = None, empty: Sequence[Cell] = ()) -> None:
        """Replace the rows; the cursor stays on its row, or near its place when that is gone.

        Args:
            columns: Replace the columns as well.
            empty: Lines shown instead when there is no row: the fact, and what changes it.
        """
        old, old_cursor, old_top, old_columns = self._rows, self._cursor, self._top, self._columns
        old_empty = self._empty
        key, in_sight = self.cursor_key, old_top <= old_cursor < old_top + self._height
        self._columns = self._columns if columns is None else tuple(columns)
        self._rows, self._empty = tuple(rows), tuple(empty)
        self._cursor = self._place_of(key)
        self._clamp(follow=in_sight)
        unlike = len(old) != len(self._rows) or self._top != old_top or self._columns != old_columns
        if unlike or (not self._rows and self._empty != old_empty):
            self.refresh()
        else:
            self._repaint_changes(old, old_cursor)
        if self.cursor_key != key:
            self._anchor = None
            self.post_message(self.Moved(self, self.cursor_key))

    def mark_sorted(self, column: str, *, descending: bool = False) -> None:
        """Show beside a header that the rows are sorted by it."""
        self._sorted = (column, descending)
        self.refresh(Region(0, 0, self.size.width, 1))

    def move_to(self, key: str) -> None:
        """Put the cursor on a row, if there is such a row, and scroll to it."""
        for number, row in enumerate(self._rows):
            if row.key == key:
                self._put_cursor(number)

    def _place_of(self, key: str | None) -> int:
        for number, row in enumerate(self._rows):
            if row.key == key:
                return number
        return max(0, min(self._cursor, len(self._rows) - 1))

    def _repaint_changes(self, old: Sequence[Row], old_cursor: int) -> None:
        regions = []
        for number in range(self._top, min(self._top + self._height, len(self._rows))):
            y = self.head_rows + number - self._top
            one, other = old[number], self._rows[number]
            if (number == self._cursor) != (number == old_cursor):
                regions.append(Region(0, y, self.size.width, 1))
                continue
            if one.mark != other.mark and self._lead > 1:
                regions.append(Region(1, y, 1, 1))
            regions += [
                Region(place.x, y, place.width, 1)
                for place in self._places
                if one.cells[place.number] != other.cells[place.number]
            ]
        if regions:
            self.refresh(*regions)

    # Where things are

    @property
    def _height(self) -> int:
        """Rows that are visible."""
        return max(1, self.size.height - self.head_rows)

    @property
    def _overflows(self) -> bool:
        return len(self._rows) > self._height

    @property
    def _places(self) -> tuple[Place, ...]:
        key = (self.size.width, self._overflows, self._columns)
        if self._layout is None or self._layout[0] != key:
            width = self.size.width - (2 if self._overflows else 0)
            self._layout = (key, lay_out(self._columns, width, self._lead))
        return self._layout[1]

    def _clamp(self, *, follow: bool = True) -> None:
        """No blank rows below the last; with `follow` the cursor's row is visible, else the wheel may have left it."""
        if follow:
            self._top = max(min(self._top, self._cursor), self._cursor - self._height + 1)
        self._top = max(0, min(self._top, len(self._rows) - self._height))

    def _put_cursor(self, number: int) -> None:
        number = max(0, min(number, len(self._rows) - 1))
        if not self._rows:
            return
        before, top = self._cursor, self._top
        self._cursor = number
        self._clamp()
        if top != self._top:
            self.refresh()
        elif before != number:
            self._repaint_rows(before, number)
        if before != number:
            self.post_message(self.Moved(self, self.cursor_key))

    def _repaint_rows(self, *numbers: int) -> None:
        self.refresh(*(Region(0, self.head_rows + number - self._top, self.size.width, 1) for number in numbers))

    def on_resize(self) -> None:
        self._clamp()

    def on_show(self) -> None:
        self._clamp()  # rows that came while it was hidden found no height
        self.refresh()

    def on_focus(self) -> None:
        self._repaint_rows(self._cursor)

    def on_blur(self) -> None:
        self._repaint_rows(self._cursor)

    # Drawing

    def render_line(self, y: int) -> Strip:
        if y < self.head_rows:
            return self.line(self._header(), self.surface)
        if not self._rows:
            return self.notice(self._empty, y, self.head_rows)
        number = self._top + y - self.head_rows
        if number >= len(self._rows):
            return self.line(())
        surface = self.surface
        if number == self._cursor:
            surface = "select" if self.active else "raised"
        content = segments(self._row(number), self.palette, surface)
        return Strip([*content, *segments(self._scroll_mark(y), self.palette, self.surface)])

    def _header(self) -> Cell:
        pieces, x = [Piece(" " * self._lead)], self._lead
        for place in self._places:
            # A right-aligned title may be longer than its values: it reaches back over the gap.
            start = place.x if place.column.align == "left" else x
            end = place.x + place.width
            pieces.append(Piece(" " * (start - x)))
            pieces += fit(self._title(place.column), end - start, place.column.align, "", self.glyphs.ascii)
            x = end
        return tuple(pieces)

    def _title(self, column: Column) -> Cell:
        title = Piece(column.title, "muted")
        if self._sorted is None or self._sorted[0] != column.key or not column.title:
            return (title,)
        sign = self.sign("down" if self._sorted[1] else "up")
        return (sign, title) if column.align == "right" else (title, sign)

    def _row(self, number: int) -> Cell:
        row, cut, ascii_only = self._rows[number], self.glyphs.text("cut"), self.glyphs.ascii
        here = number == self._cursor
        pieces: list[Piece] = [
            self.sign("cursor", "accent" if self.active else "muted") if here else Piece(" "),
            *(fit((row.mark or Piece(" "),), 1, "left", "", ascii_only) if self._lead > 1 else ()),
        ]
        x = self._lead
        for place in self._places:
            pieces.append(Piece(" " * (place.x - x)))
            pieces += fit(row.cells[place.number], place.width, place.column.align, cut, ascii_only)
            x = place.x + place.width
        room = self.size.width - (2 if self._overflows else 0)
        return fit(tuple(pieces), room, "left", cut, ascii_only)

    def _scroll_mark(self, y: int) -> Cell:
        """The place of the visible rows among all, drawn only when there are more."""
        if not self._overflows:
            return ()
        start, length = self._thumb()
        return (Piece(" "), self.sign("scroll") if start <= y - self.head_rows < start + length else Piece(" "))

    def _thumb(self) -> tuple[int, int]:
        length = max(1, self._height * self._height // len(self._rows))
        return round(self._top * (self._height - length) / (len(self._rows) - self._height)), length

    # What is asked of it

    def action_move(self, rows: int) -> None:
        self._anchor = None
        self._put_cursor(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self._height - 1))

    def action_edge(self, end: int) -> None:
        self.action_move(end * len(self._rows))

    def action_open(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Opened(self, self.cursor_key))

    def action_pick(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Picked(self, (self.cursor_key,), toggle=True))

    def action_extend(self, rows: int) -> None:
        """Pick from where extending began to the next row."""
        if self._rows:
            self._extend_to(self._cursor + rows)

    def action_clear(self) -> None:
        self._anchor = None
        self.post_message(self.Cleared(self))

    def action_sort(self) -> None:
        self.post_message(self.SortAsked(self, None))

    def _extend_to(self, number: int) -> None:
        anchor = self._cursor if self._anchor is None else self._anchor
        self._put_cursor(number)
        self._anchor = anchor
        low, high = sorted((anchor, self._cursor))
        keys = tuple(row.key for row in self._rows[low : high + 1])
        self.post_message(self.Picked(self, keys, toggle=False))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if event.y < self.head_rows:
            for place in self._places:
                if place.x - place.column.gap <= event.x < place.x + place.width and place.column.title:
                    self.post_message(self.SortAsked(self, place.column.key))
            return
        number = self._top + event.y - self.head_rows
        if number >= len(self._rows):
            return
        if event.shift:
            self._extend_to(number)
            return
        self._anchor = None
        self._put_cursor(number)
        if event.x < self._lead and self._lead > 1:
            self.action_pick()
        elif event.chain == 2:
            self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(WHEEL_ROWS, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-WHEEL_ROWS, event)

    def _scroll(self, rows: int, event: events.MouseEvent) -> None:
        """Move the rows under the cursor's place; the cursor stays on its row, even out of sight."""
        top = max(0, min(self._top + rows, len(self._rows) - self._height))
        if top != self._top:
            event.stop()
            self._top = top
            self.refresh()
