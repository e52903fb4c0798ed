"""Talking to a process of ours over a socket: lines of JSON, and the starting of that process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
from typing import TYPE_CHECKING

from accel_tui.model.errors import AccelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class KeeperError(AccelError):
    """A keeper did not say what became of the run: look into the run folder."""

    code = "keeper"


class NoKeeperError(KeeperError):
    """No keeper could be started: the run folder is as it was, and the run may be tried again."""


class Link(asyncio.Protocol):
    """Our end of a socket pair; the other end is the standard input and output of a process that answers by lines."""

    def __init__(self, ours: socket.socket) -> None:
        self.socket = ours
        self._received = bytearray()
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def ended(self) -> bool:
        """Whether nobody is at the other end any more."""
        return self._ended

    def send(self, document: Mapping[str, Any]) -> None:
        """Send a line; what the socket does not take at once follows by itself."""
        if self._transport is not None and not self._ended:
            self._transport.write(json.dumps(document).encode() + b"\n")

    async def answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line; None when the other end is closed before it.

        Raises:
            TimeoutError: it did not come in time.
            ValueError: it is no JSON object.
        """
        while b"\n" not in self._received:
            if self._ended:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(self._waiter, seconds)
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received[:] = rest
        document = json.loads(line)
        if not isinstance(document, dict):
            raise ValueError("no object")  # noqa: TRY004 - about content, not a caller's type
        return document

    async def ready(self, seconds: float) -> int:
        """The pid of the process at the other end, once it reports that it is ready. Raises as `answer`."""
        report = await self.answer(seconds)
        pid = None if report is None else report.get("pid")
        if not isinstance(pid, int):
            raise ValueError("it ended" if report is None else "it reported nonsense")  # noqa: TRY004 - as above
        return pid

    def close(self) -> None:
        """Close our end: who waits there for more ends, who runs does not care."""
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._wake()

    def connection_lost(self, _: Exception | None) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def open_link() -> tuple[Link, socket.socket]:
    """A link, and the other end, which the caller gives away and closes.

    Raises:
        OSError: no descriptor is left.
    """
    ours, theirs = socket.socketpair()
    try:
        ours.setblocking(False)
        _, link = await asyncio.get_running_loop().create_unix_connection(lambda: Link(ours), sock=ours)
    except BaseException:
        ours.close()
        theirs.close()
        raise
    return link, theirs


async def start_process(argv: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[Link, int]:
    """Start what reports `{"ready": true, "pid": …}` and leaves our process tree; the link to it, and its pid.

    Raises:
        NoKeeperError: it cannot be started, or does not report in time.
    """
    process = None
    try:
        link, theirs = await open_link()
    except OSError as error:
        raise NoKeeperError(f"{argv[0]} cannot be started: {error.strerror}") from None
    try:
        with theirs:
            process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), env=dict(environment), start_new_session=True
            )
        pid = await link.ready(seconds)
        await _leave(process)
    except BaseException as error:
        link.close()
        if process is not None:
            process.kill()
            process.wait()
        if isinstance(error, asyncio.TimeoutError):
            raise NoKeeperError(f"{argv[0]} started no keeper within {seconds:g} s") from None
        if isinstance(error, (OSError, ValueError)):
            raise NoKeeperError(f"{argv[0]} started no keeper: {error}") from None
        raise
    return link, pid


async def _leave(process: subprocess.Popen[bytes]) -> None:
    """Reap what we started, once the process that reported has left it: it ends at once, or is of no more use."""
    for _ in range(200):
        if process.poll() is not None:
            return
        await asyncio.sleep(0.005)
    process.kill()  # a client of the manager that waits for the end
    with contextlib.suppress(ChildProcessError):
        process.wait()
