"""Long curves in few points, for faces that have few columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def thinned(points: Sequence[Sequence[Any]], most: int | None) -> list[list[Any]]:
    """Points `[time, …, value]` as at most `most` of them, each standing for an equal span of time.

    Its value is the mean of the numbers in that span, None where there is none; the rest is that of its last point.
    """
    if most is None or len(points) <= most:
        return [list(point) for point in points]
    first = float(points[0][0])
    slot = (float(points[-1][0]) - first) / most or 1.0
    kept: list[list[Any]] = []
    values: list[float] = []
    place = -1
    for point in points:
        here = min(most - 1, int((float(point[0]) - first) / slot))
        if here != place:
            place, values = here, []
            kept.append(list(point))
        if point[-1] is not None:
            values.append(float(point[-1]))
        kept[-1] = [*point[:-1], sum(values) / len(values) if values else None]
    return kept
