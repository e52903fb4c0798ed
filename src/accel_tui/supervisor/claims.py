"""Waiting made visible between users: a file beside a card's lock says who waits for it, and since when.

`KEY.UID.wait` lies in the lock folder for as long as a supervisor of that user has a run that waits for the card. Whose
it is tells the file's owner, since when its change time, whether it still holds a lock on it: nothing of that can be
written by hand. What stands inside (`run`, `user`, `since`) is a claim like any other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper import files, locks
from accel_tui.model.times import time_text
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAME = re.compile(r"(.+)\.(\d{1,10})\.wait")
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CLAIM_BYTES = 1024


@dataclass(frozen=True)
class Claim:
    """Somebody else's run waits for a card."""

    user: str
    since: float
    """Seconds since the epoch, by the kernel's word."""
    run: str | None
    """By the claimant's word."""


class Claims:
    """Our own claims, which end with this process, and a look at those of others; every method blocks on files."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, str]] = {}
        """Path of a claim of ours to its descriptor and the run that it is for."""

    def put(self, folder: str, wanted: Mapping[str, str]) -> None:
        """Claim exactly these keys, each for a run; a claim that stays keeps its age, whichever run it is for now.

        A folder that takes no claim takes none: a claim is a courtesy, and nothing depends on it.
        """
        paths = {_path(folder, key): run for key, run in wanted.items()}
        for path in [path for path in self._held if path not in paths]:
            self._drop(path)
        for path, run in paths.items():
            if path not in self._held or not _stands(path, self._held[path][0]):
                with contextlib.suppress(OSError, locks.LockFolderError):
                    self._claim(path, run)

    def clean(self, folder: str) -> None:
        """Delete what a supervisor of ours that was killed left, and that nobody of ours claims now."""
        own = f".{os.geteuid()}.wait"
        try:
            found = [path for path in Path(folder).iterdir() if path.name.endswith(own)]
        except OSError:
            return
        for path in found:
            if str(path) not in self._held and not locks.held(str(path)):
                with contextlib.suppress(OSError):
                    path.unlink()

    def since(self, folder: str, key: str) -> float | None:
        """Since when we claim this card."""
        held = self._held.get(_path(folder, key))
        return None if held is None else os.fstat(held[0]).st_ctime

    def close(self) -> None:
        """Give every claim up."""
        for path in list(self._held):
            self._drop(path)

    def _claim(self, path: str, run: str) -> None:
        earlier = self._held.pop(path, None)
        if earlier is not None:
            os.close(earlier[0])
        folder = locks.open_folder(str(Path(path).parent))
        try:
            descriptor, made = _open(folder, Path(path).name)
        finally:
            os.close(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if made:  # one that a supervisor before us left keeps its age
                os.write(descriptor, files.encode({"run": run, "user": str(os.geteuid())}))
        except OSError:
            os.close(descriptor)
            raise
        self._held[path] = (descriptor, run)

    def _drop(self, path: str) -> None:
        descriptor, _ = self._held.pop(path)
        with contextlib.suppress(OSError):
            if _stands(path, descriptor):
                Path(path).unlink()
        os.close(descriptor)


def of_others(folder: str, keys: Iterable[str]) -> dict[str, tuple[Claim, ...]]:
    """The living claims of other users on these cards, the oldest first."""
    stems = {Path(locks.lock_path(folder, key)).name.removesuffix(".lock"): key for key in keys}
    found: dict[str, list[Claim]] = {}
    try:
        descriptor = locks.open_folder(folder)
    except locks.LockFolderError:
        return {}
    try:
        for name in os.listdir(descriptor):  # noqa: PTH208 - of the very folder that was judged
            match = _NAME.fullmatch(name)
            if match is None or match[1] not in stems or int(match[2]) == os.geteuid():
                continue
            claim = _read(descriptor, name, int(match[2]))
            if claim is not None:
                found.setdefault(stems[match[1]], []).append(claim)
    except OSError:
        return {}
    finally:
        os.close(descriptor)
    return {key: tuple(sorted(claims, key=lambda one: one.since)) for key, claims in found.items()}


def words(claim: Claim) -> str:
    """Who waits, and since when."""
    return f"{claim.user}, who waits for it since {time_text(claim.since)}"


def _path(folder: str, key: str) -> str:
    return f"{locks.lock_path(folder, key).removesuffix('.lock')}.{os.geteuid()}.wait"


def _open(folder: int, name: str) -> tuple[int, bool]:
    """The file, which must be ours, and whether it was made anew.

    Raises:
        OSError: it is not ours or cannot be made.
    """
    try:
        descriptor = os.open(name, os.O_RDWR | _OPEN, dir_fd=folder)
    except FileNotFoundError:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o644, dir_fd=folder), True
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode):
        # Left by a supervisor that was killed: the next one keeps its place.
        return descriptor, False
    os.close(descriptor)
    raise PermissionError(f"{name} is not ours")


def _stands(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _read(folder: int, name: str, uid: int) -> Claim | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_uid != uid or not stat.S_ISREG(status.st_mode) or not _is_held(descriptor):
            return None
        try:
            document = files.decode(os.pread(descriptor, _CLAIM_BYTES, 0))
        except ValueError:
            document = None
        run = document.get("run") if isinstance(document, dict) else None
        said = sanitise(run, limit=80) if isinstance(run, str) else None
        return Claim(sanitise(locks.user_name(uid), limit=80), status.st_ctime, said)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
