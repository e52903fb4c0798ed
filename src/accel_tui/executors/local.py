"""Keepers on this host: started ahead of need, told their run over a pipe, and then on their own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from accel_tui.executors.detached import (
    PREFIX_SECONDS,
    READY_SECONDS,
    SOURCE,
    interpreter_argv,
    manager_prefix,
    own_environment,
    start_supervisor,
    starter_environment,
    supervisor_argv,
)
from accel_tui.keeper.processes import OWN
from accel_tui.model.errors import AccelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["KeeperError", "KeeperPool", "start_supervisor", "supervisor_argv"]

ANSWER_SECONDS = 60.0
"""How long a keeper may take from its instruction to the exec; slow file systems count in."""

_PIPE_BYTES = 60_000  # what a pipe surely takes at once


class KeeperError(AccelError):
    """No keeper could be started, or it did not say what became of the run: look into the run folder."""

    code = "keeper"


class _Keeper:
    """A keeper that reported ready and waits for its instruction."""

    def __init__(self, pid: int, orders: int, answers: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        self.pid = pid
        self._orders = orders
        self._answers = answers
        self._transport = transport

    @property
    def usable(self) -> bool:
        """False once it ended, as when somebody killed it."""
        return not self._answers.at_eof()

    async def tell(self, line: bytes, seconds: float) -> bytes:
        """Give it its instruction; its answer, empty when it died instead."""
        if len(line) > _PIPE_BYTES:
            await asyncio.wait_for(
                asyncio.get_running_loop().run_in_executor(None, _write, self._orders, line), seconds
            )
        else:
            _write(self._orders, line)
        return await asyncio.wait_for(self._answers.readline(), seconds)

    def let_go(self) -> None:
        """Close our ends of the pipes: one that waits ends, one that runs does not care."""
        self._transport.close()
        os.close(self._orders)


class KeeperPool:
    """Starts keepers, and has some ready so that the next start costs no interpreter start.

    Keepers are orphans in sessions of their own: nothing that happens to this process reaches them.
    """

    def __init__(
        self,
        *,
        spares: int = 1,
        prefix: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
        source: str = SOURCE,
        ready_seconds: float = READY_SECONDS,
        prefix_seconds: float = PREFIX_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """`prefix` stands in front of each argument list; None finds out whether a user manager can be used."""
        inherited = os.environ if environment is None else environment
        self._revive_environment = {**own_environment(inherited), OWN: "supervisor"}
        self._starter_environment = starter_environment(inherited)
        self._prefix = tuple(manager_prefix(inherited) if prefix is None else prefix)
        self._argv = interpreter_argv("accel_tui.keeper.main", python=python, source=source)
        self._ready_seconds = ready_seconds
        self._prefix_seconds = prefix_seconds
        self._answer_seconds = answer_seconds
        self._wanted = spares
        self._spares: list[_Keeper] = []
        self._filling: asyncio.Task[None] | None = None
        self._closed = False
        self.remark: str | None = None
        """Why the user manager is not used any more, once a start through it failed."""

    @property
    def logout_proof(self) -> bool:
        """Whether keepers are started below a user manager that outlives the login."""
        return bool(self._prefix)

    async def warm(self) -> None:
        """Start the spare keepers now and wait until they are ready.

        Raises:
            KeeperError: none can be started.
        """
        await self._fill()

    async def start(self, instruction: Mapping[str, Any]) -> dict[str, Any]:
        """Give a run to a keeper; its answer, as docs/architecture.md describes both.

        Raises:
            KeeperError: no keeper could be started (the folder is untouched), or it fell silent, and the folder tells.
        """
        line = json.dumps({"revive_environment": self._revive_environment, **instruction}).encode() + b"\n"
        keeper = await self._take()
        try:
            answer = await keeper.tell(line, self._answer_seconds)
            if not answer.endswith(b"\n"):
                raise KeeperError(f"keeper {keeper.pid} ended without an answer")
            document: dict[str, Any] = json.loads(answer)
        except (asyncio.TimeoutError, OSError) as error:
            reason = "did not answer in time" if isinstance(error, asyncio.TimeoutError) else "ended early"
            raise KeeperError(f"keeper {keeper.pid} {reason}") from None
        finally:
            keeper.let_go()
            self.refill()
        return document

    async def close(self) -> None:
        """Let the spare keepers end; those with a run go on."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            with contextlib.suppress(asyncio.CancelledError, KeeperError):
                await self._filling
        while self._spares:
            self._spares.pop().let_go()

    async def _take(self) -> _Keeper:
        while self._spares:
            keeper = self._spares.pop(0)
            if keeper.usable:
                return keeper
            keeper.let_go()
        return await self._spawn()

    def refill(self) -> None:
        """Begin to start the spare keepers that are missing; a failure shows at the next start."""
        if not self._closed and (self._filling is None or self._filling.done()):
            self._filling = asyncio.get_running_loop().create_task(self._fill_quietly())

    async def _fill_quietly(self) -> None:
        with contextlib.suppress(KeeperError):  # the next start tries again, and says so
            await self._fill()

    async def _fill(self) -> None:
        while len(self._spares) < self._wanted:
            self._spares.append(await self._spawn())

    async def _spawn(self) -> _Keeper:
        if self._prefix:
            try:
                return await self._spawn_as((*self._prefix, *self._argv), self._prefix_seconds)
            except KeeperError as error:
                self.remark = f"{self._prefix[0]} cannot be used: {error}"
                self._prefix = ()
        try:
            return await self._spawn_as(tuple(self._argv), self._ready_seconds)
        except OSError as error:  # no descriptor left, or the like
            raise KeeperError(f"no keeper can be started: {error.strerror}") from None

    async def _spawn_as(self, argv: Sequence[str], seconds: float) -> _Keeper:
        """Start one keeper and wait until it is ready."""
        loop = asyncio.get_running_loop()
        orders_reader, orders = os.pipe()
        answers, answers_writer = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb", buffering=0)
        )
        process = None
        try:
            try:
                process = subprocess.Popen(
                    argv,
                    stdin=orders_reader,
                    stdout=answers_writer,
                    env=self._starter_environment,
                    start_new_session=True,
                )
            finally:
                os.close(orders_reader)
                os.close(answers_writer)
            line = await asyncio.wait_for(reader.readline(), seconds)
            keeper = _Keeper(int(json.loads(line)["pid"]), orders, reader, transport)
            await _leave(process)
            return keeper
        except BaseException as error:
            transport.close()
            os.close(orders)  # a keeper that was told nothing finds its input at the end, and ends
            if process is not None:
                process.kill()
                process.wait()
            if isinstance(error, asyncio.TimeoutError):
                raise KeeperError(f"{argv[0]} started no keeper within {seconds:g} s") from None
            if isinstance(error, (OSError, ValueError, KeyError, TypeError)):
                raise KeeperError(f"{argv[0]} started no keeper: {error}") from None
            raise


async def _leave(process: subprocess.Popen[bytes]) -> None:
    """Reap what we started, once the keeper has left it: it ends at once, or is of no more use."""
    for _ in range(200):
        if process.poll() is not None:
            return
        await asyncio.sleep(0.005)
    process.kill()  # a client of the manager that waits for the keeper's end
    process.wait()


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
