"""Processes by pid and start time, so that a reused pid is never taken for the one that was meant."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from collections.abc import Iterable

TAG = "ACCEL_TUI_RUN"
"""The variable that every process of a run has in its environment, unless it cleared it."""

OWN = "ACCEL_TUI_PROCESS"
"""The variable that keepers and supervisors have: one that a run's process started does not belong to that run."""

_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19  # after the last ")" of /proc/PID/stat: fields 3, 4, 6 and 22


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since the boot (field 22); None when there is no such process."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_START])


def boot_id() -> str:
    """The identity of this boot of the kernel."""
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return file.read().decode().strip()


def alive(pid: int, start: int) -> bool:
    """Whether that very process still runs; a zombie does not."""
    fields = _stat(pid)
    return fields is not None and int(fields[_START]) == start and not _ended(fields)


def halted(pid: int) -> bool:
    """Whether a signal or a debugger keeps the process from running."""
    fields = _stat(pid)
    return fields is not None and fields[_STATE] in (b"T", b"t")


def descendants(pid: int, tag: str | None = None) -> list[tuple[int, int]]:
    """Pid and start time of every living process below `pid`, parents before children.

    With `tag`, processes that are not of that run are left out with all below them: a supervisor or keeper that was
    started from inside the run has a life of its own, and so have the runs that it started.
    """
    children: dict[int, list[int]] = {}
    starts: dict[int, int] = {}
    for other in _pids():
        fields = _stat(other)
        if fields is None:
            continue
        children.setdefault(int(fields[_PARENT]), []).append(other)
        if not _ended(fields):
            starts[other] = int(fields[_START])
    found: list[int] = []
    waiting = [pid]
    seen = {pid}
    while waiting:
        below = [child for child in children.get(waiting.pop(), ()) if child not in seen]
        seen.update(below)
        if tag is not None:
            below = [child for child in below if not _of_its_own(child, tag)]
        found += below
        waiting += below
    return [(child, starts[child]) for child in found if child in starts]


def _of_its_own(pid: int, tag: str) -> bool:
    """Whether this process says that it is one of ours, or of another run."""
    mine = f"{TAG}={tag}".encode("utf-8", "surrogateescape")
    other, own = f"{TAG}=".encode(), f"{OWN}=".encode()
    return any(
        entry.startswith(own) or (entry.startswith(other) and entry != mine) for entry in _environment(pid).split(b"\0")
    )


def ancestry(pid: int) -> tuple[int, int, int] | None:
    """Parent, session and start time of a living process; None when there is none."""
    fields = _stat(pid)
    if fields is None or _ended(fields):
        return None
    return int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START])


def of_any_run() -> list[tuple[int, int]]:
    """Pid and start time of every living process of ours that was started in some run and is none of our own kind."""
    found = []
    for pid in _pids():
        fields = _stat(pid)
        if fields is None or _ended(fields) or pid == os.getpid():
            continue
        entries = _environment(pid).split(b"\0")
        if any(one.startswith(f"{TAG}=".encode()) for one in entries) and not any(
            one.startswith(f"{OWN}=".encode()) for one in entries
        ):
            found.append((pid, int(fields[_START])))
    return found


def tagged(tag: str) -> list[tuple[int, int]]:
    """Pid and start time of every living process of ours whose environment names the run `tag`."""
    wanted = f"{TAG}={tag}".encode("utf-8", "surrogateescape")
    found = []
    for pid in _pids():
        fields = _stat(pid)
        if fields is None or _ended(fields) or pid == os.getpid():
            continue
        if wanted in _environment(pid).split(b"\0"):
            found.append((pid, int(fields[_START])))
    return found


def remains(tag: str, main: tuple[int, int] | None, files: Iterable[str] = ()) -> list[tuple[int, int]]:
    """Pid and start time of every living process of a run that has no keeper to descend from.

    By the tag in its environment; for those that cleared theirs, by the session that the main process began, by a file
    of the run that it writes or has locked (its log, the devices' locks), and by descent from any of these.
    """
    living = {pid: fields for pid in _pids() if (fields := _stat(pid)) is not None and not _ended(fields)}
    living.pop(os.getpid(), None)
    identities = {(status.st_dev, status.st_ino) for path in files if (status := _status(path)) is not None}
    # A session keeps its number from being given to a new process: a leader that started later began another one.
    leader = None if main is None else living.get(main[0])
    session = None if main is None or (leader is not None and int(leader[_START]) != main[1]) else main[0]
    wanted = f"{TAG}={tag}".encode("utf-8", "surrogateescape")
    found = {
        pid
        for pid, fields in living.items()
        if int(fields[_SESSION]) == session
        or wanted in _environment(pid).split(b"\0")
        or (identities and _uses(pid, identities))
    }
    found = {pid for pid in found if not _of_its_own(pid, tag)}
    while below := {
        pid
        for pid, fields in living.items()
        if pid not in found and int(fields[_PARENT]) in found and not _of_its_own(pid, tag)
    }:
        found |= below
    return [(pid, int(living[pid][_START])) for pid in sorted(found)]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _uses(pid: int, identities: set[tuple[int, int]]) -> bool:
    """Whether the process appends to one of these files, or holds a lock on it; who merely reads it does not count."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:  # another user's, or gone
        return False
    return any(_appends_or_locks(pid, name, identities) for name in names)


def _appends_or_locks(pid: int, name: str, identities: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(f"/proc/{pid}/fd/{name}")
        if (status.st_dev, status.st_ino) not in identities:
            return False
        with open(f"/proc/{pid}/fdinfo/{name}", "rb") as file:
            lines = file.read().splitlines()
    except OSError:  # closed meanwhile
        return False
    flags = next((int(line[6:], 8) for line in lines if line.startswith(b"flags:")), 0)
    return bool(flags & os.O_APPEND) or any(line.startswith(b"lock:") and b"FLOCK" in line for line in lines)


def signal_exact(pid: int, start: int, signo: int) -> bool:
    """Send `signo` to the process that started at `start`; False when it is gone or not ours to signal."""
    try:
        descriptor = os.pidfd_open(pid)  # pins the process: its pid cannot be given to another from here on
    except OSError:
        return False
    try:
        if start_time(pid) != start:
            return False
        signal.pidfd_send_signal(descriptor, signo)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> list[bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The command between the parentheses may itself hold parentheses and spaces.
    return text[text.rindex(b")") + 2 :].split()


def _environment(pid: int) -> bytes:
    """The environment as it was at exec; empty for a process that is gone or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _ended(fields: list[bytes]) -> bool:
    return fields[_STATE] in (b"Z", b"X", b"x")
