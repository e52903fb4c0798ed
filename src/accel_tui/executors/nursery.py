"""The nursery from our side: asked for keepers, each of which comes as a link of its own."""

from __future__ import annotations

import asyncio
import signal
import socket

from accel_tui.executors.links import Link, NoKeeperError, open_link
from accel_tui.keeper import processes

FORK_SECONDS = 5.0
"""How long a fork may take; a new interpreter is started instead of waiting longer."""


class Nursery:
    """A process that forks keepers. It ends when this is closed, or when we die."""

    def __init__(self, control: Link, pid: int) -> None:
        self.pid = pid
        self.start_time = processes.start_time(pid)
        self._control = control
        self._closed = False

    @property
    def usable(self) -> bool:
        """False once it ended, as when somebody killed it."""
        return not (self._closed or self._control.ended)

    async def keeper(self, seconds: float = FORK_SECONDS) -> tuple[Link, int]:
        """A keeper that waits for its instruction: its link, and its pid.

        Raises:
            NoKeeperError: none came. It was told nothing, so none is left that could still begin.
        """
        try:
            link, theirs = await open_link()
        except OSError as error:
            raise NoKeeperError(f"no keeper can be forked: {error.strerror}") from None
        try:
            with theirs:
                socket.send_fds(self._control.socket, [b"k"], [theirs.fileno()])
            return link, await link.ready(seconds)
        except BaseException as error:
            link.close()
            if isinstance(error, asyncio.TimeoutError):
                raise NoKeeperError(f"nursery {self.pid} forked no keeper within {seconds:g} s") from None
            if isinstance(error, (OSError, ValueError)):
                raise NoKeeperError(f"nursery {self.pid} forked no keeper: {error}") from None
            raise

    def close(self, *, force: bool = False) -> None:
        """Let it end; `force` for one that does not answer."""
        self._closed = True
        self._control.close()
        if force and self.start_time is not None:
            processes.signal_exact(self.pid, self.start_time, signal.SIGKILL)
