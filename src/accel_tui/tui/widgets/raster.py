"""Dots in cells: braille where the font has it, half blocks or ASCII elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from accel_tui.tui.widgets.decimate import Scale, Span
from accel_tui.tui.widgets.pieces import Cell, Piece, joined

Ink: TypeAlias = Literal["braille", "block", "ascii"]


@dataclass(frozen=True)
class _Dots:
    """How one cell is divided; `bits[row][column]` is the bit of a dot, `signs` has a character for every sum."""

    across: int
    down: int
    bits: tuple[tuple[int, ...], ...]
    signs: str


_BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
INKS: dict[Ink, _Dots] = {
    "braille": _Dots(2, 4, _BRAILLE, " " + "".join(chr(0x2800 + bits) for bits in range(1, 256))),
    "block": _Dots(1, 2, ((1,), (2,)), " ▀▄█"),
    "ascii": _Dots(1, 2, ((1,), (2,)), " '.:"),
}
BLANK = Piece(" ")


class Raster:
    """A field of dots, `width` by `height` cells; a cell has one style, that of what was drawn last."""

    def __init__(self, width: int, height: int, ink: Ink = "braille") -> None:
        self.width, self.height = width, height
        self._ink = INKS[ink]
        self._bits = [[0] * width for _ in range(height)]
        self._styles = [[BLANK] * width for _ in range(height)]

    @property
    def columns(self) -> int:
        """Dots across."""
        return self.width * self._ink.across

    @property
    def rows(self) -> int:
        """Dots down."""
        return self.height * self._ink.down

    def area(self, spans: Sequence[Span | None], scale: Scale, role: str) -> None:
        """Filled from the bottom to the highest value of each slot.

        The range between its lowest and its highest value is drawn in full colour and what lies below is mixed into
        the background, so a steady quantity is a thin bright edge and a restless one a bright band.
        """
        ink = self._ink
        body, edge, rest = Piece("", role, fill=True), Piece("", role), Piece("", "track")
        # What a column of dots has set in a cell when it is filled from that dot of the cell on.
        filled = [[sum(row[x] for row in ink.bits[first:]) for first in range(ink.down)] for x in range(ink.across)]
        edges: list[tuple[int, int]] = []
        for x, span in enumerate(spans):
            if span is None:
                continue
            top, column = self._y(span.high, scale), x // ink.across
            first, resting = top // ink.down, top == self.rows - 1
            masks = filled[x % ink.across]
            for row in range(first, self.height):
                self._bits[row][column] |= masks[top % ink.down if row == first else 0]
                self._styles[row][column] = rest if resting else body
            if not resting:
                edges += [(column, row) for row in range(first, self._y(span.low, scale) // ink.down + 1)]
        for column, row in edges:
            self._styles[row][column] = edge

    def line(self, spans: Sequence[Span | None], scale: Scale, role: str) -> None:
        """The range of each slot as a vertical stroke, joined to the last value of the slot before."""
        style, before = Piece("", role), None
        for x, span in enumerate(spans):
            if span is None:
                before = None
                continue
            top, bottom = self._y(span.high, scale), self._y(span.low, scale)
            if before is not None and before < top:
                top = before + 1
            elif before is not None and before > bottom:
                bottom = before - 1
            for y in range(min(top, bottom), max(top, bottom) + 1):
                self._dot(x, y, style)
            before = self._y(span.last, scale)

    def blank(self, row: int, start: int, end: int) -> bool:
        """Whether nothing is drawn in the cells `start` to `end` - 1 of a row."""
        return not any(self._bits[row][start:end])

    def drawn(self, row: int) -> Cell:
        """One line of cells."""
        signs = self._ink.signs
        return joined(
            style._replace(text=signs[bits]) if bits else BLANK
            for bits, style in zip(self._bits[row], self._styles[row], strict=True)
        )

    def row_of(self, value: float, scale: Scale) -> int:
        """The cell row in which a value is drawn."""
        return self._y(value, scale) // self._ink.down

    def _y(self, value: float, scale: Scale) -> int:
        return self.rows - 1 - round(scale.share(value) * (self.rows - 1))

    def _dot(self, x: int, y: int, style: Piece) -> None:
        column, row = x // self._ink.across, y // self._ink.down
        self._bits[row][column] |= self._ink.bits[y % self._ink.down][x % self._ink.across]
        self._styles[row][column] = style
