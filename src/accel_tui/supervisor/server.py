"""The HTTP server: uvicorn on our socket, for the owner's own processes alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from accel_tui.supervisor.listener import peer_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class OwnerProtocol(H11Protocol):
    """A connection; one that does not come from a process of the owner is closed before it is read."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = peer_of(transport.get_extra_info("socket"))
        self.client = (str(peer.uid), peer.pid)
        if peer.uid != os.geteuid():
            transport.write(_REFUSED)
            transport.close()


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
