"""Small charts side by side: one quantity of many devices, each with its name and its newest value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from accel_tui.tui.widgets.axis import with_column
from accel_tui.tui.widgets.chart import changes
from accel_tui.tui.widgets.decimate import NOWHERE, PERCENT, Axis, Point, Scale, decimate
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, joined, spread
from accel_tui.tui.widgets.raster import Raster

GAP = 2
"""Columns between two charts."""
LEAST_WIDTH, LEAST_HEIGHT = 12, 3
"""A smaller chart, its title included, says nothing."""
_GOOD_WIDTH, _GOOD_HEIGHT = 44, 7


@dataclass(frozen=True)
class Tile:
    """One small chart."""

    title: Cell
    value: Cell
    """At the right end of the title: the newest value, or why there is none."""
    points: tuple[Point, ...]
    role: str
    scale: Scale = PERCENT
    marks: tuple[float, ...] = ()
    """Moments marked by a dotted line, such as the begin of a gap."""


@dataclass(frozen=True)
class Tiling:
    """How charts of one size are put."""

    across: int
    width: int
    height: int
    """Of one chart, its title included."""

    @classmethod
    def best(cls, count: int, size: Size) -> Tiling | None:
        """The arrangement with the most useful charts; None where none of them is large enough."""
        found: tuple[int, Tiling] | None = None
        for rows in range(1, count + 1):
            across = math.ceil(count / rows)
            one = cls(across, (size.width + GAP) // across - GAP, size.height // rows)
            if one.width < LEAST_WIDTH or one.height < LEAST_HEIGHT:
                continue
            worth = min(one.width, _GOOD_WIDTH) * (min(one.height, _GOOD_HEIGHT) - 1)
            if found is None or worth > found[0]:
                found = (worth, one)
        return None if found is None else found[1]


class Multiples(Painted, can_focus=True):
    """Charts that share their axis; only what changed is drawn again."""

    DEFAULT_CSS = """
    Multiples { height: 1fr; width: 1fr; }
    """

    class Pointed(Message):
        """A column was clicked."""

        def __init__(self, x: float) -> None:
            super().__init__()
            self.x = x

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tiles: tuple[Tile, ...] = ()
        self._span = 1.0
        self._axis = NOWHERE
        self._max_gap = math.inf
        self._cursor: float | None = None
        self._across: int | None = None
        self._empty: tuple[Cell, ...] = ()
        self._lines: list[Cell] = []
        self._drawn_at: Size | None = None
        self._bodies: dict[int, tuple[object, list[Cell]]] = {}
        """The dots of each chart, with what they were drawn from."""

    def tiling(self) -> Tiling | None:
        """How the charts stand now."""
        if not self._tiles:
            return None
        if self._across is not None:
            rows = math.ceil(len(self._tiles) / self._across)
            width, height = (self.size.width + GAP) // self._across - GAP, self.size.height // rows
            return Tiling(self._across, width, height) if height >= LEAST_HEIGHT else None
        return Tiling.best(len(self._tiles), self.size)

    @property
    def axis(self) -> Axis:
        """Which x stand in the columns of every chart."""
        return self._axis

    @property
    def columns(self) -> int:
        """Time slots of one chart."""
        tiling = self.tiling()
        return max(1, self.size.width if tiling is None else tiling.width)

    def show(
        self,
        tiles: Sequence[Tile],
        last: float,
        span: float,
        *,
        max_gap: float = math.inf,
        cursor: float | None = None,
        across: int | None = None,
        empty: tuple[Cell, ...] = (),
    ) -> None:
        """Replace the picture.

        Args:
            last: The newest x.
            span: x from the first to the last column.
            max_gap: Points further apart than this are not joined.
            cursor: An x that is marked in all charts.
            across: How many stand side by side; None takes what suits the size.
            empty: What is said while there is no chart.
        """
        old, was_empty = self._drawn(), not self._tiles
        self._tiles, self._max_gap, self._cursor = tuple(tiles), max_gap, cursor
        self._across, self._empty, self._drawn_at, self._span = across, empty, None, span
        self._axis = Axis(last, span / self.columns)
        self._drawn()
        if was_empty or not self._tiles or len(old) != len(self._lines):
            self.refresh()
            return
        regions = [
            Region(start, y, end - start, 1)
            for y, (one, other) in enumerate(zip(old, self._lines, strict=True))
            for start, end in changes(one, other)
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        if not self._tiles:
            return self.notice(self._empty, y)
        lines = self._drawn()
        return self.line(lines[y] if y < len(lines) else ())

    def on_click(self, event: events.Click) -> None:
        tiling = self.tiling()
        if tiling is not None:
            column = event.x % (tiling.width + GAP)
            self.post_message(self.Pointed(self._axis.x(min(column, tiling.width - 1), tiling.width)))

    def _drawn(self) -> list[Cell]:
        if self._drawn_at != self.size:
            self._drawn_at = self.size
            self._axis = Axis(self._axis.last, self._span / self.columns)
            self._lines = self._draw()
        return self._lines

    def _draw(self) -> list[Cell]:
        tiling = self.tiling()
        if tiling is None:
            return []
        lines: list[Cell] = []
        for first in range(0, len(self._tiles), tiling.across):
            places = range(first, min(first + tiling.across, len(self._tiles)))
            row = [self._tile(place, self._tiles[place], tiling) for place in places]
            between = Piece(" " * GAP)
            for parts in zip(*row, strict=True):
                pieces = [piece for number, part in enumerate(parts) for piece in ((between,) if number else ()) + part]
                lines.append(joined(pieces))
        return lines

    def _tile(self, place: int, tile: Tile, tiling: Tiling) -> list[Cell]:
        """The lines of one chart: title, dots, and a blank one below where there is room."""
        title = spread(tile.title, tile.value, tiling.width, self.glyphs.text("cut"), self.glyphs.ascii)
        start, slot = self._axis.place(tiling.width)
        source = (
            tiling,
            start,
            slot,
            self._cursor,
            self._max_gap,
            tile.role,
            tile.scale,
            tile.marks,
            self.glyphs.ascii,
        )
        known = self._bodies.get(place)
        # Equal points are mostly the same ones: comparing them costs nothing then.
        if known is None or known[0] != (source, tile.points):
            known = self._bodies[place] = ((source, tile.points), self._body(tile, tiling, start, slot))
        return [title, *known[1]]

    def _body(self, tile: Tile, tiling: Tiling, start: float, slot: float) -> list[Cell]:
        width = tiling.width
        blank = tiling.height > LEAST_HEIGHT + 1
        height = tiling.height - 1 - blank
        raster = Raster(width, height, "ascii" if self.glyphs.ascii else "braille")
        dots = raster.columns // width
        raster.area(decimate(tile.points, start, slot / dots, raster.columns, self._max_gap), tile.scale, tile.role)
        lines: list[Cell] = []
        for row in range(height):
            content = raster.drawn(row)
            for x in tile.marks:
                column = self._axis.column(x, width)
                if 0 <= column < width and raster.blank(row, column, column + 1):
                    content = with_column(content, column, self.sign("gap"))
            if self._cursor is not None:
                content = with_column(content, self._axis.column(self._cursor, width), self.sign("upright", "accent"))
            lines.append(content)
        return [*lines, *([(Piece(" " * width),)] if blank else [])]
