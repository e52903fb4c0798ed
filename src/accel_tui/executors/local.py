"""Keepers on this host: forked by a nursery, told their run over a socket, and then on their own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import time
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
from accel_tui.executors.links import KeeperError, Link, NoKeeperError, start_process
from accel_tui.executors.nursery import Nursery
from accel_tui.keeper.processes import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["KeeperError", "Keepers", "NoKeeperError", "start_supervisor", "supervisor_argv"]

ANSWER_SECONDS = 60.0
"""How long a keeper may take from its instruction to the exec; slow file systems count in."""

_NURSERY_PAUSE = 60.0
"""How long no nursery is started after one could not be."""


class Keepers:
    """Starts keepers: by a nursery, which is started ahead of need, and by a new interpreter where that fails.

    Keepers are orphans in sessions of their own: nothing that happens to this process or the nursery reaches them.
    """

    def __init__(
        self,
        *,
        nursery: bool = True,
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
        self._python, self._source = python, source
        self._ready_seconds = ready_seconds
        self._prefix_seconds = prefix_seconds
        self._answer_seconds = answer_seconds
        self._nursery: Nursery | None = None
        self._opening: asyncio.Task[Nursery] | None = None
        self._no_nursery_until = 0.0 if nursery else float("inf")
        self._spare: asyncio.Task[tuple[Link, int]] | None = None
        """A keeper that waits for the next run, or is being forked."""
        self.remark: str | None = None
        """Why the user manager or the nursery is not used any more, once a start through it failed."""

    @property
    def logout_proof(self) -> bool:
        """Whether keepers are started below a user manager that outlives the login."""
        return bool(self._prefix)

    @property
    def nursery(self) -> Nursery | None:
        """The nursery in use."""
        return self._nursery if self._nursery is not None and self._nursery.usable else None

    def prepare(self) -> None:
        """Begin to start the nursery, when there is none; a failure shows at the next start."""
        if self.nursery is None and self._opening is None and time.monotonic() >= self._no_nursery_until:
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(self._opened)

    async def start(self, instruction: Mapping[str, Any]) -> dict[str, Any]:
        """Give a run to a keeper; its answer, as docs/architecture.md describes both.

        Raises:
            NoKeeperError: no keeper could be started.
            KeeperError: it fell silent, and the folder tells.
        """
        keeper, pid = await self._take_spare() or await self._keeper()
        try:
            keeper.send({"revive_environment": self._revive_environment, **instruction})
            answer = await keeper.answer(self._answer_seconds)
        except (asyncio.TimeoutError, ValueError) as error:
            reason = "did not answer in time" if isinstance(error, asyncio.TimeoutError) else "answered nonsense"
            raise KeeperError(f"keeper {pid} {reason}") from None
        finally:
            keeper.close()
            self.keep_spare()
        if answer is None:
            raise KeeperError(f"keeper {pid} ended without an answer")
        return answer

    def keep_spare(self) -> None:
        """Have a keeper ready before it is needed, where there is a nursery to fork it."""
        nursery = self.nursery
        if self._spare is None and nursery is not None:
            self._spare = asyncio.get_running_loop().create_task(nursery.keeper())
            self._spare.add_done_callback(functools.partial(self._spared, nursery))

    def _spared(self, nursery: Nursery, task: asyncio.Task[tuple[Link, int]]) -> None:
        """A nursery that forks no spare keeper forks none that is needed either."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, KeeperError):
            self._give_up(nursery, error)

    def _give_up(self, nursery: Nursery, error: KeeperError) -> None:
        self.remark = error.message
        nursery.close(force=True)

    async def _take_spare(self) -> tuple[Link, int] | None:
        """The spare keeper, unless there is none, or it ended meanwhile."""
        spare, self._spare = self._spare, None
        if spare is None or self.nursery is None:
            return None
        try:
            keeper, pid = await spare
        except KeeperError:  # the usual way finds out why
            return None
        if keeper.ended:
            keeper.close()
            return None
        return keeper, pid

    async def close(self) -> None:
        """Let the nursery end; keepers with a run go on."""
        self._no_nursery_until = float("inf")
        if self._spare is not None:
            self._spare.cancel()
            with contextlib.suppress(asyncio.CancelledError, KeeperError):
                keeper, _ = await self._spare
                keeper.close()
            self._spare = None
        if self._opening is not None:
            self._opening.cancel()
            with contextlib.suppress(asyncio.CancelledError, KeeperError):
                await self._opening
        if self._nursery is not None:
            self._nursery.close()
        await asyncio.sleep(0)  # lets the sockets close

    async def _keeper(self) -> tuple[Link, int]:
        """A keeper that waits for its instruction: its link, and its pid."""
        self.prepare()
        nursery = None
        try:
            if self._opening is not None:
                await asyncio.shield(self._opening)
            nursery = self.nursery
            if nursery is not None:
                return await nursery.keeper()
        except KeeperError as error:
            self.remark = error.message
            if nursery is not None:
                self._give_up(nursery, error)
        return await self._start("accel_tui.keeper.main")

    async def _open(self) -> Nursery:
        return Nursery(*await self._start("accel_tui.keeper.nursery"))

    def _opened(self, task: asyncio.Task[Nursery]) -> None:
        self._opening = None
        if task.cancelled():
            return
        if task.exception() is not None:
            self._no_nursery_until = max(self._no_nursery_until, time.monotonic() + _NURSERY_PAUSE)
        else:
            self._nursery = task.result()
            self.keep_spare()

    async def _start(self, module: str) -> tuple[Link, int]:
        argv = interpreter_argv(module, python=self._python, source=self._source)
        if self._prefix:
            try:
                return await start_process([*self._prefix, *argv], self._starter_environment, self._prefix_seconds)
            except KeeperError as error:
                self.remark = f"{self._prefix[0]} cannot be used: {error.message}"
                self._prefix = ()
        return await start_process(argv, self._starter_environment, self._ready_seconds)
