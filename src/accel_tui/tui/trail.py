"""The last minutes of every device, from what passed by on the board and from what the supervisor remembered before."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from accel_tui.model.devices import Inventory, ReadingStatus
from accel_tui.model.times import time_seconds
from accel_tui.tui.widgets.decimate import Point

READINGS = ("utilization_percent", "memory_used_bytes", "temperature_celsius", "power_watts")
"""What is kept."""
KEPT_SECONDS = 900.0


class Trail:
    """Points of each device and reading in the order of time; a reading without a number leaves None."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str], list[Point]] = {}
        self.filled = 0
        """How often older points came in front of those that were known."""

    def add(self, inventory: Inventory) -> None:
        """Take the readings of one picture of the devices."""
        now = time_seconds(inventory.time)
        for view in inventory.devices:
            for name in READINGS:
                reading = view.readings.get(name)
                if reading is None or reading.status is ReadingStatus.ABSENT:
                    continue
                good = reading.status is ReadingStatus.OK and isinstance(reading.value, (int, float))
                self._append((view.device.key, name), (now, float(reading.value) if good else None))  # type: ignore[arg-type]  # a number, or None is taken

    def fill(self, history: Mapping[str, Mapping[str, Sequence[Sequence[float | None]]]]) -> None:
        """Put what the supervisor remembered before what is known."""
        self.filled += 1
        for key, readings in history.items():
            for name, points in readings.items():
                known = self._points.setdefault((key, name), [])
                first = known[0][0] if known else float("inf")
                known[:0] = [(float(point[0] or 0), point[1]) for point in points if (point[0] or 0) < first]

    def points(self, key: str, reading: str, since: float = 0.0) -> list[Point]:
        """Time (seconds since the epoch) and value, oldest first."""
        known = self._points.get((key, reading), [])
        return known[bisect_left(known, since, key=lambda point: point[0]) :]

    def _append(self, place: tuple[str, str], point: Point) -> None:
        known = self._points.setdefault(place, [])
        if known and point[0] <= known[-1][0]:
            return
        known.append(point)
        if len(known) > KEPT_SECONDS * 2 or known[0][0] < point[0] - 2 * KEPT_SECONDS:
            del known[: bisect_left(known, point[0] - KEPT_SECONDS, key=lambda one: one[0])]
