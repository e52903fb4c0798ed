"""Which readings are drawn: how each is called, coloured, scaled and written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from accel_tui.model.devices import DeviceView, Reading, ReadingStatus
from accel_tui.tui.glyphs import GIB, percent
from accel_tui.tui.standing import number, stale_seconds
from accel_tui.tui.widgets.decimate import Point, Scale


@dataclass(frozen=True)
class Drawn:
    """One reading as a chart shows it."""

    name: str
    word: str
    role: str
    unit: str
    text: Callable[[float], str]
    top: float
    """The end of its scale where nothing else is known."""

    def value(self, value: float) -> str:
        """With its unit: `94 %`."""
        return f"{self.text(value)} {self.unit}"

    def scale(self, view: DeviceView, points: Iterable[Point]) -> Scale:
        """From nothing to what the device can, or to what was seen."""
        if self.name == "memory_used_bytes" and view.device.memory_total_bytes:
            return Scale(0.0, float(view.device.memory_total_bytes))
        limit = number(view.readings.get("power_limit_watts")) if self.name == "power_watts" else None
        seen = max((value for _, value in points if value is not None), default=0.0)
        return Scale(0.0, max(limit or self.top, seen))

    def range(self, views: Iterable[DeviceView]) -> str:
        """What the scale is, in words: `0 to 100 %`."""
        if self.name == "memory_used_bytes":
            totals = {view.device.memory_total_bytes for view in views} - {None}
            return (
                f"0 to {self.text(float(totals.pop() or 0)).partition('.')[0]} GiB" if len(totals) == 1 else "0 to all"
            )
        return f"0 to {self.text(self.top)} {self.unit}"


DRAWN = (
    Drawn("utilization_percent", "utilization", "util", "%", percent, 100.0),
    Drawn("memory_used_bytes", "memory", "mem", "GiB", lambda value: f"{value / GIB:.1f}", 64 * GIB),
    Drawn("temperature_celsius", "temperature", "temp", "°C", percent, 100.0),
    Drawn("power_watts", "power", "power", "W", percent, 600.0),
)


def offered(views: Iterable[DeviceView]) -> list[Drawn]:
    """Readings that some device has, whether it has a number now or not."""
    known = [view.readings for view in views]
    found = [drawn for drawn in DRAWN if any(_there(readings.get(drawn.name)) for readings in known)]
    return found or [DRAWN[0]]


def _there(reading: Reading | None) -> bool:
    return reading is not None and reading.status is not ReadingStatus.ABSENT


def all_denied(views: Iterable[DeviceView], name: str) -> bool:
    """No device may be asked for it: there is a reason, and not one number."""
    found = [view.readings[name].status for view in views if _there(view.readings.get(name))]
    return bool(found) and set(found) == {ReadingStatus.DENIED}


def trouble(view: DeviceView, drawn: Drawn) -> tuple[str, str] | None:
    """Why there is no number now, in a word or two, and the role of the word; None while there is one."""
    reading = view.readings.get(drawn.name)
    age = stale_seconds(view)
    if age is not None:
        return f"stale {_short(age)}", "warn"
    if reading is None or reading.status is ReadingStatus.ABSENT:
        return ("", "faint")
    if reading.status is ReadingStatus.OK:
        return None
    return reading.status.value, {"pending": "muted", "failed": "error"}.get(reading.status.value, "warn")


def _short(seconds: float) -> str:
    return f"{int(seconds)} s" if seconds < 100 else f"{int(seconds / 60)} m"


def stopped_at(points: Sequence[Point], now: float, limit: float) -> float | None:
    """When the readings stopped: the last number, if none came for longer than `limit`; None while they go on."""
    last = next((time for time, value in reversed(points) if value is not None), None)
    return last if last is not None and now - last > limit else None
