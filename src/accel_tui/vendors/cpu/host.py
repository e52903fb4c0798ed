"""What the host is: processor, cores, memory and NUMA nodes."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.vendors.cpu.files import cpu_list, text_or_none
from accel_tui.vendors.cpu.limits import Limits, limits

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Host:
    """The fixed facts about the host, as far as this account is concerned."""

    name: str
    online: tuple[int, ...]
    """Logical CPUs that the kernel runs."""
    allowed: tuple[int, ...]
    """Those that this process may run on."""
    physical_cores: int | None
    sockets: int | None
    numa_nodes: tuple[int, ...]
    memory_host_bytes: int | None
    limits: Limits

    @property
    def cores(self) -> float:
        """Cores' worth of time that a job can get: allowed CPUs, bounded by the quota."""
        available = float(len(self.allowed) or len(self.online) or 1)
        return available if self.limits.cores is None else min(available, self.limits.cores)

    @property
    def memory_total_bytes(self) -> int | None:
        limit, host = self.limits.memory_bytes, self.memory_host_bytes
        if limit is None or host is None:
            return host if limit is None else limit
        return min(limit, host)

    @property
    def memory_is_limited(self) -> bool:
        """Whether a control group grants less than the host has."""
        return self.memory_total_bytes is not None and self.memory_total_bytes != self.memory_host_bytes


def examine(proc_root: Path, sysfs_root: Path) -> Host:
    """Read the facts; what a file does not tell stays unknown."""
    blocks = _blocks(text_or_none(proc_root / "cpuinfo") or "")
    nodes = cpu_list(text_or_none(sysfs_root / "devices/system/node/online") or "")
    online = cpu_list(text_or_none(sysfs_root / "devices/system/cpu/online") or "") or tuple(range(len(blocks)))
    allowed = cpu_list(status_field(proc_root / "self" / "status", "Cpus_allowed_list") or "")
    cores, sockets = _physical(blocks)
    return Host(
        name=_name(blocks),
        online=online,
        allowed=tuple(cpu for cpu in allowed if cpu in set(online)) or online,
        physical_cores=cores,
        sockets=sockets,
        numa_nodes=nodes,
        memory_host_bytes=meminfo(proc_root).get("MemTotal"),
        limits=limits(proc_root, sysfs_root),
    )


def meminfo(proc_root: Path) -> dict[str, int]:
    """Fields of `meminfo` in bytes."""
    found = {}
    for line in (text_or_none(proc_root / "meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        amount, _, unit = rest.strip().partition(" ")
        if amount.isdecimal():
            found[name] = int(amount) * (1024 if unit == "kB" else 1)
    return found


def status_field(path: Path, name: str) -> str | None:
    """One field of a `status` file."""
    for line in (text_or_none(path) or "").splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return None


def ranges(cpus: tuple[int, ...]) -> str:
    """The inverse of `cpu_list`: `0-3,8`."""
    parts: list[str] = []
    start = previous = None
    for cpu in (*cpus, None):
        if previous is not None and cpu != previous + 1:
            parts.append(f"{start}" if start == previous else f"{start}-{previous}")
            start = None
        start = cpu if start is None else start
        previous = cpu
    return ",".join(parts)


def _blocks(cpuinfo: str) -> list[dict[str, str]]:
    """One dictionary per logical CPU."""
    blocks = []
    for block in cpuinfo.split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in pairs}
        if "processor" in fields:
            blocks.append(fields)
    return blocks


def _name(blocks: list[dict[str, str]]) -> str:
    for field in ("model name", "Model", "cpu model", "uarch"):
        for block in blocks:
            if block.get(field):
                return " ".join(block[field].split())
    return f"CPU ({platform.machine() or 'unknown architecture'})"


def _physical(blocks: list[dict[str, str]]) -> tuple[int | None, int | None]:
    """Physical cores and sockets; None on architectures whose `cpuinfo` does not tell."""
    pairs = {(block["physical id"], block["core id"]) for block in blocks if {"physical id", "core id"} <= block.keys()}
    if not pairs:
        return None, None
    return len(pairs), len({socket for socket, _ in pairs})
