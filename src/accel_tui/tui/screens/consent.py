"""What the checks ask or refuse before a start: the reasons, and the answers that are possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from accel_tui.model.plans import Check, CheckLevel
from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.screens.buttons import buttons
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Line, Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.parts import PartLine
from accel_tui.tui.widgets.pieces import Piece


class ConsentDialog(ExactModalScreen):
    """Dismissed with the ids that are overridden, `()` when only questions were answered, None when it is left."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, name: str, checks: Sequence[Check], verb: str) -> None:
        """`checks` are those that ask or refuse; `verb` is what the person wanted to do, such as `Launch`."""
        super().__init__()
        self._name, self._verb = name, verb
        self._refusals = [check for check in checks if check.level is CheckLevel.REFUSAL]
        self._questions = [check for check in checks if check.level is CheckLevel.ASK]

    @property
    def _yes(self) -> tuple[str, str]:
        """Letter and text of the button that goes on."""
        if self._refusals:
            return "o", f"Override and {self._verb.lower()} o"
        return "y", f"{self._verb} all the same y"

    def compose(self) -> ComposeResult:
        title = f"{self._name} is refused" if self._refusals else f"Questions before {self._name} starts"
        with Frame(title, chip=False, classes="dialog"):
            with VerticalScroll():
                yield Lines(self._lines(), surface="raised")
            line = PartLine(gap=2)
            line.surface = "raised"
            yield line

    def _lines(self) -> list[Line]:
        signs = Glyphs(self.app.has_class(ASCII_CLASS))
        lines: list[Line] = []
        for check in (*self._refusals, *self._questions):
            refused = check.level is CheckLevel.REFUSAL
            sign, role = ("invalid", "error") if refused else ("warning", "warn")
            lines += [(Piece(f"{signs.text(sign)} ", role), Piece(text)) if not at else (Piece("  "), Piece(text))
                      for at, text in enumerate(_wrapped(check.message, self.app.size.width))]  # fmt: skip
            if check.remedy:
                lines += [(Piece("  "), Piece(text, "muted")) for text in _wrapped(check.remedy, self.app.size.width)]
        told = "An override is recorded with the run." if self._refusals else "The answer is recorded with the run."
        return [*lines, (), (Piece(told, "muted"),), ()]

    def on_mount(self) -> None:
        chosen = [("no", "Change the job esc", "default"), ("yes", self._yes[1], "danger")]
        self.query_one(PartLine).show(buttons(chosen))
        self.set_focus(self.query_one(VerticalScroll))

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down", "pageup", "pagedown"):
            return
        event.stop()
        if event.key in ("escape", "enter", "q", "n"):
            self.dismiss(None)
        elif event.key == self._yes[0]:
            self._go_on()

    def on_part_line_chosen(self, message: PartLine.Chosen) -> None:
        message.stop()
        if message.key == "yes":
            self._go_on()
        else:
            self.dismiss(None)

    def _go_on(self) -> None:
        self.dismiss(tuple(dict.fromkeys(check.id for check in self._refusals)))


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(30, min(94, width * 4 // 5) - 8), break_long_words=True) or [""]
