"""A question before something that cannot be undone. The harmless answer is the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.screens.buttons import buttons
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.parts import PartLine
from accel_tui.tui.widgets.pieces import Cell


class Confirm(ExactModalScreen):
    """Dismissed with True only for the letter on the button, or a click on it."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, title: str, lines: Sequence[Cell], *, yes: str, key: str, no: str = "Keep it") -> None:
        """
        Args:
            yes: What the button that acts says; `key` is its letter.
        """
        super().__init__()
        self._title, self._lines = title, tuple(lines)
        self._yes, self._key, self._no = yes, key, no

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="-dialog"):
            lines = Lines([*self._lines, ()])
            lines.surface = "raised"
            yield lines
            line = PartLine(gap=2)
            line.surface = "raised"
            yield line

    def on_mount(self) -> None:
        chosen = [("no", f"{self._no} esc", "default"), ("yes", f"{self._yes} {self._key}", "danger")]
        self.query_one(PartLine).show(buttons(chosen))

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key in ("escape", "enter", "q", "n"):
            self.dismiss(False)
        elif event.key == self._key:
            self.dismiss(True)

    def on_part_line_chosen(self, message: PartLine.Chosen) -> None:
        message.stop()
        self.dismiss(message.key == "yes")
