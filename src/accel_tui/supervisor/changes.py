"""What people may change about a run: stop, hold, release, move, remove."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from accel_tui.keeper import processes
from accel_tui.model.errors import NotPossibleError, RunNotFoundError, StateFolderError
from accel_tui.model.runs import Cause, Run, RunState
from accel_tui.supervisor import orphans
from accel_tui.supervisor.book import Entry
from accel_tui.supervisor.replies import FREE_SPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.supervisor.audit import Peer
    from accel_tui.supervisor.service import Service

Outcome = tuple[Run, "str | None"]
"""The run as it is now, and a note where nothing was to be done."""


class Changes:
    """Each method finds the run (RunNotFoundError), changes it, and leaves a line in the audit."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._orphans: dict[str, tuple[bool, asyncio.Task[None]]] = {}
        """Runs without a keeper that are being ended, whether at once, and by which task."""

    async def stop(self, ref: str, *, now: bool, by: Peer) -> Outcome:
        """Record that the run is to end, and wake its keeper; returns when that is on the disk."""
        service = self._service
        entry = service.book.get(ref)
        if isinstance(entry, Run):
            return entry, f"run {entry.id} is finished already"
        service.audit.write("stop", entry.id, by, now=now)
        if entry.state is RunState.QUEUED:
            service.book.update(entry, state=RunState.PREPARING)
            await service.file(entry, Cause.STOPPED_BY_USER, None)
            if entry.id not in service.book.live:
                return service.book.run(entry.id), None
            if entry.held is not None:
                raise StateFolderError(f"run {entry.id} is not stopped: {entry.held}", remedy=FREE_SPACE)
        note = None
        keeper = service.watch.keeper(entry.id)
        try:
            await asyncio.to_thread(service.folders.request_stop, entry.id, now, by.to_text())
        except (OSError, RunNotFoundError) as error:
            if entry.state not in (RunState.RUNNING, RunState.STOPPING):
                raise
            entry.stop_unwritten = True
            note = f"the request could not be written ({error}); its processes were told directly"
        if entry.state is RunState.RUNNING:
            service.book.update(entry, state=RunState.STOPPING)
        if entry.state is RunState.STOPPING and keeper is None:
            await self.stop_orphan(entry, now=now)
        elif keeper is not None:
            by_signal = signal.SIGUSR2 if now else signal.SIGTERM
            processes.signal_exact(*keeper, by_signal if entry.stop_unwritten else signal.SIGUSR1)
            processes.signal_exact(*keeper, signal.SIGCONT)  # one that is halted would hear nothing
        return entry.picture(), note

    async def stop_orphan(self, entry: Entry, *, now: bool | None = None) -> None:
        """End a run whose keeper is gone, unless that is under way; None asks what is written down."""
        if await asyncio.to_thread(self._service.folders.has_keeper, entry.id):
            return  # it is only not known which process it is; it looks for the request by itself
        if now is None:
            now = self._service.folders.stop_is_urgent(entry.id)
        earlier = self._orphans.get(entry.id)
        if earlier is not None and (earlier[0] or not now) and not earlier[1].done():
            return
        work = orphans.stop(entry, self._service.settings, now=now)
        task = asyncio.get_running_loop().create_task(work)
        self._orphans[entry.id] = (now, task)
        task.add_done_callback(lambda _: self._orphans.pop(entry.id, None))

    async def hold(self, ref: str, reason: str, *, by: Peer) -> Outcome:
        """Keep a queued run from starting."""
        entry = self._queued(ref, "held")
        if entry.held is not None:
            return entry.picture(), f"run {entry.id} is held already: {entry.held}"
        await self._hold(entry, reason)
        self._service.audit.write("hold", entry.id, by, reason=reason)
        return entry.picture(), None

    async def _hold(self, entry: Entry, reason: str | None) -> None:
        await asyncio.to_thread(self._service.folders.write_state, entry.id, held=reason)
        entry.held = reason
        self._service.book.tell(entry)
        self._service.scheduler.wake()

    async def release(self, ref: str, secrets: Mapping[str, str], *, by: Peer) -> Outcome:
        """Let a held run go; supplies secrets that died with an earlier supervisor, and answers an open question."""
        entry = self._queued(ref, "released")
        entry.secrets.update({name: secrets[name] for name in entry.secret_names if name in secrets})
        lacking = entry.lacks()
        if lacking is not None:
            await self._hold(entry, lacking)
            raise NotPossibleError(f"run {entry.id} {lacking}", remedy="release it from a shell in which they are set")
        if entry.held is None:
            return entry.picture(), f"run {entry.id} is not held"
        entry.answered = True
        self._service.audit.write("release", entry.id, by, secrets=sorted(secrets))
        await self._hold(entry, None)
        return entry.picture(), None

    async def move(self, ref: str, before: str | None, *, by: Peer) -> Outcome:
        """Put a queued run first, or right before another queued run; it takes over that one's priority."""
        service = self._service
        entry = self._queued(ref, "moved")
        places = [one for one in service.scheduler.line() if one is not entry]
        if before is not None:
            target = self._queued(before, "moved before")
            if target is entry:
                return entry.picture(), "a run cannot stand before itself"
            index = places.index(target)
        elif places:
            target, index = places[0], 0
        else:
            return entry.picture(), "it is the only one in the queue"
        same = [one for one in places[:index] if one.priority == target.priority]
        position = (same[-1].position + target.position) / 2 if same else target.position - 1.0
        priority = target.priority
        await asyncio.to_thread(service.folders.write_state, entry.id, position=position, priority=priority)
        entry.position, entry.priority, entry.wants = position, priority, None
        service.audit.write("move", entry.id, by, before=None if before is None else target.id)
        service.book.tell(entry)
        service.scheduler.wake()
        return entry.picture(), None

    async def remove(self, ref: str, *, by: Peer) -> Outcome:
        """Delete a finished run with its folder."""
        run = self._service.book.run(ref)
        if run.state is not RunState.FINISHED:
            raise NotPossibleError(
                f"run {run.id} is {run.state.value}", remedy=f"stop it first: accel-tui stop {run.id}"
            )
        await asyncio.to_thread(self._service.folders.remove, run.id)
        self._service.audit.write("remove", run.id, by)
        self._service.book.forget(run.id)
        return run, None

    def _queued(self, ref: str, what: str) -> Entry:
        found = self._service.book.get(ref)
        if isinstance(found, Run) or found.state is not RunState.QUEUED:
            run = found if isinstance(found, Run) else found.run
            raise NotPossibleError(f"run {run.id} is {run.state.value}; only a queued run can be {what}")
        return found
