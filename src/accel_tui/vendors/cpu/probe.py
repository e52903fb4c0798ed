"""The host as a device, read from `/proc` and `/sys`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.devices import Device, Holder, Problem, Reading, ReadingStatus, failed, ok
from accel_tui.vendors.cpu.files import Unreadable, text
from accel_tui.vendors.cpu.host import Host, examine, meminfo, ranges
from accel_tui.vendors.cpu.limits import memory_used
from accel_tui.vendors.cpu.sensors import Power, clock, temperature, unread

if TYPE_CHECKING:
    from accel_tui.model.places import Places

KEY = "cpu"


def open_source(places: Places) -> CpuSource:
    """The source for these roots."""
    return CpuSource(Path(places.proc_root), Path(places.sysfs_root))


class CpuSource:
    """One device with the key `cpu`. Nobody holds it: the queue shares it by slots."""

    name = "proc"
    vendor = "cpu"

    def __init__(self, proc_root: Path, sysfs_root: Path, time: Callable[[], float] = time.monotonic) -> None:
        self._proc, self._sysfs = proc_root, sysfs_root
        self._power = Power(sysfs_root, time)
        self._ticks: tuple[int, int] | None = None
        self._host: Host | None = None

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The host; always there, whatever cannot be read."""
        host = self._host = examine(self._proc, self._sysfs)
        device = Device(
            key=KEY,
            vendor="cpu",
            torch_device="cpu",
            name=host.name,
            memory_total_bytes=host.memory_total_bytes,
            numa_node=host.numa_nodes[0] if len(host.numa_nodes) == 1 else None,
            details={
                "cores": round(host.cores, 2),
                "physical_cores": host.physical_cores,
                "threads": len(host.online),
                "sockets": host.sockets,
                "affinity": ranges(host.allowed),
                "quota_cores": None if host.limits.cores is None else round(host.limits.cores, 2),
                "numa_nodes": list(host.numa_nodes),
                "memory_host_bytes": host.memory_host_bytes,
                "memory_limited": host.memory_is_limited,
            },
        )
        return [device], self._problems(host)

    def read(self) -> dict[str, dict[str, Reading]]:
        """All readings of the host; rates are over the time since the last call."""
        host = self._host or examine(self._proc, self._sysfs)
        readings = {
            "utilization_percent": self._utilization(host),
            "memory_used_bytes": self._memory(host),
            "power_watts": self._power.read(),
            "temperature_celsius": temperature(self._sysfs),
            "clock_mhz": clock(self._proc, self._sysfs, host.allowed),
        }
        limit = self._power.limit()
        return {KEY: readings if limit is None else {**readings, "power_limit_watts": limit}}

    def holders(self) -> dict[str, list[Holder]]:
        return {}

    def _problems(self, host: Host) -> list[Problem]:
        if host.memory_host_bytes is not None:
            return []
        message = f"{self._proc / 'meminfo'} does not tell how much memory this host has."
        return [Problem("cpu", "memory-unknown", message, "Check the setting proc_root.")]

    def _utilization(self, host: Host) -> Reading:
        try:
            total, idle = _ticks(text(self._proc / "stat"), set(host.allowed))
        except Unreadable as error:
            return unread(error, self.name, "it needs the read right on that file")
        except ValueError as error:
            return failed(f"{self._proc / 'stat'}: {error}", self.name)
        before, self._ticks = self._ticks, (total, idle)
        if before is None or total <= before[0]:  # the first sample, or counters that went back or stood still
            reason = "a rate needs two readings of the counters"
            return Reading(ReadingStatus.PENDING, reason=reason, source=self.name)
        busy = 1 - max(0, idle - before[1]) / (total - before[0])  # the kernel's idle counters can step back a little
        return ok(round(100 * min(1.0, max(0.0, busy)), 1), self.name)

    def _memory(self, host: Host) -> Reading:
        folder = host.limits.memory_folder
        if host.memory_is_limited and folder is not None:
            used = memory_used(folder)
            if used is not None:
                return ok(used, "cgroup")
        known = meminfo(self._proc)
        if "MemTotal" not in known or "MemAvailable" not in known:
            return failed(f"{self._proc / 'meminfo'} lacks MemTotal or MemAvailable", self.name)
        return ok(max(0, known["MemTotal"] - known["MemAvailable"]), self.name)


def _ticks(stat: str, cpus: set[int]) -> tuple[int, int]:
    """Total and idle ticks since boot, summed over these CPUs.

    Raises:
        ValueError: there is no line of a CPU.
    """
    total = idle = lines = 0
    for line in stat.splitlines():
        name, _, rest = line.partition(" ")
        if not name.startswith("cpu") or not name[3:].isdecimal() or int(name[3:]) not in cpus:
            continue
        # user nice system idle iowait irq softirq steal; the guest times after them are counted in user already.
        ticks = [int(field) for field in rest.split()[:8]]
        if len(ticks) < 4:
            raise ValueError(f"cannot read {line[:60]!r}")
        lines += 1
        total += sum(ticks)
        idle += sum(ticks[3:5])
    if not lines:
        raise ValueError("no line of a CPU that this process may run on")
    return total, idle
