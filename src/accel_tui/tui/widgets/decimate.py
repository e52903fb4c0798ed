"""Many points into few columns without losing a spike: lowest, highest, mean and last of each time slot."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, "float | None"]
"""x (a time or a step) and the value there; None says that there was no reading."""


class Span(NamedTuple):
    """What one slot holds."""

    low: float
    high: float
    last: float
    mean: float


@dataclass(frozen=True)
class Axis:
    """Which x stand in which columns, for any number of columns."""

    last: float
    """The newest x, or the end of what is shown as a whole."""
    slot: float | None = None
    """x per column of a sliding axis; None shows everything from `first` to `last`."""
    first: float = 0.0

    def place(self, columns: int) -> tuple[float, float]:
        """Where the first column begins, and how much x a column holds.

        The columns of a sliding axis begin at multiples of the slot: its picture stands still until a slot is over,
        only the newest column changing, and then moves by one column.
        """
        columns = max(1, columns)
        if self.slot is None:
            return self.first, max(self.last - self.first, 1e-9) / columns
        return (math.floor(self.last / self.slot) - columns + 1) * self.slot, self.slot

    def column(self, x: float, columns: int) -> int:
        """The column that holds x; outside of 0 to `columns` - 1 when it is not visible."""
        start, slot = self.place(columns)
        column = math.floor((x - start) / slot)
        return columns - 1 if self.slot is None and x == self.last else column

    def x(self, column: int, columns: int) -> float:
        """Where a column begins."""
        start, slot = self.place(columns)
        return start + column * slot


def decimate(
    points: Sequence[Point], start: float, slot: float, count: int, max_gap: float = math.inf
) -> list[Span | None]:
    """The span of each of `count` slots; None where nothing is known.

    Args:
        points: Rising in x.
        max_gap: Slots between two points that are no further apart are bridged in a straight line; wider ones stay
            blank, and so do those around a missing reading.
    """
    slots: list[list[float]] = [[] for _ in range(count)]
    spans: list[Span | None] = [None] * count
    begin = max(0, bisect_left(points, start, key=lambda point: point[0]) - 1)
    before: tuple[float, float] | None = None
    place_before = 0
    for x, value in points[begin:]:
        if value is None or not math.isfinite(value):
            before = None
            continue
        place = math.floor((x - start) / slot)
        if place == count and math.isclose(x, start + count * slot):
            place = count - 1  # the very end of a whole axis belongs to its last column
        if before is not None and place - place_before > 1 and x - before[0] <= max_gap:
            _bridge(spans, before, (x, value), start, slot)
        if 0 <= place < count:
            slots[place].append(value)
        before, place_before = (x, value), place
        if place >= count:
            break
    for place, values in enumerate(slots):
        if values:
            spans[place] = Span(min(values), max(values), values[-1], sum(values) / len(values))
    return spans


def _bridge(
    spans: list[Span | None], one: tuple[float, float], other: tuple[float, float], start: float, slot: float
) -> None:
    """Fill the slots strictly between two points by the line that joins them."""
    first = max(0, math.floor((one[0] - start) / slot) + 1)
    end = min(len(spans), math.floor((other[0] - start) / slot))
    for place in range(first, end):
        share = (start + (place + 0.5) * slot - one[0]) / (other[0] - one[0])
        value = one[1] + (other[1] - one[1]) * min(1.0, max(0.0, share))
        spans[place] = Span(value, value, value, value)


NOWHERE = Axis(1.0)
"""The axis of a chart that was given none yet."""


@dataclass(frozen=True)
class Scale:
    """The y axis."""

    low: float = 0.0
    high: float = 100.0
    log: bool = False

    def share(self, value: float) -> float:
        """Where `value` stands between bottom (0) and top (1), clamped."""
        if self.high <= self.low:
            return 0.0
        if self.log:
            value = max(value, self.low)
            return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    @property
    def middle(self) -> float:
        """The value half way up."""
        return math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2

    @classmethod
    def around(cls, values: Sequence[float], *, log: bool = False) -> Scale:
        """A scale that holds all values with a little room; `log` is dropped where a value is not above nothing."""
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return cls(0.0, 1.0)
        low, high = min(finite), max(finite)
        if log and low > 0:
            return cls(low / 1.05, max(high, low) * 1.05, log=True)
        room = (high - low) * 0.05 or abs(high) * 0.05 or 0.5
        return cls(low - room if low < 0 or low - room > 0 else 0.0, high + room)


PERCENT = Scale()
"""0 to 100."""
