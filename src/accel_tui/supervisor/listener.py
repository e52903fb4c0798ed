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

from accel_tui.model.errors import StateFolderError
from accel_tui.protocol.paths import LOCK_NAME, SOCKET_NAME
from accel_tui.supervisor.audit import Peer

ENDING_SECONDS = 10.0
"""How long a new supervisor waits for one that holds the lock and listens no more, because it is ending."""

_BACKLOG = 1024


class Listener:
    """The lock and the listening socket of a state folder. Made by `listen`, ended by `close`."""

    def __init__(self, folder: int, lock: int, server: socket.socket) -> None:
        self._folder = folder
        self._lock = lock
        self.socket = server
        self._inode = os.stat(SOCKET_NAME, dir_fd=folder, follow_symlinks=False).st_ino

    def close(self) -> None:
        """Take the socket away, if it is still ours, and give up the lock last."""
        with contextlib.suppress(OSError):
            if os.stat(SOCKET_NAME, dir_fd=self._folder, follow_symlinks=False).st_ino == self._inode:
                os.unlink(SOCKET_NAME, dir_fd=self._folder)
        self.socket.close()
        os.close(self._folder)
        os.close(self._lock)


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
            lock = _take_lock(folder)
            if lock is None:
                return None
            stack.callback(os.close, lock)
            listener = Listener(folder, lock, _bind(folder))
        except OSError as error:
            raise StateFolderError(f"no supervisor can listen in {state}: {error}") from None
        stack.pop_all()
        return listener


def _take_lock(folder: int) -> int | None:
    lock = os.open(LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    end = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _somebody_listens(folder) or time.monotonic() > end:
                os.close(lock)
                return None
            time.sleep(0.02)
            continue
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
        if not stat.S_ISSOCK(os.stat(SOCKET_NAME, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(f"{SOCKET_NAME} is in the way and no socket")
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
