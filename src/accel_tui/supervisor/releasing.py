"""Cards between the end of a run and the moment from which the device itself says that it is free."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import DeviceState, DeviceView, ReservedBy
from accel_tui.vendors.gaudi.generations import hidden_use_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accel_tui.model.devices import Inventory
    from accel_tui.model.runs import Run
    from accel_tui.supervisor.service import Service

LOOK_SECONDS = 0.25
SILENT_SECONDS = 15.0
"""After this long without a fresh sample, or with memory in use that nobody holds, the lock alone decides."""
RESET_SECONDS = 60.0
"""So long a driver that says that it resets the card after its release is believed."""

_BUSY = (DeviceState.RELEASING, DeviceState.RESETTING)


@dataclass(frozen=True)
class _Left:
    """A card, and the run that had it."""

    run: str
    name: str
    since: float
    """Monotonic."""
    ended: str | None


class Releasing:
    """Looks again and again at cards that runs gave back; used from the event loop alone."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._left: dict[str, _Left] = {}
        self._watching = False
        self.reasons: dict[str, str] = {}
        """Key to words of what still holds it, for those that were looked at."""

    def begin(self, run: Run, cards: Iterable[str]) -> None:
        """A run that had these cards is over."""
        left = _Left(run.id, run.name, time.monotonic(), run.ended)
        self._left.update(dict.fromkeys(cards, left))
        if self._left and not self._watching:
            self._watching = True
            self._service.spawn(self._watch(), "cards that are given back")

    def words(self) -> dict[str, str]:
        """Key to words of who has it still."""
        return {
            key: f"run {left.name} ({left.run}), which has ended{self.reasons.get(key, '')}"
            for key, left in self._left.items()
        }

    def state(self, key: str) -> DeviceState | None:
        """For the inventory: `releasing` while the device has not said that it is free."""
        return DeviceState.RELEASING if key in self._left else None

    def reserved_by(self, key: str, user: str) -> ReservedBy | None:
        """For the inventory: the run that had it."""
        left = self._left.get(key)
        return None if left is None else ReservedBy(left.run, user, left.ended)

    async def _watch(self) -> None:
        try:
            while self._left:
                inventory = await self._service.sampler.look_again(1.0)
                self._judge(inventory)
                if self._left:
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._watching = False

    def _judge(self, inventory: Inventory) -> None:
        views = {view.device.key: view for view in inventory.devices}
        gone = []
        for key, left in self._left.items():
            reason = self._held(views.get(key), left)
            if reason is None:
                gone.append(key)
            else:
                self.reasons[key] = reason
        for key in gone:
            del self._left[key]
            self.reasons.pop(key, None)
        if gone:
            self._service.sampler.changed()
            self._service.scheduler.wake()

    def _held(self, view: DeviceView | None, left: _Left) -> str | None:
        """What still holds the card, None once nothing does: then it is free, or somebody else's."""
        waited = time.monotonic() - left.since
        if view is None:  # a tile, or a card that fell off: its own row tells
            return None
        holder = next((one for one in view.holders if one.run == left.run), None)
        if holder is not None:
            return f"; process {holder.pid} has it open still"
        fresh = self._service.sampler.sampled_since(left.since)
        if fresh and view.device.state in _BUSY and waited <= RESET_SECONDS:
            return f"; it is {view.device.state.value}"
        if waited > SILENT_SECONDS:
            return None
        if not fresh:
            return "; its device was not looked at since"
        bare = DeviceView(view.device, view.readings, view.holders)
        if view.device.vendor == "gaudi" and not view.device.simulated and hidden_use_bytes(bare):
            return "; its memory is in use still"
        return None
