"""A few lines of pieces: what a Static would show, without markup and cleaned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from textual.geometry import Region, Size
from textual.strip import Strip

from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, Rule, cell_width, changed_span, spread

Line: TypeAlias = "Cell | Ends | Rule"
"""What a line is made of."""


class Lines(Painted):
    """Fixed lines of text; a changed line alone is drawn again."""

    DEFAULT_CSS = """
    Lines { height: auto; width: 1fr; }
    """

    def __init__(
        self,
        lines: Iterable[Line] = (),
        *,
        surface: str = "bg",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.surface = surface
        self._lines = tuple(lines)

    @property
    def line_count(self) -> int:
        """How many lines it shows."""
        return len(self._lines)

    def show(self, lines: Iterable[Line]) -> None:
        """Replace the lines."""
        old, self._lines = self._lines, tuple(lines)
        if len(old) != len(self._lines):
            self.refresh(layout=True)
            return
        regions = []
        for y, (one, other) in enumerate(zip(old, self._lines, strict=True)):
            start, end = (0, 0) if one == other else changed_span(self._laid_out(one), self._laid_out(other))
            if end > start:
                regions.append(Region(start, y, end - start, 1))
        if regions:
            self.refresh(*regions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        return self.line(self._laid_out(self._lines[y]) if y < len(self._lines) else ())

    def _laid_out(self, content: Cell | Ends | Rule) -> Cell:
        """A line for the width of now."""
        if isinstance(content, Ends):
            cut = self.glyphs.text("cut")
            return spread(content.left, content.right, self.size.width, cut, self.glyphs.ascii)
        if isinstance(content, Rule):
            return self._rule(content)
        return self.fitted(content, self.size.width)

    def _rule(self, rule: Rule) -> Cell:
        sign = self.sign("rule")
        title = (sign._replace(text=sign.text * 2 + " "), Piece(rule.title + " ", "muted")) if rule.title else ()
        rest = max(0, self.size.width - cell_width(title))
        return (*title, sign._replace(text=sign.text * rest))
