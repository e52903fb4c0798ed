"""Heat strips: the history of one quantity in one line, a column per time slot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textual.geometry import Region, Size
from textual.strip import Strip

from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.palette import HEAT
from accel_tui.tui.widgets.axis import LEFT_GUTTER, RIGHT_GUTTER, Label, axis_line, with_column
from accel_tui.tui.widgets.decimate import NOWHERE, PERCENT, Axis, Point, Scale, decimate
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, fit, joined

BLOCK = "▆"  # leaves a gap between rows, so that two busy rows stay two


def heat_cell(values: Sequence[float | None], glyphs: Glyphs, *, by_glyph: bool = False) -> Cell:
    """One column per value.

    Args:
        values: Shares 0 to 1. None before the first value is blank (nothing was known yet), later it is a gap.
        by_glyph: The theme cannot tell the steps by colour.
    """
    # In ASCII the sign of a gap is also a step of the strip, so that of stale values stands in for it.
    gap = Piece(glyphs.text("stale" if glyphs.ascii else "gap"), "warn")
    pieces, known = [], False
    for value in values:
        if value is None:
            pieces.append(gap if known else Piece(" "))
            continue
        known = True
        pieces.append(_step(value, glyphs, by_glyph))
    return joined(pieces)


def heat_legend(glyphs: Glyphs, low: str = "0", high: str = "100 %", *, by_glyph: bool = False) -> Cell:
    """All steps in a row between the words for little and much."""
    steps = [(number + 0.5) / len(HEAT) for number in range(len(HEAT))]
    return (Piece(f"{low} ", "muted"), *heat_cell(steps, glyphs, by_glyph=by_glyph), Piece(f" {high}", "muted"))


def _step(value: float, glyphs: Glyphs, by_glyph: bool) -> Piece:
    share = min(1.0, max(0.0, value))
    role = HEAT[min(len(HEAT) - 1, int(share * len(HEAT)))]
    if glyphs.ascii or by_glyph:
        steps = glyphs.heat
        return Piece(steps[min(len(steps) - 1, int(share * len(steps)))], role)
    return Piece(BLOCK, role)


@dataclass(frozen=True)
class HeatRow:
    """One strip with what stands before and after it."""

    label: Cell
    points: tuple[Point, ...]
    value: Cell = ()


class HeatStrip(Painted):
    """Heat rows over one axis; their columns stand where those of a chart with the same gutters stand."""

    DEFAULT_CSS = """
    HeatStrip { height: auto; width: 1fr; }
    """

    def __init__(self, *, left: int = LEFT_GUTTER, right: int = RIGHT_GUTTER, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left, self._right = left, right
        self._rows: tuple[HeatRow, ...] = ()
        self._axis = NOWHERE
        self._scale = PERCENT
        self._max_gap = math.inf
        self._labels: tuple[Label, ...] = ()
        self._cursor: float | None = None
        self._lines: list[Cell] = []
        self._drawn_at: Size | None = None
        self._strips: dict[int, tuple[object, Cell]] = {}
        """The strip of each row, with what it was drawn from."""

    @property
    def columns(self) -> int:
        """Time slots that are visible."""
        return max(0, self.size.width - self._left - self._right)

    def show(
        self,
        rows: Sequence[HeatRow],
        axis: Axis,
        *,
        scale: Scale = PERCENT,
        max_gap: float = math.inf,
        labels: Sequence[Label] = (),
        cursor: float | None = None,
    ) -> None:
        """Replace the picture; only lines that differ are drawn again.

        Args:
            max_gap: Points further apart than this leave a gap, drawn as such.
            labels: Of the axis, which is drawn below the rows when there are any.
            cursor: An x that is marked through all rows.
        """
        old = self._drawn()
        self._rows, self._axis, self._scale, self._max_gap = tuple(rows), axis, scale, max_gap
        self._labels, self._cursor, self._drawn_at = tuple(labels), cursor, None
        self._drawn()
        if len(old) != len(self._lines):
            self.refresh(layout=True)
            return
        changed = [y for y, (one, other) in enumerate(zip(old, self._lines, strict=True)) if one != other]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows) + bool(self._labels)

    def render_line(self, y: int) -> Strip:
        lines = self._drawn()
        return self.line(lines[y] if y < len(lines) else ())

    def _drawn(self) -> list[Cell]:
        """The rows as lines for the size of now."""
        if self._drawn_at != self.size:
            self._drawn_at, self._lines = self.size, self._draw()
        return self._lines

    def _draw(self) -> list[Cell]:
        lines = [self._row(number, row) for number, row in enumerate(self._rows)]
        if self._labels:
            lines.append(axis_line(self._labels, self._axis, self._left, self.columns))
        return lines

    def _row(self, number: int, row: HeatRow) -> Cell:
        start, slot = self._axis.place(self.columns)
        source = (
            start,
            slot,
            self.columns,
            self._max_gap,
            self._scale,
            self.glyphs,
            self.palette.heat_glyphs,
            row.points,
        )
        known = self._strips.get(number)
        if known is None or known[0] != source:
            spans = decimate(row.points, start, slot, self.columns, self._max_gap)
            shares = [None if span is None else self._scale.share(span.mean) for span in spans]
            known = self._strips[number] = (source, heat_cell(shares, self.glyphs, by_glyph=self.palette.heat_glyphs))
        strip = known[1]
        if self._cursor is not None:
            strip = with_column(strip, self._axis.column(self._cursor, self.columns), self.sign("upright", "accent"))
        cut, ascii_only = self.glyphs.text("cut"), self.glyphs.ascii
        return (
            *fit(row.label, self._left - 1, "left", cut, ascii_only),
            *((Piece(" "),) if self._left else ()),
            *strip,
            *fit(row.value, self._right, "right", cut, ascii_only),
        )
