"""Noticing at once how runs go and end: keepers by pidfd, worker events and stop requests by a short poll."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.kinds import has_worker
from accel_tui.keeper import processes
from accel_tui.model.errors import NotPossibleError, RunNotFoundError
from accel_tui.model.runs import Cause, RunState
from accel_tui.model.times import time_seconds
from accel_tui.store.reading import process_of
from accel_tui.store.silence import BEGIN
from accel_tui.supervisor import cards

if TYPE_CHECKING:
    from accel_tui.model.runs import Run
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
SILENCE_SECONDS = 5.0
"""How often it is looked for how long a run has been silent, and which cards it holds."""
TAG_SECONDS = 1.0
"""How often the processes of a run without a keeper are looked for, once its main process is gone."""


class Watch:
    """Follows every run that lives."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pidfds: dict[str, int] = {}
        self._keepers: dict[str, tuple[int, int]] = {}
        self._sizes: dict[str, int] = {}
        self._deadlines: dict[str, float] = {}
        """When the time limit of a run without a keeper is over."""
        self._silence_due: dict[str, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def keeper(self, identifier: str) -> tuple[int, int] | None:
        """Pid and start time of the run's living keeper."""
        keeper = self._keepers.get(identifier)
        return keeper if keeper is not None and processes.alive(*keeper) else None

    def forget(self, identifier: str) -> None:
        """Nothing is to be watched of this run any more."""
        self._close(identifier)
        self._keepers.pop(identifier, None)
        self._sizes.pop(identifier, None)
        self._deadlines.pop(identifier, None)
        self._silence_due.pop(identifier, None)

    def started(self, entry: Entry, devices: tuple[str, ...], answer: dict[str, Any]) -> None:
        """A keeper has taken the run."""
        run = dataclasses.replace(entry.run, started=answer.get("started_at"), devices=devices)
        if not entry.job["launch"]["retries"]:
            entry.secrets, entry.secret_arguments = {}, ()
        self._service.book.update(entry, run, state=RunState.RUNNING)
        keeper = process_of(answer, "keeper")
        if keeper is not None:
            self._keepers[entry.id] = keeper
        if keeper is None or not self._on_end(entry, keeper):
            self._spawn(self._look(entry))

    async def follow(self, entry: Entry) -> None:
        """Watch a run that a keeper took, for this supervisor or for one before it."""
        self._spawn(self._look(entry))

    def _on_end(self, entry: Entry, who: tuple[int, int]) -> bool:
        """Look at the run when that very process ends; False when it is gone already."""
        pid, start = who
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return False
        if not processes.alive(pid, start):
            os.close(pidfd)
            return False
        loop = asyncio.get_running_loop()

        def ended() -> None:
            self._close(entry.id)
            self._spawn(self._look(entry))

        self._close(entry.id)
        self._pidfds[entry.id] = pidfd
        loop.add_reader(pidfd, ended)
        return True

    def _close(self, identifier: str) -> None:
        pidfd = self._pidfds.pop(identifier, None)
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)

    async def _look(self, entry: Entry) -> None:
        """Watch what is left of a run: its keeper, else its main process, else whatever remains; at its end file it."""
        try:
            while True:
                try:
                    if await self._looked(entry):
                        return
                except OSError as error:  # no descriptor left, or the like: the run goes on, and so do we
                    log.warning("looking at run %s: %s", entry.id, error)
                await asyncio.sleep(TAG_SECONDS)
        except RunNotFoundError:
            self._service.vanished(entry)

    async def _looked(self, entry: Entry) -> bool:
        """One look; False when another is due after a while."""
        service = self._service
        run = await asyncio.to_thread(service.folders.read_run, entry.id)
        if run.state is RunState.FINISHED:
            if run.cause in (Cause.KEEPER_LOST, Cause.REBOOT):
                run = await asyncio.to_thread(self.settle, run, asked=entry.stop_unwritten)
            self.forget(entry.id)
            await service.ended(entry, run)
            return True
        if run.state in (RunState.QUEUED, RunState.PREPARING):  # handed over, and not begun yet
            return entry.state is RunState.QUEUED or await service.starter.back(
                entry, "another start: its keeper did not begin"
            )
        state = await asyncio.to_thread(self._state, entry.id)
        keeper, main = process_of(state, "keeper"), process_of(state, "main")
        if entry.stop_unwritten:
            run = dataclasses.replace(run, state=RunState.STOPPING)
        if run.state is not entry.state or run.notes != entry.run.notes:
            service.book.update(entry, run)
        if keeper is not None:
            self._keepers[entry.id] = keeper
            if self._on_end(entry, keeper):
                return True
        limit = entry.job["launch"].get("time_limit")
        if limit is not None and run.started is not None:
            self._deadlines[entry.id] = time_seconds(run.started) + float(limit)
        return main is not None and self._on_end(entry, main)

    def _state(self, identifier: str) -> dict[str, Any]:
        try:
            return self._service.folders.state(identifier)
        except NotPossibleError:  # damaged under a living keeper: what it said is lost, the run is not
            return {}

    def settle(self, run: Run, *, asked: bool = False) -> Run:
        """Write the record that the keeper could not write; the run with what can be said of its end in any case."""
        folders = self._service.folders
        cause = folders.stop_cause(run.id) or (Cause.STOPPED_BY_USER if asked else None)
        try:
            return folders.settle_lost(run.id) if cause is None else folders.finish(run.id, cause)
        except OSError:  # a full disk: the folder says the same without a record
            return run

    async def poll(self) -> None:
        """Progress of live runs, and stops that others asked for; reads only what has grown."""
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            for entry in self._service.book.occupying():
                if entry.state in (RunState.RUNNING, RunState.STOPPING):
                    with contextlib.suppress(OSError, RunNotFoundError):
                        await self._refresh(entry)

    async def _refresh(self, entry: Entry) -> None:
        folder = Path(entry.run.folder)
        if time.time() > self._deadlines.get(entry.id, float("inf")) and self.keeper(entry.id) is None:
            request = self._service.folders.request_stop
            await asyncio.to_thread(request, entry.id, by="supervisor", cause=Cause.TIME_LIMIT)
            self._deadlines.pop(entry.id, None)
        if entry.state is RunState.RUNNING and (folder / "stop.json").exists():
            self._service.book.update(entry, state=RunState.STOPPING)
        if entry.state is RunState.STOPPING and self.keeper(entry.id) is None:
            await self._service.changes.stop_orphan(entry)  # a stop once asked for completes, whatever died meanwhile
        if entry.state is RunState.RUNNING and time.monotonic() > self._silence_due.get(entry.id, 0.0):
            self._silence_due[entry.id] = time.monotonic() + SILENCE_SECONDS
            await self._remark_silence(entry)
            self._remark_cards(entry)
        try:
            size = (folder / "events" / "rank-0.jsonl").stat().st_size
        except FileNotFoundError:
            return
        if size == self._sizes.get(entry.id):
            return
        self._sizes[entry.id] = size
        progress = await asyncio.to_thread(self._service.folders.progress, entry.id)
        if entry.id in self._service.book.live and progress != entry.run.progress:
            self._service.book.update(entry, progress=progress)

    async def _remark_silence(self, entry: Entry) -> None:
        """Say on the run itself what a long silence may mean, and take it back when it speaks again."""
        said = await asyncio.to_thread(self._service.folders.silence, entry.id, entry.run.kind)
        others = [note for note in entry.run.notes if not note.startswith(BEGIN)]
        notes = (*others, said) if said else tuple(others)
        if entry.state is RunState.RUNNING and notes != entry.run.notes:
            self._service.book.update(entry, notes=notes)

    def _remark_cards(self, entry: Entry) -> None:
        """Say on the run that a card of it broke, or that it holds one which it was not given.

        Of a worker's ranks each proves its own.
        """
        if entry.state is not RunState.RUNNING:
            return
        inventory = self._service.sampler.snapshot()
        said = [cards.broken(entry.run, inventory)]
        if not has_worker(entry.run.kind):
            said.append(cards.remark(entry.run, inventory))
        others = [note for note in entry.run.notes if not note.startswith(cards.BEGINNINGS)]
        notes = (*others, *(note for note in said if note))
        if notes != entry.run.notes:
            self._service.book.update(entry, notes=notes)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._service.report(task.exception(), "watching a run")

    def close(self) -> None:
        for identifier in list(self._pidfds):
            self._close(identifier)
        for task in self._tasks:
            task.cancel()
