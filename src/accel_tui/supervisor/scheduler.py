"""Runs the queue whenever something changed: dependencies, decisions, reasons, starts."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from accel_tui.jobs import space
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.supervisor import retries, wants
from accel_tui.supervisor.queue import Limits, Occupying, decide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.devices import Inventory
    from accel_tui.model.runs import Run
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

POLL_SECONDS = 1.0
"""How often foreign locks are looked at while a run waits for a card."""


class Scheduler:
    """Decides in the event loop; a burst of changes costs one pass."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limits = Limits(service.settings.max_running, service.settings.cpu_slots)
        self._due = False
        self._short: dict[str, str] = {}
        """Check to words, while the disks have too little room to start anything."""
        self._inventory: Inventory | None = None
        self.paused = False
        """Set when the supervisor is ending: nothing starts any more."""

    def wake(self) -> None:
        """Something changed: go through the queue soon."""
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._pass)

    def line(self) -> list[Entry]:
        """Queued runs in the order of the queue."""
        return sorted(self._service.book.queued(), key=lambda one: (-one.priority, one.position, one.id))

    async def poll(self) -> None:
        """Look again at what no event tells: locks of others, and the devices themselves."""
        service = self._service
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._short or any(entry.spec.get("pause_seconds") for entry in service.book.queued()):
                self.wake()
            await service.sessions.look()
            on_cards = any(entry.wants is not None and entry.wants.pool for entry in service.book.queued())
            if on_cards or service.reservations.claims_stale:
                await service.refresh_reservations()
                for entry in service.book.queued():
                    entry.wants = None
                self.wake()

    def _now(self) -> Inventory:
        if self._inventory is None:
            self._inventory = self._service.sampler.snapshot()
        return self._inventory

    def _pass(self) -> None:
        self._due = False
        service = self._service
        if self.paused or not service.book.is_ready:
            return
        self._inventory = None
        self._short = self._shortages() if service.book.queued() else {}
        waiting = []
        for entry in service.book.queued():
            after = self._after(entry) or self._later(entry) or self._unseen(entry) or self._no_room(entry)
            if entry.state is not RunState.QUEUED:
                continue
            if entry.wants is None or entry.wants.after != after or entry.wants.held != entry.held:
                entry.wants = wants.want(entry, self._now, after)
            waiting.append(entry.wants)
        if not waiting:
            self._tell_others({})
            return
        occupying = [Occupying(e.id, e.run.name, e.cards, e.slots) for e in service.book.occupying()]
        occupying += service.sessions.occupying()
        here = wants.usable(self._now()) if any(one.pool for one in waiting) else frozenset()
        foreign, awaited = ({}, {}) if not here else (self._foreign(), self._awaited())
        decision = decide(waiting, occupying, limits=self._limits, usable=here, foreign=foreign, awaited=awaited)
        self._tell_others(decision.claims)
        for identifier, cards in decision.start.items():
            entry = service.book.live[identifier]
            entry.waiting_for = None
            entry.cards = frozenset(cards)
            entry.slots = 0 if entry.wants is None or (entry.wants.choose and cards) else entry.wants.slots
            service.starter.start(entry)
        for identifier, reason in decision.waits.items():
            entry = service.book.live[identifier]
            if entry.waiting_for != reason:
                entry.waiting_for = reason
                service.book.tell(entry)

    def _tell_others(self, claims: Mapping[str, str]) -> None:
        """Before the devices are known the queue cannot say what it waits for, and an older claim must not be lost."""
        if self._service.devices_known:
            self._service.reservations.want(claims)

    def _foreign(self) -> dict[str, str]:
        """Cards that are not to be had, with words of who has them."""
        service = self._service
        elsewhere = wants.open_elsewhere(self._now())
        return {**elsewhere, **service.releasing.words(), **service.reservations.foreign()}

    def _awaited(self) -> dict[str, str]:
        return self._service.reservations.awaited(self._service.settings.yield_minutes)

    def _shortages(self) -> dict[str, str]:
        settings = self._service.settings
        return dict(space.shortages(str(self._service.state), settings.artefacts_root, settings.minimum_free_bytes))

    def _no_room(self, entry: Entry) -> str | None:
        """What the run waits for while there is too little room, unless that was overridden."""
        waived = set(entry.spec["overrides"])
        return next((f"room: {words}" for check, words in self._short.items() if check not in waived), None)

    def _later(self, entry: Entry) -> str | None:
        """An attempt that follows a failed one gives the cause time to pass."""
        if not retries.is_early(entry.spec, time.time()):
            return None
        return f"its next attempt, {entry.spec['pause_seconds']:.0f} s after the end of the last one"

    def _unseen(self, entry: Entry) -> str | None:
        """Before the devices are known `auto` would take whatever answered first, the CPU at worst."""
        if self._service.devices_known or entry.spec["select"] in ("none", wants.CPU):
            return None
        return "the first look at the devices"

    def _after(self, entry: Entry) -> str | None:
        """What the run waits for by its own wish; a dependency that failed ends it."""
        left = []
        reason = None
        for identifier, how in entry.after:
            run = self._last_attempt(identifier)
            if run is None and how == "any":
                continue
            if run is None or (
                run.state is RunState.FINISHED and how == "ok" and run.result is not RunResult.SUCCEEDED
            ):
                name = identifier if run is None else f"{run.name} ({run.id})"
                ended = "is gone" if run is None or run.result is None else f"ended as {run.result.value}"
                self._service.end_unstarted(entry, Cause.DEPENDENCY_FAILED, f"run {name} {ended}")
                return None
            if run.state is not RunState.FINISHED:
                left.append((identifier, how))
                reason = reason or f"run {run.name} ({run.id}) to {'succeed' if how == 'ok' else 'finish'}"
        entry.after = tuple(left)
        return reason

    def _last_attempt(self, identifier: str) -> Run | None:
        book = self._service.book
        while identifier in book.succeeded_by:
            identifier = book.succeeded_by[identifier]
        return book.known(identifier)
