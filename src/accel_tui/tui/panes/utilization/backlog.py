"""What the supervisor remembers of spans longer than the screen keeps itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accel_tui.tui.trail import KEPT_SECONDS, Trail
from accel_tui.tui.widgets.decimate import Point

POINTS = 600
"""Asked for of each series."""
AGAIN_SECONDS = KEPT_SECONDS / 2
"""How often it is asked again; what comes between is kept here anyway."""

Wish = tuple[float, tuple[str, ...], tuple[str, ...]]
"""Seconds, devices and readings."""


class Backlog:
    """The longer past of the devices that are shown, in front of the last minutes."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._wish: Wish | None = None
        self._asked_at = 0.0
        self._points: dict[tuple[str, str], list[Point]] = {}
        self.loaded = 0
        """Counts the answers."""

    def wants(self, wish: Wish, now: float) -> bool:
        """Whether the supervisor should be asked for this now; it counts as asked."""
        if wish[0] <= KEPT_SECONDS:
            self._wish, self._points = None, {}
            return False
        known = self._wish
        held = known is not None and known[0] >= wish[0] and set(known[1]) >= set(wish[1]) and known[2] == wish[2]
        # A little more than is shown, so that a span that grows with a run is not asked for every second.
        if held and now - self._asked_at < AGAIN_SECONDS:
            return False
        self._wish, self._asked_at = (wish[0] * 1.1, wish[1], wish[2]), now
        return True

    def load(self, history: Mapping[str, Mapping[str, Sequence[Sequence[float | None]]]]) -> None:
        """Take the answer."""
        self.loaded += 1
        self._points = {
            (key, reading): [(float(point[0] or 0), point[1]) for point in points]
            for key, readings in history.items()
            for reading, points in readings.items()
        }

    def read(self, key: str, reading: str, since: float) -> list[Point]:
        """Time and value, oldest first."""
        newest = self._trail.points(key, reading, since)
        begin = newest[0][0] if newest else float("inf")
        older = self._points.get((key, reading), ())
        return [*(point for point in older if since <= point[0] < begin), *newest]
