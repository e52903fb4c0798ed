"""The Devices pane: what is there, who holds it, and which of it the next job gets."""

from __future__ import annotations

import getpass
from typing import ClassVar

from textual.app import ComposeResult

from accel_tui.model.devices import DeviceView
from accel_tui.tui.board import Board, LinkState
from accel_tui.tui.glyphs import Glyphs, clock, duration
from accel_tui.tui.idle import IdleWatch
from accel_tui.tui.naming import is_card, number, selector, short_name
from accel_tui.tui.panes import Pane
from accel_tui.tui.panes.devices import details, groups, rows
from accel_tui.tui.services import Services
from accel_tui.tui.standing import Standing, standing
from accel_tui.tui.widgets.columns import Column
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, cell_width

_AROUND = 5
"""Rows of the pane that are no device: border, header, blank, advice."""
_CARD_ROWS = 6
"""Fewer rows say too little of a device."""


class DevicesPane(Pane):
    """The table of devices with the judgement of the pick below it."""

    number = 1
    label = "Devices"
    KEYS = ("device.group", "device.holders", "item.explain", "pane.columns", "item.copy")
    FOOT = ("item.pick", "device.group", "item.open", "job.launch", "item.explain", "item.range", "item.clear")
    WORDS: ClassVar[dict[str, str]] = {"item.open": "details"}

    DEFAULT_CSS = """
    DevicesPane Grid { height: 1fr; }
    DevicesPane #advice { height: auto; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._user = services.environment.get("USER") or getpass.getuser()
        self._idle = IdleWatch()
        self._stands: tuple[Board | None, dict[str, Standing]] = (None, {})
        self._columns: tuple[Column, ...] = ()
        self._level = "usual"
        self._sort: str | None = None
        self._order: list[str] = []
        self._table_height: int | str = "1fr"

    def compose(self) -> ComposeResult:
        yield Grid([Column("number", "MOD", 3, "right")], id="devices")
        yield Lines(id="advice")

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    def wanted_rows(self, board: Board) -> int:
        return len(board.devices) + _AROUND + len(self._remarks(board))

    def _standings(self, board: Board) -> dict[str, Standing]:
        """What every device of this board is doing, by key."""
        if self._stands[0] is not board:
            self._idle.look(board)
            found = {
                view.device.key: standing(view, board, self._user, self._idle.since(view.device.key, board.now))
                for view in board.devices
            }
            self._stands = (board, found)
        return self._stands[1]

    # Showing

    def show(self, board: Board) -> None:
        self._show_table(board)
        self._show_advice(board)
        self._fit(len(board.devices))
        self._show_border(board)

    def on_resize(self) -> None:
        self.show(self.board)

    def _show_table(self, board: Board) -> None:
        width = self.grid.size.width
        history = self.has_class("-tab") or self.has_class("-maximised")
        self._columns = rows.columns(board.devices, width, self._level, history=history, glyphs=self.glyphs)
        look = rows.fitted(self._look(board), self._columns, width)
        views, stands = self._ordered(board), self._standings(board)
        shown = [
            rows.row(view, stands[view.device.key], board, self._columns, look, history=self._history(view, board))
            for view in views
        ]
        columns = None if self._columns == self.grid.columns else self._columns
        self.grid.show(shown, columns=columns, empty=self._nothing(board))

    def _fit(self, devices: int) -> None:
        """The table is as high as its rows, so that the advice follows them; where there is no room, it scrolls."""
        rows_high = max(devices, 2) + 1
        room = self.content_size.height - self.query_one("#advice", Lines).line_count
        height: int | str = rows_high if rows_high <= room else "1fr"
        if height != self._table_height:
            self._table_height = height
            self.grid.styles.height = height

    def _look(self, board: Board) -> rows.Look:
        past = board.link.state in (LinkState.SILENT, LinkState.LOST)
        return rows.Look(self.glyphs, by_glyph=self.grid.palette.heat_glyphs, past=past)

    def _history(self, view: DeviceView, board: Board) -> list[float | None]:
        """Mean utilization, 0 to 1, in each of the time slots of the row's strip."""
        if not any(column.key == "history" for column in self._columns):
            return []
        since = board.now - rows.HISTORY_SECONDS
        slot = rows.HISTORY_SECONDS / rows.HISTORY_CELLS
        sums: list[list[float]] = [[] for _ in range(rows.HISTORY_CELLS)]
        for time, value in self.services.desk.trail.points(view.device.key, "utilization_percent", since):
            if value is not None:
                sums[min(rows.HISTORY_CELLS - 1, int((time - since) / slot))].append(value)
        return [sum(values) / len(values) / 100 if values else None for values in sums]

    def _nothing(self, board: Board) -> tuple[Cell, ...]:
        if board.inventory is None and board.link.state is LinkState.LOST:
            return self.empty("No word from the supervisor yet.", "It is tried again by itself; enter tries now.")
        if board.inventory is None:
            return self.empty("Asking the supervisor for the devices.", "The first answer takes up to 3 s.")
        return self.empty("No device was found, not even the CPU.", "accel-tui doctor says why.")

    def _ordered(self, board: Board) -> list[DeviceView]:
        """As sorted when the key was pressed; what is new comes last, the CPU at the very end."""
        place = {key: at for at, key in enumerate(self._order)}
        last = len(place)
        return sorted(board.devices, key=lambda view: (view.device.vendor == "cpu", place.get(view.device.key, last)))

    def _show_advice(self, board: Board) -> None:
        lines: list[Cell | Ends] = []
        if self.has_class("-tab"):
            lines = self._below_table(board)
        else:
            told = [*groups.advice(board, self._standings(board), self.glyphs), *self._remarks(board)]
            room = self.content_size.height - 1 - len(board.devices)
            lines = [*([()] if room > len(told) else []), *told]
            lines += self._card(board, room - len(lines))
        self.query_one("#advice", Lines).show(lines)

    def _below_table(self, board: Board) -> list[Cell | Ends]:
        """On a small screen: the device under the cursor, and what is said of groups or the pick."""
        rule: Cell = (Piece(self.glyphs.text("rule") * self.size.width, "line"),)
        view = self._here(board)
        about: list[Cell | Ends] = []
        if view is not None:
            right = (Piece(f"{self.services.key('item.open')} ", "accent"), Piece("details ", "muted"))
            about = [Ends((Piece(" "), *details.brief(view)), right)]
        told = [*groups.advice(board, self._standings(board), self.glyphs), *self._remarks(board)]
        return [rule, *about, *((Piece(" "), *line) for line in told)]

    def _card(self, board: Board, room: int) -> list[Cell]:
        """The device under the cursor, where a maximised pane has room for it."""
        view = self._here(board)
        if view is None or room < _CARD_ROWS or not self.has_class("-maximised"):
            return []
        width = self.grid.size.width
        title = (Piece(f"{self.glyphs.text('rule') * 2} ", "line"), Piece(self._title(view), "strong", bold=True))
        rule = Piece(" " + self.glyphs.text("rule") * (width - cell_width(title) - 1), "line")
        return [(), (*title, rule), *details.card(view, width, self.glyphs)[: room - 2]]

    def _remarks(self, board: Board) -> list[Cell]:
        """What keeps the picture from being whole, at most two lines."""
        sign = Piece(f"{self.glyphs.text('warning')} ", "warn")
        lines: list[Cell] = []
        why = (Piece("   i ", "accent"), Piece("why", "muted"))
        for name, reason in details.denied(board.devices)[:1]:
            lines.append((sign, Piece(f"{name} denied: "), Piece(reason, "muted"), *why))
        for problem in () if board.inventory is None else board.inventory.problems:
            vendor = f"{problem.vendor}: " if problem.vendor else ""
            lines.append((sign, Piece(f"{vendor}{problem.message}", "muted"), *why))
        return lines[:2]

    def _show_border(self, board: Board) -> None:
        past = board.link.state in (LinkState.SILENT, LinkState.LOST) and board.link.last_word is not None
        if past and board.link.last_word is not None:
            words = f"as of {clock(board.link.last_word, self.services.zone)}, {duration(board.age)} old"
            self.tell((Piece(words, "warn"),), (Piece("picking needs the supervisor", "muted"),))
            return
        picked = len(board.picked())
        about = [Piece(groups.summary(board, self._standings(board)) if board.devices else "")]
        if picked:
            about.append(Piece(f"   {picked} picked", "accent"))
        by = {None: "by module ID" if self._by_module(board) else "in order", "number": "in order"}
        sort = by.get(self._sort, f"by {self._sort}")
        keys = (Piece(f"   {self.services.key('pane.sort')} ", "accent"), Piece("sort", "muted"))
        self.tell(tuple(about), (Piece(sort, "muted"), *keys))

    def _by_module(self, board: Board) -> bool:
        cards = [view.device for view in board.devices if is_card(view.device)]
        return bool(cards) and all(card.module_id is not None for card in cards)

    # Picking

    def _here(self, board: Board) -> DeviceView | None:
        key = self.grid.cursor_key
        return None if key is None else board.device(key)

    def why_not(self, key: str) -> str | None:
        if key in ("item.pick", "device.group") and not self.board.link.trusted:
            return "picking needs the supervisor"
        return super().why_not(key)

    def on_grid_picked(self, message: Grid.Picked) -> None:
        board = self.board
        if not board.link.trusted:
            self.services.desk.say("picking needs the supervisor")
            return
        picks = set(board.picks)
        if message.toggle and message.keys[0] in picks:
            picks.discard(message.keys[0])
        else:
            refused = [key for key in message.keys if not self._standings(self.board)[key].free]
            picks |= set(message.keys) - set(refused)
            if len(refused) == len(message.keys):
                self._refuse(refused[0])
        self.services.desk.pick(_one_kind(picks, message.keys[-1], board))

    def _refuse(self, key: str) -> None:
        view = self.board.device(key)
        if view is not None:
            name = selector([view.device]) or view.device.key
            self.services.desk.say(f"{name} cannot be picked: {self._standings(self.board)[key].reason}")

    def on_grid_cleared(self) -> None:
        self.services.desk.pick(())

    def do_device_group(self) -> None:
        group = groups.next_group(self.board, self._standings(self.board))
        if group is None:
            self.services.desk.say("no card is free: a job that asks for auto waits in the queue")
            return
        self.services.desk.pick(group.keys)
        self.grid.move_to(group.keys[0])

    def back(self) -> bool:
        picked = bool(self.board.picks)
        if picked:
            self.services.desk.pick(())
        return picked

    def reveal(self, key: str) -> None:
        self.grid.move_to(key)

    # Looking closer

    def on_grid_moved(self) -> None:
        self._show_advice(self.board)

    def on_grid_opened(self) -> None:
        view = self._here(self.board)
        if view is not None:
            lines = details.sheet(view, self._standings(self.board)[view.device.key], self.board, self.glyphs)
            self._sheet(view, lines)

    def do_item_explain(self) -> None:
        view = self._here(self.board)
        if view is not None:
            lines = details.explained(view, self._standings(self.board)[view.device.key], self.board, self.glyphs)
            self._sheet(view, lines)

    def do_device_holders(self) -> None:
        view = self._here(self.board)
        if view is not None:
            self._sheet(view, details.holders(view, self.board)[1:])

    def _sheet(self, view: DeviceView, lines: list[Cell]) -> None:
        from accel_tui.tui.screens.sheet import Sheet  # late: the first paint must not wait for it

        self.app.push_screen(Sheet(self._title(view), lines, indent=20))

    def do_item_copy(self) -> None:
        """The selector of the pick, else of the device under the cursor."""
        picked = [view.device for view in self.board.picked()]
        view = self._here(self.board)
        chosen = picked or ([] if view is None else [view.device])
        if chosen:
            text = selector(chosen) or chosen[0].key
            self.app.copy_to_clipboard(text)
            self.services.desk.say(f"copied {text}")

    def _title(self, view: DeviceView) -> str:
        if view.device.vendor == "cpu":
            return "CPU"
        return f"Card {number(view.device)} {short_name(view.device)}"

    # Sorting and columns

    def on_grid_sort_asked(self, message: Grid.SortAsked) -> None:
        column = message.column
        if column is None:
            place = rows.SORTS.index(self._sort) if self._sort in rows.SORTS else 0
            column = rows.SORTS[(place + 1) % len(rows.SORTS)]
        if column not in rows.SORTS:
            return
        self._sort = None if column == "number" else column
        board = self.board
        by, stands = column, self._standings(board)
        ordered = sorted(board.devices, key=lambda view: rows.sort_key(view, stands[view.device.key], by))
        self._order = [] if self._sort is None else [view.device.key for view in ordered]
        self.grid.mark_sorted(column, descending=column not in ("number", "holder"))
        self.show(board)

    def do_pane_columns(self) -> None:
        self._level = rows.LEVELS[(rows.LEVELS.index(self._level) + 1) % len(rows.LEVELS)]
        self.services.desk.say(f"{self._level} columns")
        self.show(self.board)


def _one_kind(picks: set[str], newest: str, board: Board) -> set[str]:
    """Devices of one vendor: a job cannot use two; the newest pick decides."""
    newest_view = board.device(newest)
    vendor = None if newest_view is None else newest_view.device.vendor
    return {key for key in picks if (view := board.device(key)) is not None and view.device.vendor == vendor}
