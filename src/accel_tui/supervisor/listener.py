"""One supervisor per state folder: its lock, and its socket that is reached through the folder's descriptor."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
import time
from pathlib import Path

from accel_tui.keeper import locks
from accel_tui.model.errors import StateFolderError
from accel_tui.protocol.paths import LOCK_NAME, SOCKET_NAME
from accel_tui.supervisor.audit import Peer

ENDING_SECONDS = 10.0
"""How long a new supervisor waits for one that holds the lock and listens no more, because it is ending."""

REMEDY = "look what lies there, or set ACCEL_TUI_STATE_DIR to another folder"

_BACKLOG = 1024


class Listener:
    """The lock and the listening socket of a state folder. Made by `listen`, ended by `close`."""

    def __init__(self, state: Path, folder: int, lock: int, server: socket.socket) -> None:
        self._state = state
        self._folder = folder
        self._lock = lock
        self._older: list[socket.socket] = []
        self.socket = server
        self._inode = self._listed()

    def has_lock(self) -> bool:
        """Whether the lock is still the one that others would find; removed, it keeps nobody from serving."""
        try:
            there = (self._state / LOCK_NAME).lstat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._lock))

    def is_found(self) -> bool:
        """Whether the socket still stands at its name."""
        return self._listed() == self._inode

    def bind_anew(self) -> socket.socket:
        """A new socket in place of one that was taken away. Only with the lock.

        Raises:
            OSError: it cannot be made.
        """
        fresh = _bind(self._folder)
        self._older.append(self.socket)
        self.socket = fresh
        self._inode = self._listed()
        return fresh

    def close(self) -> None:
        """Take the socket away, if it is still ours, and give up the lock last."""
        with contextlib.suppress(OSError):
            if self.is_found():
                os.unlink(SOCKET_NAME, dir_fd=self._folder)
        for one in (*self._older, self.socket):
            one.close()
        os.close(self._folder)
        os.close(self._lock)

    def _listed(self) -> int | None:
        try:
            return os.stat(SOCKET_NAME, dir_fd=self._folder, follow_symlinks=False).st_ino
        except OSError:
            return None


def listen(state: Path) -> Listener | None:
    """Take the lock and listen; None when another supervisor serves this folder.

    Raises:
        StateFolderError: lock or socket cannot be made there.
    """
    try:
        folder = os.open(state, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StateFolderError(f"{state} cannot be opened: {error.strerror}") from None
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, folder)
        try:
            lock = _take_lock(state, folder)
            if lock is None:
                return None
            stack.callback(os.close, lock)
            listener = Listener(state, folder, lock, _bind(folder))
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}" if error.filename else error
            raise StateFolderError(f"no supervisor can listen in {state}: {reason}", remedy=REMEDY) from None
        stack.pop_all()
        return listener


def _take_lock(state: Path, folder: int) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(LOCK_NAME, flags, 0o600, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(lock).st_mode):
        os.close(lock)
        raise OSError(f"{LOCK_NAME} is in the way and no regular file")
    end = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            listens = _somebody_listens(folder)
            if listens or time.monotonic() > end:
                os.close(lock)
                if listens:
                    return None
                holder = locks.holder(str(state / LOCK_NAME)) or "somebody"
                raise OSError(f"its lock is held by {holder}, who does not listen") from None
            time.sleep(0.02)
            continue
        with contextlib.suppress(OSError):  # for people alone; a full disk must not keep us from serving
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        return lock


def _somebody_listens(folder: int) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # a full queue of connections: it is there, if slow
            return True
    return True


def _bind(folder: int) -> socket.socket:
    """Only called with the lock: what lies there now was left behind."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(SOCKET_NAME, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(f"{SOCKET_NAME} is in the way: it is a folder")
        os.unlink(SOCKET_NAME, dir_fd=folder)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        server.bind(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
    finally:
        os.umask(before)
    server.listen(_BACKLOG)
    server.setblocking(False)
    return server


def peer_of(connection: socket.socket) -> Peer:
    """Who is at the other end, as the kernel says."""
    pid, uid, _ = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    )
    return Peer(uid, pid)
