"""The form as one widget: drawn line by line, with a cursor; a field above it takes what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from accel_tui.tui.bindings import bind
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.panes.job.rows import Kind, Look, Row, draw, option_at
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell

if TYPE_CHECKING:
    from accel_tui.jobs.forms.form import Form


class FormView(Painted, can_focus=True):
    """Rows of a form. It tells what was asked; whoever fills it changes the form."""

    DEFAULT_CSS = """
    FormView { height: 1fr; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("move.up", "move(-1)"),
        bind("move.down", "move(1)"),
        bind("move.page_up", "page(-1)"),
        bind("move.page_down", "page(1)"),
        bind("move.first", "edge(-1)"),
        bind("move.last", "edge(1)"),
        bind("move.left", "step(-1)"),
        bind("move.right", "step(1)"),
        bind("item.open", "open"),
        bind("item.pick", "step(1)"),
        bind("field.reset", "reset"),
    ]

    class Told(Message):
        """What all messages of a form share."""

        def __init__(self, view: FormView, row: Row) -> None:
            super().__init__()
            self.view = view
            self.row = row

        @property
        def control(self) -> FormView:
            return self.view

    class Moved(Told):
        """The cursor stands on another row."""

    class Opened(Told):
        """A row was opened: its text is to be edited, its fold turned, or the next choice taken."""

    class Stepped(Told):
        """The next or the previous choice was asked for."""

        def __init__(self, view: FormView, row: Row, steps: int) -> None:
            super().__init__(view, row)
            self.steps = steps

    class Chosen(Told):
        """A choice was clicked."""

        def __init__(self, view: FormView, row: Row, choice: str) -> None:
            super().__init__(view, row)
            self.choice = choice

    class Reset(Told):
        """The default was asked for, or a row of a list taken out."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._form: Form | None = None
        self._rows: tuple[Row, ...] = ()
        self._look = Look(80, Glyphs(), lambda _: None, lambda *_: None)
        self._drawn: tuple[Cell, ...] = ()
        self._cursor = 0
        self._top = 0
        self._empty: tuple[Cell, ...] = ()
        self.typing = False
        """A field above it has the focus for the row under the cursor."""

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._cursor] if self._cursor < len(self._rows) and self._rows[self._cursor].stops else None

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    @property
    def look(self) -> Look:
        return self._look

    @property
    def below(self) -> int:
        """Rows below the visible ones."""
        return max(0, len(self._rows) - self._top - self.size.height)

    def show(self, form: Form, rows: Sequence[Row], look: Look, empty: Sequence[Cell] = ()) -> None:
        """Replace the rows; the cursor stays on its row, or near its place when that is gone."""
        key = None if self.row is None else self.row.key
        in_sight = self._top <= self._cursor < self._top + max(1, self.size.height)
        old, old_top = self._drawn, self._top
        self._form, self._rows, self._look, self._empty = form, tuple(rows), look, tuple(empty)
        self._cursor = next((at for at, row in enumerate(rows) if row.stops and row.key == key), self._near())
        self._clamp(follow=in_sight)
        self._drawn = self._draw()
        if len(old) != len(self._drawn) or self._top != old_top or not rows:
            self.refresh()
        else:
            self._repaint(*(at for at, (one, other) in enumerate(zip(old, self._drawn, strict=True)) if one != other))
        if self.row is not None and self.row.key != key:
            self.post_message(self.Moved(self, self.row))

    def move_to(self, path: tuple[str, ...], number: int = 0) -> bool:
        """Put the cursor on a field or on one of its rows; False when it is not shown."""
        for at, row in enumerate(self._rows):
            if row.stops and row.path == path and row.number == number:
                self._put_cursor(at)
                return True
        return False

    def value_region(self) -> Region | None:
        """Where the value under the cursor stands in this widget; None when there is none in sight."""
        y = self._cursor - self._top
        row = self.row
        if row is None or row.kind is Kind.FOLD or not 0 <= y < self.size.height:
            return None
        width = self.size.width - self._look.at if row.kind is Kind.ITEM else self._look.value
        return Region(self._look.at, y, width, 1)

    def _near(self) -> int:
        """The row with a stop that is nearest to where the cursor was."""
        stops = [at for at, row in enumerate(self._rows) if row.stops]
        return min(stops, key=lambda at: abs(at - self._cursor)) if stops else 0

    # Drawing

    def _draw(self) -> tuple[Cell, ...]:
        form = self._form
        if form is None:
            return ()
        return tuple(
            draw(row, form, self._look, here=at == self._cursor, focused=self.has_focus or self.typing)
            for at, row in enumerate(self._rows)
        )

    def redraw(self) -> None:
        """Draw again what the cursor or the focus changed."""
        old, self._drawn = self._drawn, self._draw()
        self._repaint(*(at for at, (one, other) in enumerate(zip(old, self._drawn, strict=False)) if one != other))

    def _repaint(self, *places: int) -> None:
        height = self.size.height
        regions = [
            Region(0, at - self._top, self.size.width, 1) for at in places if self._top <= at < self._top + height
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        at = self._top + y
        if not self._rows:
            return self.notice(self._empty, y)
        return self.line(self._drawn[at] if at < len(self._drawn) else ())

    def on_resize(self) -> None:
        self._clamp()
        self.refresh()

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    # Moving

    def _clamp(self, *, follow: bool = True) -> None:
        height = max(1, self.size.height)
        if follow:
            # An error below the cursor's row and a heading above it are in sight as well.
            last = self._cursor
            while last + 1 < len(self._rows) and self._rows[last + 1].kind is Kind.ERROR:
                last += 1
            first = self._cursor - (self._cursor > 0 and self._rows[self._cursor - 1].kind is Kind.GROUP)
            self._top = max(min(self._top, first), last - height + 1)
        self._top = max(0, min(self._top, len(self._rows) - height))

    def _put_cursor(self, at: int) -> None:
        if at == self._cursor or not self._rows:
            return
        self._cursor, top = at, self._top
        self._clamp()
        if top != self._top:
            self._drawn = self._draw()
            self.refresh()
        else:
            self.redraw()
        if self.row is not None:
            self.post_message(self.Moved(self, self.row))

    def action_move(self, rows: int) -> None:
        stops = [at for at, row in enumerate(self._rows) if row.stops]
        if not stops:
            return
        here = stops.index(self._cursor) if self._cursor in stops else 0
        self._put_cursor(stops[max(0, min(here + rows, len(stops) - 1))])

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_edge(self, end: int) -> None:
        self.action_move(end * len(self._rows))

    # What is asked of it

    def action_open(self) -> None:
        if self.row is not None:
            self.post_message(self.Opened(self, self.row))

    def action_step(self, steps: int) -> None:
        if self.row is not None:
            self.post_message(self.Stepped(self, self.row, steps))

    def action_reset(self) -> None:
        if self.row is not None:
            self.post_message(self.Reset(self, self.row))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = self._top + event.y
        if at >= len(self._rows) or not self._rows[at].stops:
            return
        again = at == self._cursor
        self._put_cursor(at)
        row = self._rows[at]
        choice = None
        if row.kind is Kind.FIELD and row.field is not None and self._form is not None:
            choice = option_at(row.field, self._form, self._look, event.x)
        if choice is not None:
            self.post_message(self.Chosen(self, row, choice))
        elif row.kind is Kind.FOLD or again or event.x >= self._look.at:
            self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(3, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-3, event)

    def _scroll(self, rows: int, event: events.MouseEvent) -> None:
        top = max(0, min(self._top + rows, len(self._rows) - self.size.height))
        if top != self._top:
            event.stop()
            self._top = top
            self.refresh()
