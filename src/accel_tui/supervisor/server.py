"""The HTTP server: uvicorn on our socket, for the owner's own processes alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from accel_tui.keeper.limits import open_files
from accel_tui.supervisor.listener import peer_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%s"
)
_FULL_WORDS = (
    b'{"schema":1,"error":{"code":"supervisor","message":"the supervisor has as many clients as it may have open files '
    b'for","remedy":"end some of them, or raise the limit (ulimit -n), then: accel-tui supervisor stop"}}'
)

MOST_CONNECTIONS = 500
_SPARE_FILES = 24
"""Open files that must be left for a new run, its keeper and the requests that are being answered."""
_MANY_FILES = 4096
_FEW_CONNECTIONS = 4
_TRIES, _TRY_SECONDS = 40, 0.05


def too_many(connections: int) -> int:
    """How many of so many clients keep the supervisor from its work."""
    if connections <= _FEW_CONNECTIONS:
        return 0
    files = _SPARE_FILES - (open_files() - _open_now()) if open_files() < _MANY_FILES else 0
    return min(connections - _FEW_CONNECTIONS, max(0, files, connections - MOST_CONNECTIONS))


def _open_now() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - for the count alone
    except OSError:  # none is left, not even for this look
        return open_files()


class OwnerProtocol(H11Protocol):
    """A connection; one that does not come from a process of the owner is closed before it is read.

    When there are too many, the one that has been idle for longest makes room (its client connects again by itself),
    else one whose client has stopped to read, else the newcomer is told so.
    """

    used: float

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.used = time.monotonic()
        peer = peer_of(transport.get_extra_info("socket"))
        self.client = (str(peer.uid), peer.pid)
        if peer.uid != os.geteuid():
            transport.write(_REFUSED)
            transport.close()
        else:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        self.used = time.monotonic()
        super().data_received(data)

    @property
    def idle(self) -> bool:
        """Whether nothing is being answered here."""
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self, tries: int = _TRIES) -> None:
        """Close as many as are too many; where all are being answered, look again soon, and give up in the end."""
        if self.transport.is_closing():
            return
        open_ones = [
            one for one in self.connections if isinstance(one, OwnerProtocol) and not one.transport.is_closing()
        ]
        closing = len(self.connections) - len(open_ones)  # their files are given back at the loop's next turn
        excess = too_many(len(self.connections)) - closing
        spare = [one for one in open_ones if one is not self and (one.idle or one.flow.write_paused)]
        spare.sort(key=lambda one: (not one.idle, one.used))
        for one in spare[: max(0, excess)]:
            one.transport.abort()
        if excess <= 0 or spare:
            return
        if tries:
            self.loop.call_later(_TRY_SECONDS, self._make_room, tries - 1)
        elif self.idle:  # it waits for nothing yet
            self.transport.write(_FULL % (len(_FULL_WORDS), _FULL_WORDS))
            self.transport.close()


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: SIGTERM and SIGINT end the supervisor, not the process by force."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=OwnerProtocol,
                ws="none",
                lifespan="off",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                # A screen may be quiet for long; what it costs is one descriptor.
                timeout_keep_alive=24 * 3600,
                timeout_graceful_shutdown=2,
            )
        )
        self.on_signal: Callable[[], None] = self.end
        """What SIGTERM and SIGINT do."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for signo in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signo, self.on_signal)
        yield

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self.server_state.connections)

    def end(self) -> None:
        """Begin to end; open requests get 2 s."""
        self.should_exit = True

    async def listen_also(self, listening: socket.socket) -> None:
        """Serve on another socket, too; connections that there are stay."""
        loop = asyncio.get_running_loop()

        def protocol() -> OwnerProtocol:
            return OwnerProtocol(self.config, self.server_state, self.lifespan.state)

        self.servers.append(await loop.create_server(protocol, sock=listening))

    async def run_on(self, listening: socket.socket) -> None:
        """Serve until `end`."""
        await self.serve(sockets=[listening])
