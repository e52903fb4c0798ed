"""A dialog that shows lines: details, explanations, notices, help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_CLOSE: Cell = (Piece("esc close", "muted"),)


class Sheet(ModalScreen[None]):
    """Lines in a frame; any of the closing keys leaves it."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,i,question_mark,exclamation_mark", "leave", "close", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[Cell | Ends], *, about: Cell = (), facts: Cell = _CLOSE) -> None:
        super().__init__()
        self._title, self._lines, self._about, self._facts = title, tuple(lines), about, facts

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="dialog -sheet"), VerticalScroll():
            lines = Lines(self._lines)
            lines.surface = "raised"
            yield lines

    def on_mount(self) -> None:
        self.query_one(Frame).tell(self._about, self._facts)
        self.query_one(VerticalScroll).focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_click(self) -> None:
        """A click beside the dialog closes it."""
        if not self.query_one(Frame).region.contains_point(self.app.mouse_position):
            self.dismiss(None)
