"""Which processes use which card, and how much: the DRM usage statistics in `/proc/PID/fdinfo`.

Formats as in the kernel documents "DRM client usage stats" and "Xe DRM client usage stats implementation". One client
can be open many times and in several processes; it counts once, by (`drm-pdev`, `drm-client-id`).
"""

from __future__ import annotations

import contextlib
import os
import pwd
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from accel_tui.model.devices import Holder

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_OWN = "accel_tui.devices.probe"
"""Stands in the command line of probe processes: they look at cards, they do not use them."""
_MONITORS = frozenset({"xpu-smi", "xpumcli", "xpumd"})
"""Programs of Intel's XPU manager: they have cards open, for good or for a moment, and use none."""
_SCAN_SHARE = 250
"""A scan of all processes rests for so many times as long as it took: 0.4 % of a core at most."""
_SCAN_LEAST = 1.0


@dataclass
class Client:
    """What one open DRM client told; the names of engines are those of its driver."""

    pdev: str | None
    number: str
    pids: set[int] = field(default_factory=set)
    nanoseconds: dict[str, int] = field(default_factory=dict)
    """i915: time that an engine class was busy for this client."""
    cycles: dict[str, int] = field(default_factory=dict)
    total_cycles: dict[str, int] = field(default_factory=dict)
    """xe: GPU time that passed, in the unit of `cycles`."""
    capacity: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes by region: resident where the driver tells, else total."""
    read_at: int = 0
    """Nanoseconds of a monotonic clock."""

    def local_bytes(self, region: int | None = None) -> int:
        """Memory on the card, of one tile or of all."""
        names = [name for name in self.memory if name.startswith(("vram", "local"))]
        wanted = [name for name in names if region is None or name in (f"vram{region}", f"local{region}")]
        return sum(self.memory[name] for name in wanted)


def parse(text: str) -> Client | None:
    """The client that the content of one `fdinfo` file describes; None when it is none of i915 or xe.

    Unknown keys and lines that cannot be read are passed over.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.startswith("drm-"):
            values[name.strip()] = value.strip()
    if values.get("drm-driver") not in ("i915", "xe") or "drm-client-id" not in values:
        return None
    client = Client((values.get("drm-pdev") or "").lower() or None, values["drm-client-id"])
    totals: dict[str, int] = {}
    for name, value in values.items():
        _take(client, totals, name, value)
    client.memory = {**totals, **client.memory}
    return client


def _take(client: Client, totals: dict[str, int], name: str, value: str) -> None:
    amount, _, unit = value.partition(" ")
    if not amount.isdecimal():
        return
    number, unit = int(amount), unit.strip()
    if name.startswith("drm-engine-capacity-"):
        client.capacity[name.removeprefix("drm-engine-capacity-")] = max(1, number)
    elif name.startswith("drm-engine-"):
        client.nanoseconds[name.removeprefix("drm-engine-")] = number
    elif name.startswith("drm-total-cycles-"):
        client.total_cycles[name.removeprefix("drm-total-cycles-")] = number
    elif name.startswith("drm-cycles-"):
        client.cycles[name.removeprefix("drm-cycles-")] = number
    elif unit in _UNITS and name.startswith("drm-resident-"):
        client.memory[name.removeprefix("drm-resident-")] = number * _UNITS[unit]
    elif unit in _UNITS and name.startswith("drm-total-"):
        totals[name.removeprefix("drm-total-")] = number * _UNITS[unit]


class Processes:
    """Finds the open DRM clients below `proc_root`: a scan of all processes now and then, known files each time."""

    def __init__(self, proc_root: Path, dev_root: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._proc, self._now = proc_root, now
        self._folders = tuple(dict.fromkeys((str(dev_root / "dri") + "/", "/dev/dri/")))
        self._known: dict[str, tuple[int, str]] = {}
        """fdinfo file → process and the name of the node it has open."""
        self._holders: dict[int, Holder | None] = {}
        self._next_scan = 0.0

    def clients(self, by_node: Mapping[str, str]) -> list[Client]:
        """Every client once, with all its processes.

        Args:
            by_node: PCI address by name of node, for drivers that do not tell `drm-pdev`.
        """
        if self._now() >= self._next_scan:
            self._scan()
        merged: dict[tuple[str | None, str], Client] = {}
        for file, (pid, node) in list(self._known.items()):
            try:
                content = Path(file).read_text(errors="replace")
            except OSError:
                del self._known[file]
                continue
            client = parse(content)
            if client is None:
                continue
            client.read_at = time.monotonic_ns()
            client.pdev = client.pdev or by_node.get(node)
            merged.setdefault((client.pdev, client.number), client).pids.add(pid)
        return list(merged.values())

    def open_nodes(self) -> dict[int, set[str]]:
        """Names of the nodes that each process has open, as of the last scan."""
        found: dict[int, set[str]] = {}
        for pid, node in self._known.values():
            found.setdefault(pid, set()).add(node)
        return found

    def known_holder(self, pid: int) -> Holder | None:
        """As `holder`, as of the last scan."""
        if pid not in self._holders:
            self._holders[pid] = self.holder(pid)
        return self._holders[pid]

    def holder(self, pid: int) -> Holder | None:
        """Who a process is; None when it is gone, or looks at cards alone: our own probes, the vendor's monitors."""
        folder = self._proc / str(pid)
        try:
            owner = folder.stat().st_uid
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            return None
        command = " ".join(word for word in words if word)
        if _OWN in command or words[0].rpartition("/")[2] in _MONITORS:
            return None
        if not command:
            with contextlib.suppress(OSError):
                command = (folder / "comm").read_text(errors="replace").strip()
        return Holder(pid, _user(owner), command[:200] or None)

    def _scan(self) -> None:
        begun = self._now()
        self._known = {file: (pid, node) for file, pid, node in self._open_files()}
        self._holders.clear()
        cost = self._now() - begun
        self._next_scan = begun + max(_SCAN_LEAST, _SCAN_SHARE * cost)

    def _open_files(self) -> Iterator[tuple[str, int, str]]:
        try:
            names = os.listdir(self._proc)  # noqa: PTH208 - a path object for each of thousands costs more than the call
        except OSError:
            return
        own = os.getpid()
        for name in names:
            if not name.isdecimal() or int(name) == own:
                continue
            folder = f"{self._proc}/{name}"
            try:
                numbers = os.listdir(f"{folder}/fd")  # noqa: PTH208 - as above
            except OSError:  # another user's, or gone
                continue
            for number in numbers:
                try:
                    target = os.readlink(f"{folder}/fd/{number}")  # noqa: PTH115 - as above
                except OSError:
                    continue
                if target.startswith(self._folders):
                    yield f"{folder}/fdinfo/{number}", int(name), target.rpartition("/")[2]


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
