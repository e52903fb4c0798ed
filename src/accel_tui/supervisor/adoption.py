"""Taking over what an earlier supervisor left: live runs go on, queued ones wait on, ended ones are filed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.environment import limits
from accel_tui.model.errors import AccelError, NotPossibleError, RunNotFoundError
from accel_tui.model.runs import Cause, Run, RunState
from accel_tui.store.kept import keep
from accel_tui.supervisor.book import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from accel_tui.supervisor.service import Service

_PORTION = 50


async def adopt(service: Service) -> None:
    """Read every folder that the index does not know as finished.

    What may be alive comes first, and the queue moves after that; the past is read while requests are answered.
    """
    await asyncio.to_thread(service.folders.clean)
    await service.sessions.adopt()
    ids = await asyncio.to_thread(service.folders.ids)
    states = await asyncio.to_thread(service.book.index.states)
    here = set(ids)
    gone = [one for one in states if one not in here]
    if gone:
        await asyncio.to_thread(service.book.index.discard, gone)
    unknown = [one for one in ids if states.get(one) != RunState.FINISHED.value]
    past = set(await asyncio.to_thread(_ended, service, [one for one in unknown if one not in states]))
    for run, entry in await asyncio.to_thread(_read, service, [one for one in unknown if one not in past]):
        if entry is None:
            service.book.index.put([run])
        else:
            service.book.live[run.id] = entry
            if entry.spec.get("automatic") and isinstance(run.retry_of, str):
                service.book.succeeded_by[run.retry_of] = run.id
    for entry in list(service.book.live.values()):
        try:
            await _take(service, entry, was_live=entry.id in states)
        except RunNotFoundError:
            service.vanished(entry)
        except Exception as error:  # one run must not keep the queue from moving
            service.report(error, f"taking over run {entry.id}")
    service.take_places(entry.position for entry in service.book.queued())
    # Newest first: what somebody asks for is found early, however many old folders there are.
    service.book.set_ready(unread=[one for one in unknown[::-1] if one in past])
    service.scheduler.wake()
    for portion in _portions(list(service.book.unread)):
        found = await asyncio.to_thread(_read, service, portion)
        service.book.file_past(portion, [run for run, _ in found])


def _ended(service: Service, ids: Sequence[str]) -> list[str]:
    """Those that have their record: nothing of them can be alive."""
    return [one for one in ids if service.folders.has_record(one)]


async def refill(service: Service) -> None:
    """Put every finished run into an index that lost what it held."""
    ids = [one for one in await asyncio.to_thread(service.folders.ids) if one not in service.book.live]
    for portion in _portions(ids[::-1]):
        runs = [run for run, _ in await asyncio.to_thread(_read, service, portion)]
        await asyncio.to_thread(service.book.index.put, [run for run in runs if run.state is RunState.FINISHED])


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _PORTION):
        yield ids[start : start + _PORTION]


def _read(service: Service, ids: Sequence[str]) -> list[tuple[Run, Entry | None]]:
    """Each run, with an entry where it is not finished, or ended while nobody looked."""
    known = service.book.index.states()
    found: list[tuple[Run, Entry | None]] = []
    for identifier in ids:
        try:
            run = service.folders.read_run(identifier)
            if run.cause in (Cause.KEEPER_LOST, Cause.REBOOT):
                run = service.watch.settle(run)
            if run.state is RunState.FINISHED:
                keep(run)
            ended_unseen = run.state is RunState.FINISHED and identifier in known
            live = run.state is not RunState.FINISHED or ended_unseen
            entry = _entry(service, run) if live and run.cause is not Cause.RECORD_DAMAGED else None
        except (AccelError, OSError):
            # It was removed meanwhile, or its files are damaged in a way that the reading of the run does not need.
            try:
                run, entry = service.folders.read_run(identifier), None
            except AccelError:
                continue
        found.append((run, entry))
    return found


_UNKNOWN: dict[str, Any] = {
    "select": "none", "priority": 0, "after": [], "attempt": 1, "base": {}, "secret_names": [],
    "job": {"launch": {"retries": 0, "resume": "none", "time_limit": None}},
}  # fmt: skip
"""Stands for the files of a run that goes on although they are damaged: it can be watched and stopped all the same."""


def _entry(service: Service, run: Run) -> Entry:
    waits = run.state in (RunState.QUEUED, RunState.PREPARING)

    def document(read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        try:
            return read(run.id)
        except NotPossibleError:
            if waits:
                raise
            return _UNKNOWN

    spec, state = document(service.folders.spec), document(service.folders.state)
    environment = document(service.folders.environment)
    entry = Entry(
        run=run,
        spec=spec,
        position=float(state.get("position") or 0.0),
        priority=int(state.get("priority", spec["priority"])),
        after=tuple((str(pair[0]), str(pair[1])) for pair in spec["after"]),
        limits=limits(environment["base"]),
        secret_names=tuple(environment["secret_names"]),
        held=state.get("held"),
    )
    if waits:
        entry.held = entry.lacks() or entry.held
    return entry


async def _take(service: Service, entry: Entry, *, was_live: bool) -> None:
    """Put one entry to its place."""
    run = entry.run
    if run.state is RunState.FINISHED:
        await service.ended(entry, run)
        return
    if run.state is RunState.PREPARING:
        # The supervisor was killed between taking it from the queue and its keeper's first record.
        service.occupy(entry, run.devices, service.sampler.snapshot())
        if not await service.starter.back(entry, "another start: the first was interrupted", entry.held):
            await service.watch.follow(entry)
    elif run.state is RunState.QUEUED and entry.held is not None:
        with contextlib.suppress(OSError):  # a full disk: the reason stands in memory
            await asyncio.to_thread(service.folders.write_state, run.id, held=entry.held)
    elif run.state is not RunState.QUEUED:
        inventory = service.sampler.snapshot()
        service.occupy(entry, run.devices, inventory)
        await service.watch.follow(entry)
    if not was_live:
        service.book.index.put([entry.run])
    service.book.tell(entry)
