"""Power, its limit, temperatures and fans from the card's hwmon folder, readable by everyone where the kernel has it.

File names as in the kernel's ABI documents `sysfs-driver-intel-i915-hwmon` and `sysfs-driver-intel-xe-hwmon`.
`power1_input` does not exist: power is always the derivative of the energy counter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, ReadingStatus, absent, ok
from accel_tui.vendors.xpu.cards import hwmon_folders
from accel_tui.vendors.xpu.files import Found, entries, look, text
from accel_tui.vendors.xpu.rates import Power

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.vendors.xpu.cards import Card

_LIMITS = ("max", "cap", "rated_max")
_HOTTEST = 200_000


class Hwmon:
    """The sensors of one card; which files there are is seen at `refresh`, energy keeps its last value."""

    def __init__(self, card: Card, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._card, self._source, self._clock = card, source, clock
        self._xe = card.driver == "xe"
        self._files: dict[str, Path] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._power: dict[str, Power] = {}
        self._limit: Reading | None = None
        self.refresh()

    def refresh(self) -> None:
        """Look for the files anew, and at the limit, which changes rarely."""
        folder = _folder(self._card)
        self._files = {} if folder is None else {path.name: path for path in entries(folder)}
        self._labels = _labels(self._files)
        self._limit = self._limit_reading()

    def readings(self) -> dict[str, Reading]:
        """What the folder offers now."""
        if not self._files:
            reason = "the driver has no hwmon folder for this card"
            return {name: absent(reason, self._source) for name in ("power_watts", "temperature_celsius")}
        found = {
            **self._energy(),
            "temperature_celsius": self._temperature("pkg", "2" if self._xe else "1")
            or absent("the driver has no temperature of this card", self._source),
            "temperature_memory_celsius": self._temperature("vram", "3"),
            "fan_rpm": self._fan(),
            "power_limit_watts": self._limit,
        }
        return {name: reading for name, reading in found.items() if reading is not None}

    def _channel(self, kind: str, label: str, otherwise: str) -> str:
        """The number of a channel: by its label, else the one that the driver documents."""
        return self._labels.get((kind, label), otherwise)

    def _temperature(self, label: str, otherwise: str) -> Reading | None:
        path = self._files.get(f"temp{self._channel('temp', label, otherwise)}_input")
        return None if path is None else look(path).reading(self._source, _celsius, "a temperature")

    def _energy(self) -> dict[str, Reading]:
        """Card energy first; a missing one or one that says 0 is common, then that of the package counts."""
        channels = (self._channel("energy", "card", "1"), self._channel("energy", "pkg", "2" if self._xe else "1"))
        paths = [self._files.get(f"energy{channel}_input") for channel in dict.fromkeys(channels)]
        best: Found | None = None
        for path in paths:
            if path is not None and not (best is not None and best.number):
                found = look(path)
                best = found if best is None or found.number else best
        if best is None:
            none = absent("the driver meters no energy of this card", self._source)
            return {"power_watts": none, "energy_joules": none}
        joules = best.reading(self._source, lambda energy: energy / 1e6 if energy >= 0 else None, "an energy")
        if joules.status is not ReadingStatus.OK:
            return {"power_watts": joules, "energy_joules": joules}
        meter = self._power.setdefault(best.path.name, Power())
        watts = meter.reading(best.number or 0, int(self._clock() * 1e6), self._source)
        return {"power_watts": watts, "energy_joules": joules}

    def _limit_reading(self) -> Reading | None:
        """The sustained limit; 0 means that none is set."""
        channels = (self._channel("power", "card", "1"), self._channel("power", "pkg", "2"))
        for channel in dict.fromkeys(channels):
            for kind in _LIMITS:
                path = self._files.get(f"power{channel}_{kind}")
                watts = None if path is None else look(path).number
                if watts and watts > 0:
                    return ok(watts / 1e6, self._source)
        return None

    def _fan(self) -> Reading | None:
        """The fastest fan in revolutions per minute; None where the card has none."""
        paths = [path for number in (1, 2, 3) if (path := self._files.get(f"fan{number}_input")) is not None]
        found = [look(path) for path in paths]
        speeds = [one.number for one in found if one.number is not None and one.number >= 0]
        if speeds:
            return ok(max(speeds), self._source)
        return found[0].reading(self._source, _not_negative, "a speed") if found else None


def _folder(card: Card) -> Path | None:
    """The folder whose `name` is that of the driver; of several the first, of one without a name that one."""
    folders = hwmon_folders(card)
    named = [folder for folder in folders if text(folder / "name") == card.driver]
    return next(iter([*named, *folders]), None)


def _labels(files: Mapping[str, Path]) -> dict[tuple[str, str], str]:
    """Channel numbers by kind and label, such as ("temp", "vram") → "3"."""
    found: dict[tuple[str, str], str] = {}
    for name, path in files.items():
        channel, _, what = name.partition("_")
        kind = channel.rstrip("0123456789")
        if what == "label" and kind in ("temp", "energy", "power"):
            found[kind, (text(path) or "").lower()] = channel[len(kind) :]
    return found


def _not_negative(number: int) -> float | None:
    return number if number >= 0 else None


def _celsius(millidegrees: int) -> float | None:
    return millidegrees / 1000 if -40_000 <= millidegrees <= _HOTTEST else None
