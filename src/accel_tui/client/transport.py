"""HTTP over the supervisor's socket, reached through a descriptor of its folder so that long paths work."""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import socket

from accel_tui.protocol.paths import SILENCE_SECONDS, SOCKET_NAME


class SocketConnection(http.client.HTTPConnection):
    """An HTTP connection to the socket in one state folder."""

    def __init__(self, state_dir: str, timeout: float = SILENCE_SECONDS) -> None:
        super().__init__("localhost", timeout=timeout)
        self._state_dir = state_dir

    def connect(self) -> None:
        """Raises OSError: nothing listens, or the folder is not there or not ours."""
        self.sock = connect(self._state_dir, float(self.timeout or SILENCE_SECONDS))

    def is_closed_by_peer(self) -> bool:
        """Whether a kept connection was ended from the other side; between two exchanges nothing else arrives."""
        return self.sock is not None and bool(select.select([self.sock], [], [], 0)[0])


def connect(state_dir: str, timeout: float) -> socket.socket:
    """A connected socket whose every step is limited to `timeout` seconds.

    Raises:
        OSError: nothing listens there, or the folder is a symlink, absent or another's.
    """
    folder = os.open(state_dir, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise PermissionError(f"{state_dir} belongs to another account")
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.ExitStack() as stack:
            stack.callback(link.close)
            link.settimeout(timeout)
            link.connect(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
            stack.pop_all()
        return link
    finally:
        os.close(folder)
