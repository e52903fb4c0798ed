"""Starting a supervisor when none answers, and waiting until it does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.client.transport import connect
from accel_tui.keeper import locks, processes
from accel_tui.model.errors import SupervisorError
from accel_tui.protocol.paths import LOCK_NAME, LOG_NAME, SAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS = 20.0
"""How long a supervisor may take from its start to its first accepted connection."""

GIVEN_WAY_SECONDS = 1.0
"""How long another supervisor may take to listen once the one that was started gave way to it."""

_WORDS_BYTES = 65536


def start_and_wait(state_dir: str, base: str, demo: str | None, environment: Mapping[str, str]) -> None:
    """Start a supervisor by the logout-proof path and return when it accepts connections in `state_dir`.

    `base` is the state folder that the supervisor is told; with `demo`, `state_dir` lies below it.

    Two clients may do this at once: the supervisors settle it between themselves by their lock.

    Raises:
        SupervisorError: it cannot be started, or does not listen in time; it is quoted, and the end of its log.
    """
    from accel_tui.executors.local import start_supervisor

    log = Path(state_dir) / LOG_NAME
    before = log.stat().st_size if log.exists() else 0
    try:
        pid = start_supervisor(base, demo, dict(environment))
    except OSError as error:
        raise SupervisorError(f"the supervisor cannot be started: {error}", remedy=log_remedy(state_dir)) from None
    started = processes.start_time(pid)
    end = time.monotonic() + START_SECONDS
    pause = 0.01
    while not listens(state_dir):
        if started is None or not processes.alive(pid, started):
            # It gave way to another one, which listens right after it has the lock, or it could not serve.
            end = min(end, time.monotonic() + GIVEN_WAY_SECONDS)
        if time.monotonic() > end:
            words = _last_words(log, before)
            reason = f"it says: {words}" if words else "it does not listen"
            message = f"the supervisor was started and does not serve; {reason}"
            raise SupervisorError(message, remedy=log_remedy(state_dir))
        time.sleep(pause)
        pause = min(pause * 1.3, 0.1)


def _last_words(log: Path, start: int) -> str:
    """What a supervisor that could not serve wrote into the log from byte `start` on."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(start)
        lines = file.read(_WORDS_BYTES).decode(errors="replace").splitlines()
        said = [line.partition(SAYS)[2] for line in lines if SAYS in line]
        return said[-1] if said else ""
    return ""


def listens(state_dir: str) -> bool:
    """Whether something accepts connections on the socket."""
    try:
        connect(state_dir, 1.0).close()
    except OSError:
        return False
    return True


def lock_held(state_dir: str) -> bool:
    """Whether a supervisor holds the lock of this state folder."""
    try:
        lock = os.open(Path(state_dir) / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def holder(state_dir: str) -> tuple[int, int] | None:
    """Pid and start time of the supervisor that holds the lock, by the kernel's word; None where it does not tell."""
    found = locks.holder(str(Path(state_dir) / LOCK_NAME))
    start = None if found is None or found.pid is None else processes.start_time(found.pid)
    return None if found is None or found.pid is None or start is None else (found.pid, start)


def end_by_force(state_dir: str, seconds: float = 5.0) -> bool:
    """End a supervisor that does not answer; whether it is gone. Nothing is lost with it: the folders are the truth."""
    who = holder(state_dir)
    if who is None:
        return not lock_held(state_dir)
    for signo in (signal.SIGTERM, signal.SIGKILL):
        processes.signal_exact(*who, signo)
        processes.signal_exact(*who, signal.SIGCONT)  # one that is halted would not hear the first
        if wait_gone(state_dir, seconds):
            return True
    return False


def wait_gone(state_dir: str, seconds: float = 15.0) -> bool:
    """Whether the supervisor of this folder is gone within `seconds`."""
    end = time.monotonic() + seconds
    while lock_held(state_dir):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def log_remedy(state_dir: str) -> str:
    """What to look at: the path of the supervisor's log, and its last lines where there are any."""
    path = Path(state_dir) / LOG_NAME
    who = holder(state_dir)
    if who is not None and processes.halted(who[0]):
        return f"it is halted (kill -CONT {who[0]} lets it go on), or end it: accel-tui supervisor stop; runs go on"
    tail = ""
    with contextlib.suppress(OSError), path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 4096))
        tail = "\n".join(log.read().decode(errors="replace").splitlines()[-8:])
    return f"see {path}" + (f"; it ends with:\n{tail}" if tail else "")
