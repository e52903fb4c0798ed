"""Power, its limit, temperatures and fans from the card's hwmon folder, readable by everyone where the kernel has it.

File names as in the kernel's ABI documents `sysfs-driver-intel-i915-hwmon` and `sysfs-driver-intel-xe-hwmon`.
`power1_input` does not exist: power is always the derivative of the energy counter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, ReadingStatus, absent, ok
from accel_tui.vendors.xpu.cards import hwmon_folders
from accel_tui.vendors.xpu.files import Found, entries, first, look, text
from accel_tui.vendors.xpu.rates import Power

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.vendors.xpu.cards import Card

_LIMITS = ("max", "cap", "rated_max")
_HOTTEST = 200_000


class Hwmon:
    """The sensors of one card, found once and then read; energy keeps its last value."""

    def __init__(self, card: Card, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._xe = card.driver == "xe"
        self._folder = _folder(card)
        self._labels = {} if self._folder is None else _labels(self._folder)
        self._power: dict[str, Power] = {}

    def readings(self) -> dict[str, Reading]:
        """What the folder offers now."""
        folder, source = self._folder, self._source
        if folder is None:
            reason = "the driver has no hwmon folder for this card"
            return {name: absent(reason, source) for name in ("power_watts", "temperature_celsius")}
        hot = look(folder / f"temp{self._channel('temp', 'pkg', '2' if self._xe else '1')}_input")
        found = {**self._energy(folder), "temperature_celsius": hot.reading(source, _celsius, "a temperature")}
        memory = look(folder / f"temp{self._channel('temp', 'vram', '3')}_input")
        if memory.text is not None:
            found["temperature_memory_celsius"] = memory.reading(source, _celsius, "a temperature")
        fan = self._fan(folder)
        limit = self._limit(folder)
        return {
            **found,
            **({} if fan is None else {"fan_rpm": fan}),
            **({} if limit is None else {"power_limit_watts": limit}),
        }

    def _channel(self, kind: str, label: str, otherwise: str) -> str:
        """The number of a channel: by its label, else the one that the driver documents."""
        return self._labels.get((kind, label), otherwise)

    def _energy(self, folder: Path) -> dict[str, Reading]:
        """Card energy first; a missing one or one that says 0 is common, then that of the package counts."""
        channels = (self._channel("energy", "card", "1"), self._channel("energy", "pkg", "2" if self._xe else "1"))
        looks = [look(folder / f"energy{channel}_input") for channel in dict.fromkeys(channels)]
        best = next((found for found in looks if found.number), None)
        if best is None:
            best = next((found for found in looks if not isinstance(found.error, FileNotFoundError)), looks[0])
        joules = best.reading(self._source, lambda energy: energy / 1e6 if energy >= 0 else None, "an energy")
        if joules.status is not ReadingStatus.OK:
            return {"power_watts": joules, "energy_joules": joules}
        meter = self._power.setdefault(best.path.name, Power())
        watts = meter.reading(best.number or 0, int(self._clock() * 1e6), self._source)
        return {"power_watts": watts, "energy_joules": joules}

    def _limit(self, folder: Path) -> Reading | None:
        """The sustained limit; 0 means that none is set."""
        channels = (self._channel("power", "card", "1"), self._channel("power", "pkg", "2"))
        for channel in dict.fromkeys(channels):
            for kind in _LIMITS:
                watts = look(folder / f"power{channel}_{kind}").number
                if watts and watts > 0:
                    return ok(watts / 1e6, self._source)
        return None

    def _fan(self, folder: Path) -> Reading | None:
        """The fastest fan in revolutions per minute; None where the card has none."""
        found = [look(folder / f"fan{number}_input") for number in (1, 2, 3)]
        speeds = [one.number for one in found if one.number is not None and one.number >= 0]
        if speeds:
            return ok(max(speeds), self._source)
        there = [one for one in found if not isinstance(one.error, FileNotFoundError)]
        return there[0].reading(self._source, lambda speed: speed if speed >= 0 else None, "a speed") if there else None


def clock_reading(folders: list[Path], source: str) -> Reading:
    """The highest actual frequency among these folders of a GT, in MHz; 0 is normal for a card that sleeps."""
    names = ("act_freq", "rps_act_freq_mhz", "gt_act_freq_mhz")
    found = [one for folder in folders if (one := first(folder / name for name in names)) is not None]
    speeds = [one.number for one in found if one.number is not None and one.number >= 0]
    if speeds:
        return ok(max(speeds), source)
    if found:
        return found[0].reading(source, lambda speed: speed if speed >= 0 else None, "a frequency")
    return absent("the driver does not tell the clock of this card", source)


def throttle_reading(folders: list[Path], source: str) -> Reading:
    """Why the card runs slower than asked, such as `pl1, thermal`; `none` when it does not."""
    reasons: dict[str, None] = {}
    status: Found | None = None
    for folder in folders:
        places = [folder / "throttle/status", folder / "throttle_reason_status"]
        status = first(places) or status
        if status is None or not status.number:
            continue
        stated = [*entries(folder / "throttle"), *folder.glob("throttle_reason_*")]
        for path in stated:
            name = path.name.removeprefix("throttle_").removeprefix("reason_")
            if name not in ("status", path.name) and text(path) not in (None, "0"):
                reasons[name] = None
    if reasons:
        return ok(", ".join(reasons), source)
    if status is None:
        return absent("the driver does not tell whether this card is throttled", source)
    if status.number is None:
        return status.reading(source, lambda _number: None, "a status")
    return ok("throttled, the driver does not tell why" if status.number else "none", source)


def _folder(card: Card) -> Path | None:
    """The folder whose `name` is that of the driver; of several the first, of one without a name that one."""
    folders = hwmon_folders(card)
    named = [folder for folder in folders if text(folder / "name") == card.driver]
    return next(iter([*named, *folders]), None)


def _labels(folder: Path) -> dict[tuple[str, str], str]:
    """Channel numbers by kind and label, such as ("temp", "vram") → "3"."""
    found: dict[tuple[str, str], str] = {}
    for path in entries(folder):
        channel, _, what = path.name.partition("_")
        kind = channel.rstrip("0123456789")
        if what == "label" and kind in ("temp", "energy", "power"):
            found[kind, (text(path) or "").lower()] = channel[len(kind) :]
    return found


def _celsius(millidegrees: int) -> float | None:
    return millidegrees / 1000 if -40_000 <= millidegrees <= _HOTTEST else None
