"""A dialog that shows lines: details, explanations, notices, help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, wrapped

_CLOSE: Cell = (Piece("esc close", "muted"),)


class Sheet(ExactModalScreen):
    """Lines in a frame; any of the closing keys leaves it."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,i,question_mark,exclamation_mark", "leave", "close", show=False),
    ]

    def __init__(
        self,
        title: str,
        lines: Sequence[Cell | Ends],
        *,
        about: Cell = (),
        facts: Cell = _CLOSE,
        indent: int = 0,
    ) -> None:
        """`indent` is where a line that is too long goes on."""
        super().__init__()
        self._title, self._lines, self._about, self._facts = title, tuple(lines), about, facts
        self._indent = indent

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="-dialog -wide"), VerticalScroll():
            lines = Lines(self._lines)
            lines.surface = "raised"
            yield lines

    def on_mount(self) -> None:
        self.query_one(Frame).tell(self._about, self._facts)
        self.set_focus(self.query_one(VerticalScroll))
        self.call_after_refresh(self._wrap)

    def on_resize(self) -> None:
        self.call_after_refresh(self._wrap)

    def _wrap(self) -> None:
        """Nothing is cut: what is too long for the dialog goes on in the next line."""
        width = self.query_one(Lines).size.width
        lines: list[Cell | Ends] = []
        for line in self._lines:
            lines += [line] if isinstance(line, Ends) else wrapped(line, width, self._indent)
        self.query_one(Lines).show(lines)

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_click(self) -> None:
        """A click beside the dialog closes it."""
        if not self.query_one(Frame).region.contains_point(self.app.mouse_position):
            self.dismiss(None)
