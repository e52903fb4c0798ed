"""Reserving devices between users of one host: one lock file per device, held by `flock`.

The folder is shared and may be hostile: it is judged before use, links are never followed, and what stands inside a
lock file is only a claim of whoever wrote it. Lock files are never unlinked: a lock on an unlinked file guards nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time

from accel_tui.keeper.files import decode, encode
from accel_tui.keeper.processes import alive, start_time

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FOLDERS = ("/run/lock/accel-tui", "/tmp/accel-tui-locks")  # noqa: S108 - shared on purpose; `open_folder` judges it
"""Where locks go when no folder is configured: the first that exists or can be made."""

REFRESH_SECONDS = 600.0
"""How often a holder touches its lock files, so that no cleaner of temporary folders takes them for litter."""

_CLAIM_BYTES = 4096
_TEXT_LENGTH = 200
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # not blocking: a planted FIFO must not hang us


class LockFolderError(Exception):
    """The lock folder, or a file in it, is not safe to use or cannot be used."""


class Holder:
    """Who holds a lock: the process, where the kernel shows it, and what the holder claims in the file."""

    __slots__ = ("claim", "command", "pid", "user")

    def __init__(self, pid: int | None, user: str | None, command: str | None, claim: Mapping[str, str]) -> None:
        self.pid = pid
        """None when the kernel does not show it to us."""
        self.user = user
        self.command = command
        self.claim = dict(claim)
        """`run`, `user`, `since`; foreign text, cut but not sanitised. Nothing vouches for it."""

    def __str__(self) -> str:
        if self.pid is not None:
            owner = f" of {self.user}" if self.user else ""
            return f"process {self.pid}{owner}" + (f" ({self.command})" if self.command else "")
        named = [f"{name} {self.claim[name]}" for name in ("user", "run", "since") if name in self.claim]
        return f"unknown; the lock file claims {', '.join(named)}" if named else "unknown"


class Busy(Exception):  # noqa: N818 - a state of the device, not a fault
    """Another process holds one of the locks."""

    def __init__(self, path: str, holder: Holder | None) -> None:
        super().__init__(f"{path} is held by {holder or 'another process'}")
        self.path = path
        self.holder = holder


def lock_folder(configured: str | None, *, folders: Sequence[str] = FOLDERS) -> str:
    """The folder for lock files, made when it is missing.

    Raises:
        LockFolderError: it is not safe, or none can be made.
    """
    refusals = []
    for folder in (os.path.abspath(configured),) if configured else folders:
        try:
            if configured:
                os.makedirs(os.path.dirname(folder), exist_ok=True)
            _make(folder)
        except OSError as error:
            refusals.append(f"{folder}: {error.strerror}")
            continue
        os.close(open_folder(folder))
        return folder
    raise LockFolderError(f"no folder for device locks can be made ({'; '.join(refusals)})")


def open_folder(folder: str) -> int:
    """A descriptor of the lock folder, for use with names relative to it.

    Accepted is a folder owned by root, or ours, or a sticky one in a sticky folder of root: anywhere else its owner,
    or anyone, could swap the files beneath us.

    Raises:
        LockFolderError: it is a link, missing, or somebody else could swap the files in it.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        link = error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.islink(folder)
        reason = "it is a symbolic link" if link else error.strerror
        raise LockFolderError(f"the lock folder {folder} cannot be used: {reason}") from None
    status = os.fstat(descriptor)
    if status.st_uid in (0, os.geteuid()):
        return descriptor
    parent = os.stat("..", dir_fd=descriptor)
    if status.st_mode & stat.S_ISVTX and parent.st_mode & stat.S_ISVTX and parent.st_uid == 0:
        return descriptor
    os.close(descriptor)
    raise LockFolderError(
        f"the lock folder {folder} cannot be used: it belongs to user {status.st_uid} "
        "and is not a sticky folder inside a sticky folder of root"
    )


def lock_path(folder: str, key: str) -> str:
    """The lock file of the device `key`, such as `pci:0000:17:00.0`."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in ":.-_#") else "_" for letter in key)
    return os.path.join(folder, f"{safe}.lock")


def take(paths: Iterable[str], claim: Mapping[str, str]) -> list[int]:
    """Lock every file, or none; descriptors in the sorted order of the paths.

    A descriptor that a child inherits keeps the lock until both have closed it. `claim` is written into the files for
    others to read: `run`, `user`, `since`.

    Raises:
        Busy: another holds one of them.
        LockFolderError: a file or its folder is not safe, or cannot be opened.
    """
    held: list[int] = []
    try:
        for path in sorted(set(paths)):
            held.append(_take(path))
            _write_claim(held[-1], claim)
    except BaseException:
        for descriptor in held:
            os.close(descriptor)
        raise
    return held


def refresh(paths: Sequence[str], held: list[int], claim: Mapping[str, str]) -> list[str]:
    """Touch the held files and see that each still stands at its path; what was found wrong, in words.

    A file that was removed or replaced is taken anew: `held` is changed in place, the old descriptor stays open in
    whoever inherited it.
    """
    found = []
    for index, path in enumerate(sorted(set(paths))):
        with contextlib.suppress(OSError):  # another user's file that we may only read: its owner's rights decide
            os.utime(held[index])
        try:
            folder = open_folder(os.path.dirname(path))
            try:
                if _stands(held[index], folder, os.path.basename(path)):
                    continue
            finally:
                os.close(folder)
            fresh = _take(path)
        except (Busy, LockFolderError) as error:
            found.append(f"the lock {path} was replaced and cannot be taken again: {error}")
            continue
        _write_claim(fresh, claim)
        os.close(held[index])
        held[index] = fresh
        found.append(f"the lock {path} was removed; taken again")
    return found


def holder(path: str) -> Holder | None:
    """Who holds the lock file at `path`; None when it is free, missing or not to be read.

    Probes with a shared lock, which a taker elsewhere could run into for a moment: not for use in a tight loop.
    """
    try:
        folder = open_folder(os.path.dirname(path))
    except LockFolderError:
        return None
    try:
        descriptor = os.open(os.path.basename(path), os.O_RDONLY | _OPEN, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        pid = _locker(descriptor)
        if pid is None and _lock(descriptor, fcntl.LOCK_SH):
            return None
        return _describe(descriptor, pid)
    finally:
        os.close(descriptor)


def held(path: str) -> bool:
    """Whether somebody holds the plain lock file at `path`: the probe for a keeper's or a supervisor's life."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return False
    try:
        return not _lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            os.fchmod(descriptor, 0o1777)
    finally:
        os.close(descriptor)


def _take(path: str) -> int:
    name = os.path.basename(path)
    folder = open_folder(os.path.dirname(path))
    try:
        for _ in range(10):
            descriptor = _open(folder, name, path)
            if not _lock_patiently(descriptor):
                found = _describe(descriptor, _locker(descriptor))
                os.close(descriptor)
                raise Busy(path, found)
            if _stands(descriptor, folder, name):
                return descriptor
            os.close(descriptor)  # replaced between open and lock
    finally:
        os.close(folder)
    raise LockFolderError(f"the lock {path} keeps being replaced")


def _open(folder: int, name: str, path: str) -> int:
    """Open or make a lock file.

    Without O_CREAT first: with `fs.protected_regular` even an existing file of another user in a sticky folder cannot
    be opened with it. The second open without it is for the moment when another made the file meanwhile.
    """
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
        try:
            descriptor = os.open(name, flags | _OPEN, 0o666, dir_fd=folder)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError as error:
            if error.errno == errno.EACCES and flags == os.O_RDWR:
                continue  # readable perhaps, which is enough to lock it
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise LockFolderError(f"the lock {path} cannot be opened: {reason}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise LockFolderError(f"the lock {path} is not a regular file")
        if flags & os.O_EXCL:
            os.fchmod(descriptor, 0o666)  # whatever the umask says: others must be able to take it later
        return descriptor
    raise LockFolderError(f"the lock {path} cannot be opened: permission denied, or it keeps vanishing")


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_patiently(descriptor: int) -> bool:
    """Try a few times within some milliseconds: somebody may only be probing."""
    for pause in (0.001, 0.002, 0.004, 0.0):
        if _lock(descriptor, fcntl.LOCK_EX):
            return True
        time.sleep(pause)
    return False


def _stands(descriptor: int, folder: int, name: str) -> bool:
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def _write_claim(descriptor: int, claim: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):  # a claim is a courtesy; the lock holds without it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, encode(dict(claim))[:_CLAIM_BYTES], 0)


def _read_claim(descriptor: int) -> dict[str, str]:
    try:
        document = decode(os.pread(descriptor, _CLAIM_BYTES, 0))
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    wanted = ((name, document.get(name)) for name in ("run", "user", "since"))
    claim = {name: value[:_TEXT_LENGTH] for name, value in wanted if isinstance(value, str)}
    user = claim.get("user", "")
    if (
        user.isascii() and user.isdigit() and len(user) < 10
    ):  # we write the number: naming it can take a directory service
        claim["user"] = user_name(int(user))
    return claim


def _locker(descriptor: int) -> int | None:
    """The process that the kernel names as the lock's holder; None where it is hidden or gone."""
    status = os.fstat(descriptor)
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open("/proc/locks", "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        # "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF"; a waiter has "->" in second place
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == wanted and int(fields[4]) > 0:
            return int(fields[4])
    return None


def _describe(descriptor: int, pid: int | None) -> Holder:
    user = command = None
    start = None if pid is None else start_time(pid)
    if pid is None or start is None or not alive(pid, start):
        pid = None  # ended since; an heir of the descriptor holds the lock
    else:
        try:
            user = user_name(os.stat(f"/proc/{pid}").st_uid)
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read(_CLAIM_BYTES).rstrip(b"\0").replace(b"\0", b" ")
            command = words.decode("utf-8", "replace")[:_TEXT_LENGTH] or None
        except OSError:
            pid = user = None
    return Holder(pid, user, command, _read_claim(descriptor))


def user_name(uid: int) -> str:
    """The account's name; its number where it has none, as in many containers."""
    import pwd  # loads the host's name service: only where a name is shown

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
