"""One card that Sysman lists: its parts are enumerated once and kept, then only read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from accel_tui.model.devices import DeviceState
from accel_tui.vendors.xpu import ids
from accel_tui.vendors.xpu.calls import WHOLE, listed
from accel_tui.vendors.xpu.extras import Extras
from accel_tui.vendors.xpu.identity import STATES, Identity, Unnamed, identify
from accel_tui.vendors.xpu.link import ENDPOINT_SAYS_NOTHING
from accel_tui.vendors.xpu.load import Engines, Memory, Pci, Scoped
from accel_tui.vendors.xpu.results import SUCCESS
from accel_tui.vendors.xpu.sensors import Energy, Frequency, Temperature

_SPARE = 16


class MeteredCard:
    """A card with its handles. Used from one thread at a time; every call may hang."""

    def __init__(self, z: Any, handle: Any, identity: Identity) -> None:
        self._z, self.handle = z, handle
        self._parts: list[Any] | None = None
        self.identity = identity
        self.memory: dict[int | None, int] = {}
        """Bytes of the card (None) and of its tiles, where known."""
        self._take(identity)

    @property
    def state(self) -> DeviceState:
        return STATES.get(self.identity.code, DeviceState.OPERATIONAL)

    def check(self) -> None:
        """Ask what the device is once more; its parts are enumerated anew after it had been out of order."""
        try:
            again = identify(self._z, self.handle)
        except Unnamed as silent:  # what it was is known; what became of it is the code
            again = replace(self.identity, code=silent.code)
        if again is not None and again.address == self.identity.address:
            self._take(again)

    def read(self) -> Scoped:
        """Everything that the card offers; a card out of order has its reason in every cell."""
        if self._parts is None:
            self._parts = self._enumerated()
        found: Scoped = {WHOLE: {}}
        for part in self._parts:
            for scope, named in part.read().items():
                found.setdefault(scope, {}).update(named)
        return found

    def pids(self) -> list[int]:
        """Processes that use the card; only root sees those of others."""
        z = self._z
        kind, stype = z.zes_process_state_t, z.ZES_STRUCTURE_TYPE_PROCESS_STATE
        function = z.zesDeviceProcessesGetState
        code, found = listed(function, kind, self.handle, stype=stype, spare=_SPARE)
        if code:  # the list may grow between the two calls: once more
            _, found = listed(function, kind, self.handle, stype=stype, spare=4 * _SPARE)
        return sorted({int(process.processId) for process in found if process.processId})

    def _take(self, identity: Identity) -> None:
        if self.identity.code != identity.code:
            self._parts = None
        self.identity = identity
        if not self.memory and identity.code == SUCCESS:
            self.memory = Memory(self._z, self.handle, integrated=bool(identity.integrated)).totals()

    def _enumerated(self) -> list[Any]:
        z, handle, identity = self._z, self.handle, self.identity
        says_nothing = ids.product(identity.device).family in ENDPOINT_SAYS_NOTHING
        return [
            Engines(z, handle),
            Memory(z, handle, integrated=bool(identity.integrated)),
            Energy(z, handle),
            Frequency(z, handle),
            Temperature(z, handle),
            Pci(z, handle, endpoint_says_nothing=says_nothing),
            Extras(z, handle),
        ]
