"""Finding processes that nobody looks after: those that hold a device, or are left of a run that is over.

A process is an orphan when its parent is gone (the first process of the host, or the user's manager, took it in), it
is no service of the system, nobody's session leader stands over it, and it belongs to no live run. A child of an
orphan is one, too: the workers of a rank whose launcher was killed.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper import processes
from accel_tui.keeper.locks import user_name
from accel_tui.model.orphans import Orphan

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from accel_tui.model.devices import Inventory

_TICKS = os.sysconf("SC_CLK_TCK")
_COMMAND_BYTES = 4096
_COMMAND_LENGTH = 400
_REAPERS = frozenset({"systemd", "(sd-pam)"})
"""Names of a user's manager, which takes in orphans of its sessions as the first process does."""


@dataclass(frozen=True)
class Facts:
    """What the kernel tells of one process, whoever owns it."""

    pid: int
    parent: int
    session: int
    start: int
    uid: int


def facts(pid: int) -> Facts | None:
    """None for a process that is gone or a zombie."""
    found = processes.ancestry(pid)
    if found is None:
        return None
    try:
        uid = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
    return Facts(pid, *found, uid)


def find(
    inventory: Inventory, run_of: Callable[[int], str | None], live: Container[str], over: Callable[[str], bool]
) -> tuple[Orphan, ...]:
    """Every orphan, the oldest first; walks `/proc`, so not for the event loop.

    Args:
        inventory: Its holders are looked at.
        run_of: The run in whose environment a process of ours was started.
        live: The ids of runs that are not over.
        over: Whether this is a run that we know and that is over; what is left of others is not ours to judge.
    """
    held: dict[int, list[str]] = {}
    for view in inventory.devices:
        for holder in view.holders:
            held.setdefault(holder.pid, []).append(view.device.key)
    runs = {pid: run_of(pid) for pid in {*held, *(pid for pid, _ in processes.of_any_run())}}
    left = {pid: run for pid, run in runs.items() if run is not None and run not in live and over(run)}
    strangers = {
        pid: one
        for pid, run in runs.items()
        if (pid in left or (pid in held and run not in live)) and (one := facts(pid)) is not None
    }
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    found = [
        _told(strangers[pid], held.get(pid, ()), left.get(pid), why, booted)
        for pid, why in _orphaned(strangers).items()
    ]
    return tuple(sorted(found, key=lambda orphan: (-orphan.age_seconds, orphan.pid)))


def _orphaned(strangers: Mapping[int, Facts]) -> dict[int, str]:
    """Those that are orphans, with the reason."""
    found = {pid: why for pid, one in strangers.items() if (why := _abandoned(one)) is not None}
    while more := {
        pid: f"its parent, process {one.parent}, is one"
        for pid, one in strangers.items()
        if pid not in found and one.parent in found
    }:
        found.update(more)
    return found


def _abandoned(one: Facts) -> str | None:
    if not _is_reaper(one.parent, one.uid) or _is_service(one.pid):
        return None
    leader = None if one.session in (0, one.pid) else facts(one.session)
    if leader is not None and not _is_reaper(leader.pid, one.uid):
        return None  # started in the background of a login that is still there
    rank = _rank(one.pid)
    return "its parent is gone" if rank is None else f"rank {rank} of a launcher that is gone"


def _is_reaper(pid: int, uid: int) -> bool:
    if pid <= 1:
        return True
    try:
        path = Path(f"/proc/{pid}")
        return path.stat().st_uid == uid and (path / "comm").read_text(errors="replace").strip() in _REAPERS
    except OSError:
        return False


def _is_service(pid: int) -> bool:
    """Whether a manager looks after it: its control group is that of a service."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text(errors="replace").splitlines()
    except OSError:
        return False
    names = [name for line in groups for name in line.rpartition(":")[2].split("/")]
    return any(name.endswith(".service") and not name.startswith("user@") for name in names)


def _rank(pid: int) -> str | None:
    """Its rank, where it is a worker of a launcher and ours to look at."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    told = {name: value for name, _, value in (entry.partition(b"=") for entry in entries)}
    rank = told.get(b"RANK", b"")
    return rank.decode() if rank.isdigit() and b"WORLD_SIZE" in told else None


def _told(one: Facts, devices: Iterable[str], run: str | None, why: str, booted: float) -> Orphan:
    age = max(0.0, time.time() - booted - one.start / _TICKS)
    command = _command(one.pid)
    return Orphan(
        pid=one.pid,
        start_time=one.start,
        user=user_name(one.uid),
        age_seconds=age,
        command=command,
        devices=tuple(dict.fromkeys(devices)),
        run=run,
        reason=why if run is None else f"{why}; run {run} is over",
        mine=one.uid == os.geteuid(),
    )


def _command(pid: int) -> str | None:
    try:
        with Path(f"/proc/{pid}/cmdline").open("rb") as file:
            words = file.read(_COMMAND_BYTES).rstrip(b"\0").replace(b"\0", b" ")
    except OSError:
        return None
    return words.decode("utf-8", "replace")[:_COMMAND_LENGTH] or None
