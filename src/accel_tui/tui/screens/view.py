"""The log screen alone: one pane over the whole terminal."""

from __future__ import annotations

from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import clock
from accel_tui.tui.layouts import Mode, Wish
from accel_tui.tui.panes import PANES
from accel_tui.tui.screens.main import MainScreen
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.pieces import Ends, Piece

LOG = tuple(entry for entry in PANES if entry.name == "Log")


class ViewScreen(MainScreen):
    """The Log pane of the main screen without its neighbours; their verbs are not there."""

    def __init__(self, services: Services) -> None:
        super().__init__(services, LOG)
        self._wish = Wish(shown=LOG[0].key, maximised=True)

    @property
    def own_verbs(self) -> frozenset[str]:
        return frozenset(verb for verb in super().own_verbs if not verb.startswith("pane."))

    def why_not(self, key: str) -> str | None:
        return "the log is shown alone" if key.startswith("pane.") else super().why_not(key)

    def do_app_back(self) -> None:
        self._panes[self._wish.shown].back()

    def _head(self, board: Board, mode: Mode) -> Ends:
        run = board.run
        name, where = ("", "") if run is None else (run.name, run.id)
        if board.file is not None:
            name, where = "", board.file
        left = [Piece("accel-tui", "accent", bold=True), Piece("   ")]
        if name:
            left += [Piece(name, "strong", bold=True), Piece("   ")]
        return Ends((*left, Piece(where, "muted")), (Piece(clock(board.now, self.services.zone), "muted"),))
