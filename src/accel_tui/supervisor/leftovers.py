"""What is left over and may go: processes that nobody looks after, and old runs."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from accel_tui.keeper import processes
from accel_tui.model.errors import NotPossibleError
from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_text
from accel_tui.protocol.messages import read_object
from accel_tui.supervisor import strays

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.model.orphans import Orphan
    from accel_tui.supervisor.audit import Peer
    from accel_tui.supervisor.service import Service

_POLL_SECONDS = 0.1


class Leftovers:
    """Asked by people alone: nothing is ended or deleted by itself."""

    def __init__(self, service: Service, run_of: Callable[[int], str | None]) -> None:
        self._service = service
        self._run_of = run_of

    async def find(self) -> tuple[Orphan, ...]:
        """Orphans as they are at this moment, with the holders that the sources told last."""
        service = self._service
        inventory = await service.inventory()
        live = frozenset(service.book.live)
        return await asyncio.to_thread(strays.find, inventory, self._run_of, live, self._is_over)

    def _is_over(self, identifier: str) -> bool:
        run = self._service.book.known(identifier)
        return run is not None and run.state is RunState.FINISHED

    async def end(self, pid: int, start: int | None, *, now: bool, by: Peer) -> Orphan:
        """Ask an orphan of this account to end, with all below it; after the grace time it is killed.

        Returns at once; `find` tells when it is gone.

        Raises:
            NotPossibleError: it is none, another process by now, or another user's.
        """
        orphan = next((one for one in await self.find() if one.pid == pid), None)
        if orphan is None or (start is not None and orphan.start_time != start):
            raise NotPossibleError(
                f"process {pid} is no orphan: {self._why_not(pid, start)}", remedy="`accel-tui orphans` lists them"
            )
        if not orphan.mine:
            raise NotPossibleError(
                f"process {pid} belongs to {orphan.user or 'another user'}", remedy="ask them, or an administrator"
            )
        self._service.audit.write("end-orphan", orphan.run, by, pid=pid, devices=list(orphan.devices), now=now)
        doomed = [(orphan.pid, orphan.start_time), *await asyncio.to_thread(processes.descendants, pid)]
        self._service.spawn(self._end(doomed, now=now), f"ending orphan {pid}")
        return orphan

    def _why_not(self, pid: int, start: int | None) -> str:
        facts = strays.facts(pid)
        if facts is None or (start is not None and facts.start != start):
            return "it is gone"
        run = self._run_of(pid)
        if run in self._service.book.live:
            return f"it belongs to run {run}; `accel-tui stop {run}` ends that"
        return "it holds no device, or somebody looks after it"

    async def _end(self, doomed: list[tuple[int, int]], *, now: bool) -> None:
        if not now:
            for process in doomed:
                processes.signal_exact(*process, signal.SIGTERM)
                processes.signal_exact(*process, signal.SIGCONT)
            end = time.monotonic() + self._service.settings.grace_seconds
            while time.monotonic() < end and any(processes.alive(*process) for process in doomed):
                await asyncio.sleep(_POLL_SECONDS)
        for process in doomed:
            processes.signal_exact(*process, signal.SIGKILL)

    async def prunable(self, older_than: float, keep: int) -> tuple[list[Run], list[tuple[Run, str]]]:
        """Finished runs that ended that long ago, oldest first, and those of them that something still needs.

        The `keep` newest finished runs stay in any case, without being told.
        """
        return await asyncio.to_thread(self._prunable, older_than, keep)

    def _prunable(self, older_than: float, keep: int) -> tuple[list[Run], list[tuple[Run, str]]]:
        book = self._service.book
        needed: dict[str, str] = {}
        for entry in list(book.live.values()):
            words = f"run {entry.run.name} ({entry.id})"
            if entry.state in (RunState.QUEUED, RunState.PREPARING):  # also what came true: it is judged again
                needed.update((str(pair[0]), f"{words} comes after it") for pair in entry.spec["after"])
            if entry.run.retry_of is not None:
                needed[entry.run.retry_of] = f"{words} goes on from it"
        before = time_text(time.time() - older_than)
        past = book.index.documents(since=None, state=None, name=None)
        going: list[Run] = []
        kept: list[tuple[Run, str]] = []
        for number, (_, identifier, text) in enumerate(past):
            run = Run.from_json(read_object(text.encode()))
            if number < keep or (run.ended or run.created) > before or identifier in book.live:
                continue
            if identifier in needed:
                kept.append((run, needed[identifier]))
            else:
                going.append(run)
        return going[::-1], kept
