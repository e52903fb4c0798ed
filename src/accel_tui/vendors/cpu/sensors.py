"""Temperature, package power and clock of the host's processors, where the kernel lets this account read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, ReadingStatus, absent, denied, failed, ok
from accel_tui.vendors.cpu.files import Unreadable, number, number_or_none, text_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

_HWMON_NAMES = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal"})
_ZONE_TYPE = re.compile(r"x86_pkg_temp|cpu.*|soc.*|.*-cpu.*", re.IGNORECASE)
_SANE_CELSIUS = (-40.0, 150.0)


def unread(error: Unreadable, source: str, remedy: str) -> Reading:
    """A reading without a number: `denied` with the right that is missing, else `failed`."""
    if error.denied:
        return denied(f"{error.reason}; {remedy}", source)
    return failed(error.reason, source)


def temperature(sysfs_root: Path) -> Reading:
    """The hottest processor package in degrees Celsius."""
    sensors = [(path, "hwmon") for path in _hwmon(sysfs_root)] or [(path, "thermal") for path in _zones(sysfs_root)]
    hottest: Reading | None = None
    fault: Reading | None = None
    for path, source in sensors:
        try:
            celsius = number(path) / 1000
        except Unreadable as error:
            fault = fault or unread(error, source, "it needs the read right on that file")
            continue
        sane = _SANE_CELSIUS[0] <= celsius <= _SANE_CELSIUS[1]
        if sane and (hottest is None or celsius > float(hottest.value or 0)):
            hottest = ok(celsius, source)
        elif not sane:
            fault = fault or failed(f"{path} says {celsius:g} °C", source)
    return hottest or fault or absent("this host shows no processor temperature", "hwmon")


def clock(proc_root: Path, sysfs_root: Path, cpus: Sequence[int]) -> Reading:
    """The mean clock of these CPUs in MHz."""
    paths = (sysfs_root / f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in cpus)
    kilohertz = [value for value in map(number_or_none, paths) if value]
    if kilohertz:
        return ok(round(sum(kilohertz) / len(kilohertz) / 1000, 1), "sysfs")
    stated = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text_or_none(proc_root / "cpuinfo") or "", re.MULTILINE)
    megahertz = [float(value) for value in stated if value.replace(".", "", 1).isdecimal() and float(value) > 0]
    if megahertz:
        return ok(round(sum(megahertz) / len(megahertz), 1), "proc")
    return absent("the kernel does not tell the clock of this processor", "proc")


class Power:
    """Package power from the energy counters of powercap: watts over the time since the last call."""

    def __init__(self, sysfs_root: Path, time: Callable[[], float]) -> None:
        self._root, self._time = sysfs_root, time
        self._last: dict[Path, tuple[float, int]] = {}

    def read(self) -> Reading:
        """The sum over all packages."""
        packages = self._packages()
        if not packages:
            return absent("this host has no energy counter (powercap)", "powercap")
        watts, pending = 0.0, False
        for package in packages:
            try:
                part = self._watts(package)
            except Unreadable as error:
                remedy = "it needs the read right on that file, which an administrator can give (root only by default)"
                return unread(error, "powercap", remedy)
            pending |= part is None
            watts += part or 0.0
        if pending:
            return Reading(ReadingStatus.PENDING, reason="a rate needs two readings of the counter", source="powercap")
        return ok(round(watts, 2), "powercap")

    def limit(self) -> Reading | None:
        """The sum of the packages' long-term limits; None where none is told."""
        limits = [number_or_none(package / "constraint_0_power_limit_uw") for package in self._packages()]
        known = [limit for limit in limits if limit]
        return ok(sum(known) / 1e6, "powercap") if known and len(known) == len(limits) else None

    def _packages(self) -> list[Path]:
        """Whole packages: a zone such as `intel-rapl:0`, not its parts, and not the same again through MMIO."""
        folder = self._root / "class/powercap"
        zones = [zone for zone in _sorted(folder) if re.fullmatch(r"intel-rapl:\d+", zone.name)]
        return [zone for zone in zones if (text_or_none(zone / "name") or "package").startswith("package")]

    def _watts(self, package: Path) -> float | None:
        now, energy = self._time(), number(package / "energy_uj")
        before = self._last.get(package)
        self._last[package] = (now, energy)
        if before is None or now <= before[0]:
            return None
        spent = energy - before[1]
        if spent < 0:  # the counter wrapped
            spent += number_or_none(package / "max_energy_range_uj") or 0
        return None if spent < 0 else spent / 1e6 / (now - before[0])


def _hwmon(sysfs_root: Path) -> Iterable[Path]:
    for folder in _sorted(sysfs_root / "class/hwmon"):
        if text_or_none(folder / "name") in _HWMON_NAMES:
            yield from (path for path in _sorted(folder) if re.fullmatch(r"temp\d+_input", path.name))


def _zones(sysfs_root: Path) -> Iterable[Path]:
    for folder in _sorted(sysfs_root / "class/thermal"):
        if _ZONE_TYPE.fullmatch(text_or_none(folder / "type") or ""):
            yield folder / "temp"


def _sorted(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
