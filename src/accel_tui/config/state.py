"""The state folder: where it is, and whether it is ours, closed to others, and able to hold locks."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.config.settings import xdg_folder
from accel_tui.model.devices import Problem
from accel_tui.model.errors import StateFolderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.config.settings import Settings

REMEDY = "set ACCEL_TUI_STATE_DIR to a local folder of your own"


def state_folder(settings: Settings, host: str, environment: Mapping[str, str] | None = None) -> Path:
    """The folder named by the settings, else `$XDG_STATE_HOME/accel-tui/HOST`: homes are shared between hosts."""
    if settings.state_dir:
        return Path(settings.state_dir).absolute()
    base = xdg_folder("XDG_STATE_HOME", ".local/state", os.environ if environment is None else environment)
    return base / "accel-tui" / _file_name(host)


def demo_folder(state: Path, demo: str) -> Path:
    """The state folder of a demonstration: its own supervisor, runs and locks, below the real one."""
    return state / "demo" / demo


def open_state_folder(path: Path, problems: list[Problem] | None = None) -> Path:
    """Make the state folder where it is missing, and make sure that it can be trusted.

    Args:
        problems: Gets an entry when the folder was open to other users and had to be closed.

    Raises:
        StateFolderError: a symbolic link, not a folder, not ours, not writable, or without working locks.
    """
    path = path.absolute()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as fault:
        raise StateFolderError(f"{path}: {_reason(path, fault)}", remedy=REMEDY) from fault
    try:
        closed = _close_to_others(path, folder)
        _prove_lock(path, folder)
    finally:
        os.close(folder)
    if closed and problems is not None:
        problems.append(closed)
    return path


def _file_name(host: str) -> str:
    name = host.replace("/", "_").replace("\x00", "_")
    return "localhost" if name in ("", ".", "..") else name


def _reason(path: Path, fault: OSError) -> str:
    if path.is_symlink():
        return "the state folder is a symbolic link"
    if path.exists() and not path.is_dir():
        return "the state folder is not a folder"
    return f"the state folder cannot be used: {fault.strerror}"


def _close_to_others(path: Path, folder: int) -> Problem | None:
    status = os.fstat(folder)
    if status.st_uid != os.geteuid():
        message = f"{path}: the state folder belongs to user {status.st_uid}, not to you ({os.geteuid()})"
        raise StateFolderError(message, remedy=REMEDY)
    mode = stat.S_IMODE(status.st_mode)
    if mode == 0o700:
        return None
    try:
        os.fchmod(folder, 0o700)
    except OSError as fault:
        message = f"{path}: the state folder has mode {mode:04o} and cannot be closed: {fault.strerror}"
        raise StateFolderError(message, remedy=REMEDY) from fault
    if not mode & 0o077:
        return None
    message = f"{path} was open to other users (mode {mode:04o}); it is closed now"
    return Problem(None, "state-folder-was-open", message, "look whether anything in it was read or changed")


def _prove_lock(path: Path, folder: int) -> None:
    """Write a file and hold two locks against each other: some network file systems only pretend."""
    name = f".probe-{os.getpid()}-{time.monotonic_ns()}"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    opened: list[int] = []
    try:
        opened = [os.open(name, flags, 0o600, dir_fd=folder) for _ in range(2)]
        fcntl.flock(opened[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _lockable(opened[1]):
            raise StateFolderError(f"{path}: file locks have no effect here", remedy=REMEDY)
    except OSError as fault:
        message = f"{path}: the state folder cannot be written or locked: {fault.strerror}"
        raise StateFolderError(message, remedy=REMEDY) from fault
    finally:
        if opened:
            os.unlink(name, dir_fd=folder)
        for descriptor in opened:
            os.close(descriptor)


def _lockable(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
