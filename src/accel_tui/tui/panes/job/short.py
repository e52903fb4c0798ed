"""The draft in few lines as a widget that takes the focus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.strip import Strip

from accel_tui.tui.bindings import bind
from accel_tui.tui.messages import DoAsked
from accel_tui.tui.widgets.lines import Line, Lines
from accel_tui.tui.widgets.pieces import Cell


class Summary(Lines, can_focus=True):
    """The draft in lines; enter changes it."""

    DEFAULT_CSS = """
    Summary { height: 1fr; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [bind("item.open", "edit")]
    _nothing: tuple[Cell, ...] = ()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, container.height)

    def show_nothing(self, lines: tuple[Cell, ...]) -> None:
        """Nothing but these lines, in the middle."""
        self._nothing = lines
        self.show(())
        self.refresh()

    def show(self, lines: Iterable[Line]) -> None:
        lines = tuple(lines)
        if lines:
            self._nothing = ()
        super().show(lines)

    def render_line(self, y: int) -> Strip:
        return self.notice(self._nothing, y) if self._nothing else super().render_line(y)

    def action_edit(self) -> None:
        self.post_message(DoAsked("job.edit"))
