"""Starting a supervisor when none answers, and waiting until it does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.client.transport import connect
from accel_tui.model.errors import SupervisorError
from accel_tui.protocol.paths import LOCK_NAME, LOG_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

START_SECONDS = 20.0
"""How long a supervisor may take from its start to its first accepted connection."""


def start_and_wait(state_dir: str, base: str, demo: str | None, environment: Mapping[str, str]) -> None:
    """Start a supervisor by the logout-proof path and return when it accepts connections in `state_dir`.

    `base` is the state folder that the supervisor is told; with `demo`, `state_dir` lies below it.

    Two clients may do this at once: the supervisors settle it between themselves by their lock.

    Raises:
        SupervisorError: it cannot be started, or does not listen in time; the remedy quotes the end of its log.
    """
    from accel_tui.executors.local import start_supervisor

    try:
        start_supervisor(base, demo, dict(environment))
    except OSError as error:
        raise SupervisorError(f"the supervisor cannot be started: {error}", remedy=log_remedy(state_dir)) from None
    end = time.monotonic() + START_SECONDS
    pause = 0.01
    while not listens(state_dir):
        if time.monotonic() > end:
            raise SupervisorError(
                f"the supervisor was started and does not listen after {START_SECONDS:.0f} s",
                remedy=log_remedy(state_dir),
            )
        time.sleep(pause)
        pause = min(pause * 1.3, 0.1)


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
    tail = ""
    with contextlib.suppress(OSError), path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 4096))
        tail = "\n".join(log.read().decode(errors="replace").splitlines()[-8:])
    return f"see {path}" + (f"; it ends with:\n{tail}" if tail else "")
