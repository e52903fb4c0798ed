"""A line of parts that can be clicked: keys of the foot, tabs, buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, cell_width, fit, spread


class Part(NamedTuple):
    """One thing on the line; `key` is told when it is clicked, an empty one cannot be."""

    key: str
    content: Cell


class PartLine(Painted):
    """Parts from the left as many as fit, and something at the right end."""

    DEFAULT_CSS = """
    PartLine { height: 1; width: 1fr; }
    """

    class Chosen(Message):
        """A part was clicked."""

        def __init__(self, line: PartLine, key: str) -> None:
            super().__init__()
            self.line = line
            self.key = key

        @property
        def control(self) -> PartLine:
            return self.line

    def __init__(
        self,
        *,
        gap: int = 3,
        lead: int = 0,
        parts_first: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """
        Args:
            gap: Blanks between two parts.
            lead: Blanks before the first.
            parts_first: No part is left out for what stands at the right end; they move together instead.
        """
        super().__init__(id=id, classes=classes)
        self._wished_gap, self._lead, self._parts_first = gap, lead, parts_first
        self._parts: tuple[Part, ...] = ()
        self._right: Cell = ()
        self._right_key = ""
        self._places: list[tuple[int, int, str]] = []

    def show(self, parts: Sequence[Part], right: Cell = (), right_key: str = "") -> None:
        """Replace the line.

        Args:
            right: At the right end; it is kept whole as long as half of the line is left for the parts, unless these
                come first.
            right_key: Told when it is clicked.
        """
        if (tuple(parts), right, right_key) != (self._parts, self._right, self._right_key):
            self._parts, self._right, self._right_key = tuple(parts), right, right_key
            self.refresh()

    def fitting(self, first: Sequence[Part], last: Sequence[Part], width: int) -> list[Part]:
        """As many of `first` as leave room for all of `last` in `width` columns, then `last`."""
        kept = list(first)
        while kept and self._wide([*kept, *last]) > width:
            kept.pop()
        return [*kept, *last]

    def _wide(self, parts: Sequence[Part]) -> int:
        return self._lead + sum(cell_width(part.content) + self._gap for part in parts) - self._gap

    @property
    def _gap(self) -> int:
        if not self._parts_first:
            return self._wished_gap
        least = self._lead + sum(cell_width(part.content) for part in self._parts)
        spare = self.size.width - least - cell_width(self._right) - 2
        return max(0, min(self._wished_gap, spare // max(1, len(self._parts) - 1)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1

    def render_line(self, y: int) -> Strip:
        width, right = self.size.width, self._right
        most = max(0 if self._parts_first else width // 2, width - self._wide(self._parts) - 2)
        if cell_width(right) > most:
            right = fit(right, most, "left", self.glyphs.text("cut"), self.glyphs.ascii) if most > 3 else ()
        room = width - (cell_width(right) + 2 if right else 0)
        pieces: list[Piece] = [Piece(" " * self._lead)] if self._lead else []
        x, self._places = self._lead, []
        for number, part in enumerate(self._parts):
            gap = self._gap if number else 0
            wide = cell_width(part.content)
            if x + gap + wide > room:
                break
            if gap:
                pieces.append(Piece(" " * gap))
            pieces += part.content
            self._places.append((x + gap, x + gap + wide, part.key))
            x += gap + wide
        if right:
            self._places.append((max(x + 1, width - cell_width(right)), width, self._right_key))
        line = (
            spread(tuple(pieces), right, width, self.glyphs.text("cut"), self.glyphs.ascii) if right else tuple(pieces)
        )
        return self.line(line)

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if key and start <= event.x < end:
                event.stop()
                self.post_message(self.Chosen(self, key))
                return
