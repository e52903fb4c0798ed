"""Charts of braille dots: areas for one quantity, lines for up to four, on an axis shared to the column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Literal

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from accel_tui.tui.palette import SERIES
from accel_tui.tui.widgets.axis import LEFT_GUTTER, RIGHT_GUTTER, Label, axis_line, with_column
from accel_tui.tui.widgets.decimate import NOWHERE, PERCENT, Axis, Point, Scale, decimate
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, fit
from accel_tui.tui.widgets.raster import Ink, Raster

MOST_LINES = len(SERIES)


@dataclass(frozen=True)
class Line:
    """One quantity or run."""

    points: tuple[Point, ...]
    role: str
    last: str = ""
    """The last value as text, for the right gutter."""


@dataclass(frozen=True)
class Picture:
    """Everything a chart shows; equal pictures draw nothing."""

    lines: tuple[Line, ...] = ()
    """At most four; more than that cannot be told apart."""
    axis: Axis = NOWHERE
    scale: Scale = PERCENT
    kind: Literal["area", "line"] = "line"
    max_gap: float = math.inf
    """Points further apart than this are not joined."""
    y_labels: tuple[str, str, str] = ("", "", "")
    """At the top, the middle and the bottom."""
    x_labels: tuple[Label, ...] = ()
    """Only on the lowest chart of a view; without any there is no axis line."""
    events: tuple[Label, ...] = ()
    """Moments marked by a dotted line and, where there is room, their text."""
    cursor: float | None = None
    empty: tuple[Cell, ...] = ()
    """What is said while no line has a point."""


class Chart(Painted):
    """One picture, drawn again only where it changed."""

    DEFAULT_CSS = """
    Chart { height: 1fr; width: 1fr; }
    """

    class Pointed(Message):
        """A column was clicked."""

        def __init__(self, chart: Chart, x: float) -> None:
            super().__init__()
            self.chart = chart
            self.x = x

        @property
        def control(self) -> Chart:
            return self.chart

    def __init__(
        self,
        *,
        left: int = LEFT_GUTTER,
        right: int = RIGHT_GUTTER,
        ink: Ink | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """
        Args:
            left: Columns before the plot, for labels; the same in all charts of a view.
            right: Columns behind it.
            ink: None takes braille, or ASCII where only that can be shown.
        """
        super().__init__(id=id, classes=classes)
        self._left, self._right, self._ink = left, right, ink
        self._picture = Picture()
        self._lines: list[Cell] = []
        self._drawn_at: Size | None = None

    @property
    def columns(self) -> int:
        """Time slots that are visible."""
        return max(0, self.size.width - self._left - self._right)

    @property
    def picture(self) -> Picture:
        """What is shown."""
        return self._picture

    def show(self, picture: Picture) -> None:
        """Replace the picture.

        Raises:
            ValueError: it has more lines than can be told apart.
        """
        if len(picture.lines) > MOST_LINES:
            raise ValueError(f"{len(picture.lines)} lines on one chart, {MOST_LINES} at most")
        if picture == self._picture:
            return
        old, was_empty = self._drawn(), self._says_empty
        self._picture, self._drawn_at = picture, None
        self._drawn()
        if was_empty or self._says_empty:
            self.refresh()
            return
        regions = [
            Region(start, y, end - start, 1)
            for y, (one, other) in enumerate(zip(old, self._lines, strict=False))
            for start, end in changes(one, other)
        ]
        if regions:
            self.refresh(*regions)

    @property
    def _says_empty(self) -> bool:
        return bool(self._picture.empty) and not any(line.points for line in self._picture.lines)

    def point_at(self, x: float | None) -> None:
        """Move the cursor line alone."""
        self.show(replace(self._picture, cursor=x))

    def render_line(self, y: int) -> Strip:
        if self._says_empty:
            return self.notice(self._picture.empty, y)
        lines = self._drawn()
        return self.line(lines[y] if y < len(lines) else ())

    def on_click(self, event: events.Click) -> None:
        column = event.x - self._left
        if 0 <= column < self.columns:
            self.post_message(self.Pointed(self, self._picture.axis.x(column, self.columns)))

    # Drawing

    def _drawn(self) -> list[Cell]:
        """The picture as lines for the size of now."""
        if self._drawn_at != self.size:
            self._drawn_at, self._lines = self.size, self._draw()
        return self._lines

    def _draw(self) -> list[Cell]:
        picture, width = self._picture, self.columns
        height = self.size.height - bool(picture.x_labels)
        if width <= 0 or height <= 0:
            return []
        raster = Raster(width, height, self._ink or ("ascii" if self.glyphs.ascii else "braille"))
        start, slot = picture.axis.place(width)
        dots = raster.columns // width
        for line in picture.lines:
            spans = decimate(line.points, start, slot / dots, raster.columns, picture.max_gap)
            (raster.area if picture.kind == "area" else raster.line)(spans, picture.scale, line.role)
        left, right = self._left_gutter(height), self._right_gutter(raster)
        lines = [(*left[row], *self._plot(raster, row), *right[row]) for row in range(height)]
        if picture.x_labels:
            lines.append(axis_line(picture.x_labels, picture.axis, self._left, width))
        return lines

    def _plot(self, raster: Raster, row: int) -> Cell:
        content = raster.drawn(row)
        for x, text in self._picture.events:
            content = self._with_event(content, raster, row, self._picture.axis.column(x, raster.width), text)
        if self._picture.cursor is not None:
            column = self._picture.axis.column(self._picture.cursor, raster.width)
            content = with_column(content, column, self.sign("upright", "accent"))
        return content

    def _with_event(self, content: Cell, raster: Raster, row: int, column: int, text: str) -> Cell:
        if not 0 <= column < raster.width:
            return content
        if row < raster.height - 1:
            return with_column(content, column, self.sign("gap")) if raster.blank(row, column, column + 1) else content
        content = with_column(content, column, self.sign("event"))
        words = fit((Piece(text, "muted"),), len(text), ascii_only=self.glyphs.ascii)
        end = column + 2 + len(text)
        if text and end <= raster.width and raster.blank(row, column, end):
            for place, letter in enumerate(words[0].text, column + 2):
                content = with_column(content, place, Piece(letter, "muted"))
        return content

    def _left_gutter(self, height: int) -> list[Cell]:
        top, middle, bottom = self._picture.y_labels
        labels = {height - 1: bottom, height // 2: middle if height > 4 else "", 0: top}
        if self._left <= 0:
            return [()] * height
        cut, ascii_only = self.glyphs.text("cut"), self.glyphs.ascii
        return [
            (*fit((Piece(labels.get(row, ""), "faint"),), self._left - 1, "right", cut, ascii_only), Piece(" "))
            for row in range(height)
        ]

    def _right_gutter(self, raster: Raster) -> list[Cell]:
        """The last values beside the ends of their lines, moved apart where they would cover each other."""
        gutter: list[Cell] = [(Piece(" " * self._right),)] * raster.height
        taken: set[int] = set()
        for line in self._picture.lines:
            known = [value for _, value in line.points if value is not None and math.isfinite(value)]
            if not known or not line.last or self._right <= 0:
                continue
            wanted = raster.row_of(known[-1], self._picture.scale)
            free = [row for row in range(raster.height) if row not in taken]
            if not free:
                break
            row = min(free, key=lambda row: (abs(row - wanted), row))
            taken.add(row)
            role = line.role if len(self._picture.lines) > 1 else "text"
            gutter[row] = fit(
                (Piece(line.last, role),), self._right, "right", self.glyphs.text("cut"), self.glyphs.ascii
            )
        return gutter


def changes(one: Cell, other: Cell) -> Sequence[tuple[int, int]]:
    """Runs of columns that differ; a few equal columns between two are drawn along, which costs less than a jump."""
    runs: list[tuple[int, int]] = []
    for column, (before, after) in enumerate(zip(_columns(one), _columns(other), strict=False)):
        if before == after:
            continue
        if runs and column - runs[-1][1] < 8:
            runs[-1] = (runs[-1][0], column + 1)
        else:
            runs.append((column, column + 1))
    return runs


def _columns(content: Cell) -> chain[tuple[str, Piece]]:
    return chain.from_iterable(zip(piece.text, repeat(piece._replace(text=""))) for piece in content)
