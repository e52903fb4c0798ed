"""Noticing at once how runs go and end: keepers by pidfd, worker events and stop requests by a short poll."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.keeper import processes
from accel_tui.model.runs import Cause, RunState

if TYPE_CHECKING:
    from accel_tui.model.runs import Run
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

PROGRESS_SECONDS = 0.5
TAG_SECONDS = 1.0
"""How often the processes of a run without a keeper are looked for, once its main process is gone."""


def _pair(value: object) -> tuple[int, int] | None:
    """Pid and start time as state files hold them."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return value[0], value[1]
    return None


class Watch:
    """Follows every run that lives."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pidfds: dict[str, int] = {}
        self._keepers: dict[str, tuple[int, int]] = {}
        self._sizes: dict[str, int] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def keeper(self, identifier: str) -> tuple[int, int] | None:
        """Pid and start time of the run's living keeper."""
        keeper = self._keepers.get(identifier)
        return keeper if keeper is not None and processes.alive(*keeper) else None

    def started(self, entry: Entry, devices: tuple[str, ...], answer: dict[str, Any]) -> None:
        """A keeper has taken the run."""
        run = dataclasses.replace(entry.run, started=answer.get("started_at"), devices=devices)
        if not entry.job["launch"]["retries"]:
            entry.secrets, entry.secret_arguments = {}, ()
        self._service.book.update(entry, run, state=RunState.RUNNING)
        self._follow(entry, _pair(answer.get("keeper")))

    async def follow(self, entry: Entry) -> None:
        """Watch a run that has been started, by this supervisor or by one before it."""
        state = await asyncio.to_thread(self._service.folders.state, entry.id)
        self._follow(entry, _pair(state.get("keeper")))

    def _follow(self, entry: Entry, keeper: tuple[int, int] | None) -> None:
        if keeper is not None:
            self._keepers[entry.id] = keeper
        if keeper is None or not self._on_end(entry, keeper):
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

        self._pidfds[entry.id] = pidfd
        loop.add_reader(pidfd, ended)
        return True

    def _close(self, identifier: str) -> None:
        pidfd = self._pidfds.pop(identifier, None)
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)

    async def _look(self, entry: Entry) -> None:
        """Whoever was watched has ended: file the run, or watch what is left of it."""
        folders = self._service.folders
        run = await asyncio.to_thread(folders.read_run, entry.id)
        while run.state is not RunState.FINISHED:
            self._service.book.update(entry, run)
            state = await asyncio.to_thread(folders.state, entry.id)
            main = _pair(state.get("main"))
            if main is not None and self._on_end(entry, main):
                return
            await asyncio.sleep(TAG_SECONDS)
            run = await asyncio.to_thread(folders.read_run, entry.id)
        if run.cause in (Cause.KEEPER_LOST, Cause.REBOOT):
            run = await asyncio.to_thread(self.settle, entry.id)
        self._keepers.pop(entry.id, None)
        self._sizes.pop(entry.id, None)
        await self._service.ended(entry, run)

    def settle(self, identifier: str) -> Run:
        """Write the record that the keeper could not write."""
        if self._service.stop_requested(identifier):
            return self._service.folders.finish(identifier, Cause.STOPPED_BY_USER)
        return self._service.folders.settle_lost(identifier)

    async def poll(self) -> None:
        """Progress of live runs, and stops that others asked for; reads only what has grown."""
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            for entry in self._service.book.occupying():
                if entry.state in (RunState.RUNNING, RunState.STOPPING):
                    with contextlib.suppress(OSError):
                        await self._refresh(entry)

    async def _refresh(self, entry: Entry) -> None:
        folder = Path(entry.run.folder)
        if entry.state is RunState.RUNNING and (folder / "stop.json").exists():
            self._service.book.update(entry, state=RunState.STOPPING)
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
