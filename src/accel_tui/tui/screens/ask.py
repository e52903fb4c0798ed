"""One line that is asked for, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.widgets.field import Field
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Piece


class AskLine(ExactModalScreen):
    """Dismissed with the text once `wrong` finds no fault with it, or with None."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, title: str, hint: str, wrong: Callable[[str], str | None]) -> None:
        """`wrong` says what is wrong with a text; None when nothing is."""
        super().__init__()
        self._title, self._hint, self._wrong = title, hint, wrong

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="dialog"):
            yield Field(id="asked")
            yield Lines([(), (Piece(self._hint, "muted"),)], surface="raised")

    def on_mount(self) -> None:
        self.query_one(Frame).tell((), (Piece("enter goes   esc close", "muted"),))
        self.query_one(Field).focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        text = self.query_one(Field).value.strip()
        if not text:
            return
        fault = self._wrong(text)
        if fault is None:
            self.dismiss(text)
        else:
            self.query_one(Lines).show([(), (Piece(fault, "error"),)])
