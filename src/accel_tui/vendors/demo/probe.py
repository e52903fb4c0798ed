"""The source of simulated servers; goes through a real probe process like any other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from accel_tui.keeper import locks
from accel_tui.model.devices import Device, DeviceState, Holder, Problem, Reading, failed
from accel_tui.vendors.demo.curves import SOURCE, readings
from accel_tui.vendors.demo.servers import Card, server

if TYPE_CHECKING:
    from accel_tui.model.places import Places


def open_source(places: Places) -> DemoSource:
    """The server that `places.demo` names.

    Raises:
        UsageError: there is no such server.
    """
    return DemoSource(places.demo or "", locks=places.demo_locks)


class DemoSource:
    """One simulated server: its cards, their tiles, and its host's CPU."""

    name = SOURCE
    vendor = "demo"

    def __init__(self, name: str, clock: Callable[[], float] = time.time, locks: str | None = None) -> None:
        """`locks` is the folder in which runs lock simulated cards; without it no card shows that one has it."""
        self._cards, self._clock, self._locks = server(name), clock, locks
        self._since: dict[str, float] = {}
        """Since when a run was seen on a card, by key."""

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        problems = [_problem(card) for card in self._cards if card.stale]
        return [card.device for card in self._cards], problems

    def read(self) -> dict[str, dict[str, Reading]]:
        moment = self._clock()
        self._look_for_runs(moment)
        return {
            card.device.key: self._read(replace(card, run_since=self._since.get(card.device.key)), moment)
            for card in self._cards
        }

    def holders(self) -> dict[str, list[Holder]]:
        return {card.device.key: list(card.holders) for card in self._cards if card.holders}

    def _look_for_runs(self, moment: float) -> None:
        """A card whose lock a run holds is at work, and with a tile its card."""
        if self._locks is None:
            return
        keys = [card.device.key for card in self._cards if card.device.vendor != "cpu"]
        held = {key for key in keys if locks.held(locks.lock_path(self._locks, key))}
        held |= {key.partition("#")[0] for key in held}
        self._since = {key: self._since.get(key, moment) for key in held}

    @staticmethod
    def _read(card: Card, moment: float) -> dict[str, Reading]:
        named = readings(card, moment)
        if card.device.state is not DeviceState.NEEDS_RESET:
            return named
        return dict.fromkeys(named, failed("the driver does not answer for a card that needs a reset", SOURCE))


def _problem(card: Card) -> Problem:
    module = card.device.module_id
    message = f"Module {module} ({card.device.pci_address}) has stopped answering; its readings are old."
    return Problem(card.device.vendor, "card-silent", message, "Look at the kernel log for this address.")
