"""Readings and inventory through HLML, the vendor's library, by its own Python binding.

In a process of its own: a call that hangs cannot be cancelled. What the library says of a card is compared with sysfs
before anything is believed, as a library of another release answers nonsense without an error.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.devices import (
    Device,
    DeviceState,
    Problem,
    Reading,
    SourceFault,
    absent,
    failed,
    ok,
)
from accel_tui.vendors.gaudi import binding, calls, facts, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accel_tui.model.devices import Holder
    from accel_tui.model.places import Places
    from accel_tui.vendors.gaudi.calls import Call

_MIDDLE_EVERY, _SLOW_EVERY = 5.0, 30.0
_SHARE_SECONDS = 0.15
"""How long a round goes on with what is due but not part of every round."""
_FIRST_SHARE_SECONDS = 0.8
_RELIST_EVERY = 30.0
_HIGHEST_INDEX = 64
_PORTS = 64


def open_source(places: Places) -> HlmlSource:
    """The source; library and binding are loaded at the first question."""
    return HlmlSource(places.hlml_library, Path(places.sysfs_root))


@dataclass
class _Card:
    """One card with its handle and what was read of it."""

    address: str
    handle: Any
    index: int | None
    facts: dict[str, Any]
    kept: dict[str, tuple[Reading, float]] = field(default_factory=dict)
    """Readings of the slower rounds, with the time at which they were taken."""
    details: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, Reading] = field(default_factory=dict)
    """Readings that this card does not have: they are not asked again."""
    lost: bool = False


class HlmlSource:
    """What the library says of the cards that it was believed for."""

    name = "hlml"
    vendor = "gaudi"

    def __init__(self, configured: str | None, sysfs: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._configured, self._sysfs, self._clock = configured, sysfs, clock
        self._hlml: binding.Hlml | None = None
        self._cards: dict[str, _Card] = {}
        self._listed_at = float("-inf")
        self._driver: str | None = None
        self._due: dict[str, float] = {}
        self._work: deque[Callable[[], None]] = deque()
        self._first = True

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The cards of the library, with their operational status.

        Raises:
            SourceFault: binding or library are missing, wrong, not to be trusted, or see no card.
        """
        hlml = self._ready()
        if self._clock() - self._listed_at >= _RELIST_EVERY or any(card.lost for card in self._cards.values()):
            self._list(hlml)
        return [self._device(hlml, card) for card in self._cards.values()], []

    def read(self) -> dict[str, dict[str, Reading]]:
        """Readings by card. Raises as `inventory`."""
        hlml = self._ready()
        if not self._cards:
            self._list(hlml)
        now = {f"pci:{card.address}": self._quick(hlml, card) for card in self._cards.values()}
        self._go_on(hlml)
        for card in self._cards.values():
            named = now[f"pci:{card.address}"]
            for name, (reading, taken) in card.kept.items():
                age = max(0.0, self._clock() - taken)
                named[name] = Reading(reading.status, reading.value, reading.reason, reading.source, age)
        return now

    def holders(self) -> dict[str, list[Holder]]:
        """Nothing: the library does not list processes."""
        return {}

    # Loading and listing

    def _ready(self) -> binding.Hlml:
        if self._hlml is not None:
            return self._hlml
        hlml = binding.load(self._configured)
        try:
            hlml.call("hlmlInit")
        except Exception as error:  # foreign code
            code = calls.code_of(error)
            if code == calls.INVALID:
                message = f"{hlml.library} has no hlml_init: it is no libhlml of a current release"
                raise SourceFault(message, "correct hlml_library", code="library", rests=True) from None
            remedy = (
                "load the driver (modprobe habanalabs); see `accel-tui doctor`" if code == calls.NO_DRIVER else None
            )
            raise SourceFault(f"hlml_init: {calls.words(code, error)}", remedy, code="library", rests=True) from None
        self._driver = self._text(hlml, "hlmlGetDriverVersion")
        driver = binding.release(self._driver or "")
        if driver is not None and driver < binding.LOWEST:
            message = f"the driver {self._driver} is older than HLML's present structures (1.19)"
            raise SourceFault(message, "readings come from hl-smi", code="untrusted", rests=True)
        self._hlml = hlml
        return hlml

    def _list(self, hlml: binding.Hlml) -> None:
        """Find the handles anew, keeping what is known of cards that are still there."""
        known = {card.address: card for card in tree.cards(self._sysfs) if card.driven}
        try:
            count = int(hlml.call("hlmlDeviceGetCount"))
        except Exception as error:  # foreign code
            raise self._fault("hlml_device_get_count", error) from None
        found: dict[str, _Card] = {}
        for address, handle in self._handles(hlml, count, known):
            old = self._cards.get(address)
            card = self._examined(hlml, address, handle, known.get(address))
            if old is not None:
                card.kept, card.details, card.refused = old.kept, old.details, old.refused
                card.lost = card.lost or old.lost
                card.facts = {**old.facts, **{name: value for name, value in card.facts.items() if value is not None}}
            found[address] = card
        for address, card in self._cards.items():  # one that the library does not find any more
            if address not in found:
                card.handle, card.lost = None, True
                found[address] = card
        if not found:
            seen = "no card" if count == 0 else f"{count} cards and tells the place of none"
            raise SourceFault(f"HLML sees {seen}", "see `accel-tui doctor`", code="no-device", rests=True)
        self._cards = {address: found[address] for address in sorted(found)}
        self._listed_at = self._clock()

    def _handles(self, hlml: binding.Hlml, count: int, known: Iterable[str]) -> Iterable[tuple[str, Any]]:
        """Handles by PCI address, as indexes may have holes; by index for those that sysfs does not show."""
        seen: set[str] = set()
        for address in known:
            try:
                handle = hlml.call("hlmlDeviceGetHandleByPCIBusID", address)
            except Exception as error:  # foreign code
                if calls.code_of(error) == calls.LOST:
                    seen.add(address)
                    yield address, None
                continue
            seen.add(address)
            yield address, handle
        for index in range(_HIGHEST_INDEX):
            if len(seen) >= count:
                return
            try:
                handle = hlml.call("hlmlDeviceGetHandleByIndex", index)
                said = facts.address(self._decoded(hlml.call("hlmlDeviceGetPCIInfo", handle).bus_id))
            except Exception as error:  # foreign code
                if calls.code_of(error) is None:
                    raise self._fault("hlml_device_get_handle_by_index", error) from None
                continue
            if said is not None and said not in seen:
                seen.add(said)
                yield said, handle

    def _examined(self, hlml: binding.Hlml, address: str, handle: Any, shown: tree.Card | None) -> _Card:
        """The card, after what the library says of it was compared with what is known without it.

        Raises:
            SourceFault: they disagree, so nothing that the library says is worth anything.
        """
        if handle is None:
            return _Card(address, handle, None if shown is None else shown.index, {}, lost=True)
        minor = self._number(hlml, "hlmlDeviceGetMinorNumber", handle)
        card = _Card(address, handle, None if shown is None else shown.index, {})
        device_id = None
        try:
            info = hlml.call("hlmlDeviceGetPCIInfo", handle)
        except Exception as error:  # foreign code
            card.lost = calls.code_of(error) == calls.LOST
        else:
            said, device_id = facts.address(self._decoded(info.bus_id)), facts.device_id_of(info.pci_device_id)
            if said != address:
                raise self._untrusted(f"it says {self._decoded(info.bus_id)!r} for {address}")
            if device_id is None and info.pci_device_id:
                raise self._untrusted(f"it says PCI device {info.pci_device_id:#x} for {address}")
        module = self._number(hlml, "hlmlDeviceGetModuleID", handle)
        slot = None if shown is None else (shown.text("module_id") or "")
        if module is not None and slot and slot.isdecimal() and int(slot) != module:
            raise self._untrusted(f"it says module {module} for {address}, the driver says {slot}")
        name = self._text(hlml, "hlmlDeviceGetName", handle)
        card.index = minor if card.index is None else card.index
        card.facts = {
            "name": name,
            "uuid": self._text(hlml, "hlmlDeviceGetUUID", handle),
            "serial": self._text(hlml, "hlmlDeviceGetSerial", handle),
            "module_id": module if module is not None and module < facts.MODULES else None,
            "pci_id": None if device_id is None else f"{facts.PCI_VENDOR:04x}:{device_id:04x}",
        }
        return card

    # Asking

    def _quick(self, hlml: binding.Hlml, card: _Card) -> dict[str, Reading]:
        """The readings of every round; memory also tells how much there is. A card is lost while one says so."""
        card.lost = card.handle is None
        found = {call.reading: self._reading(hlml, card, call) for call in calls.QUICK}
        found["memory_used_bytes"] = self._memory(hlml, card)
        return found

    def _memory(self, hlml: binding.Hlml, card: _Card) -> Reading:
        call = calls.Call(
            "memory_used_bytes", "hlmlDeviceGetMemoryInfo", "hlml_device_get_memory_info", value=lambda m: m
        )
        answer = self._asked(hlml, card, call)
        if isinstance(answer, Reading):
            return answer
        if answer.total > 1 << 20:
            card.facts["memory_total_bytes"] = int(answer.total)
        if answer.used > answer.total:
            return failed(f"HLML says {answer.used} of {answer.total} bytes used", self.name)
        return ok(int(answer.used), self.name)

    def _reading(self, hlml: binding.Hlml, card: _Card, call: Call) -> Reading:
        answer = self._asked(hlml, card, call)
        if isinstance(answer, Reading):
            return answer
        value = call.value(answer)
        if isinstance(value, int | float) and not call.low <= value <= call.high:
            return failed(f"HLML says {value:g}, which is out of range", self.name)
        return ok(value, self.name)

    def _asked(self, hlml: binding.Hlml, card: _Card, call: Call) -> Any:
        """What a function answers, or the reading that says why it does not."""
        if call.reading in card.refused:
            return card.refused[call.reading]
        if card.handle is None:
            return failed(f"HLML: {calls.CODES[calls.LOST]}", self.name)
        try:
            answer = hlml.call(call.function, card.handle, *call.arguments)
        except Exception as error:  # foreign code
            return self._why(hlml, card, call, error)
        return answer

    def _why(self, hlml: binding.Hlml, card: _Card, call: Call, error: Exception) -> Reading:
        code = calls.code_of(error)
        if code == calls.INVALID and not hlml.has(call.symbol):
            card.refused[call.reading] = absent(f"this libhlml has no {call.symbol}", self.name)
        elif code == calls.NOT_SUPPORTED:
            card.refused[call.reading] = absent(calls.words(code, error), self.name)
        elif code == calls.LOST:
            card.lost = True
        elif code in (calls.UNINITIALISED, calls.NOT_FOUND):
            self._listed_at = float("-inf")
            self._hlml = None if code == calls.UNINITIALISED else self._hlml
        return card.refused.get(call.reading) or failed(calls.words(code, error), self.name)

    # What is not part of every round

    def _go_on(self, hlml: binding.Hlml) -> None:
        """Do what is due, as far as the time of a round allows; the rest waits for the next one."""
        end = self._clock() + (_FIRST_SHARE_SECONDS if self._first else _SHARE_SECONDS)
        self._first = False
        self._plan(hlml)
        while self._work and self._clock() < end:
            self._work.popleft()()

    def _plan(self, hlml: binding.Hlml) -> None:
        if self._work:
            return
        now = self._clock()
        cards = [card for card in self._cards.values() if not card.lost]
        for every, listed in ((_MIDDLE_EVERY, calls.MIDDLE), (_SLOW_EVERY, calls.SLOW)):
            name = listed[0].reading
            if now < self._due.get(name, float("-inf")):
                continue
            self._due[name] = now + every
            for card in cards:
                self._work.extend(self._keeping(hlml, card, call) for call in listed)
            if listed is calls.SLOW:
                for card in cards:
                    self._work.extend((self._detailing(hlml, card), self._linking(hlml, card)))

    def _keeping(self, hlml: binding.Hlml, card: _Card, call: Call) -> Callable[[], None]:
        def keep() -> None:
            card.kept[call.reading] = (self._reading(hlml, card, call), self._clock())

        return keep

    def _detailing(self, hlml: binding.Hlml, card: _Card) -> Callable[[], None]:
        def look() -> None:
            for name, function, arguments in calls.DETAILS:
                value = self._number(hlml, function, card.handle, *arguments)
                if value is not None:
                    card.details[name] = bool(value) if name.endswith("_pending") else value

        return look

    def _linking(self, hlml: binding.Hlml, card: _Card) -> Callable[[], None]:
        """Internal ports: those that the card has, less the external ones, which may be left unplugged."""

        def look() -> None:
            try:
                mask, external = (pair[0] for pair in hlml.call("hlmlDeviceGetMacAddrInfo", card.handle))
                up = {port: bool(hlml.call("hlmlDeviceNicGetLink", card.handle, port)) for port in _bits(mask)}
            except Exception as error:  # foreign code
                code = calls.code_of(error)
                lacks = code == calls.NOT_SUPPORTED or not all(
                    map(hlml.has, ("hlml_get_mac_addr_info", "hlml_nic_get_link"))
                )
                reading = (absent if lacks else failed)(calls.words(code, error), self.name)
                card.kept["links_up"] = card.kept["links_expected"] = (reading, self._clock())
                return
            outside = set(_bits(external))
            inside = {port: state for port, state in up.items() if port not in outside}
            now = self._clock()
            card.kept["links_up"] = (ok(sum(inside.values()), self.name), now)
            card.kept["links_expected"] = (ok(len(inside), self.name), now)
            card.details["links_down"] = sorted(port for port, state in inside.items() if not state)
            card.details["links_external"] = len(outside)
            card.details["links_external_up"] = sum(up.get(port, False) for port in outside)

        return look

    # Small things

    def _device(self, hlml: binding.Hlml, card: _Card) -> Device:
        words = None if card.handle is None else self._text(hlml, "hlmlDeviceGetOperationStatus", card.handle)
        state = DeviceState.LOST if card.lost else facts.state(words) if words else DeviceState.OPERATIONAL
        name = card.facts.get("name")
        return Device(
            key=f"pci:{card.address}",
            vendor="gaudi",
            torch_device="hpu",
            name=name or "Gaudi",
            index=card.index,
            module_id=card.facts.get("module_id"),
            pci_address=card.address,
            uuid=card.facts.get("uuid"),
            serial=card.facts.get("serial"),
            driver_version=self._driver,
            memory_total_bytes=card.facts.get("memory_total_bytes"),
            state=state,
            details={
                **({"pci_id": card.facts["pci_id"]} if card.facts.get("pci_id") else {}),
                **({} if name else {"generic_name": True}),
                "hlml": hlml.version,
                **card.details,
            },
        )

    def _text(self, hlml: binding.Hlml, function: str, *arguments: Any) -> str | None:
        with contextlib.suppress(Exception):  # foreign code; a fact that it does not tell stays unknown
            return self._decoded(hlml.call(function, *arguments)) or None
        return None

    def _number(self, hlml: binding.Hlml, function: str, *arguments: Any) -> int | None:
        with contextlib.suppress(Exception):  # foreign code; a fact that it does not tell stays unknown
            return int(hlml.call(function, *arguments))
        return None

    @staticmethod
    def _decoded(text: Any) -> str:
        return (text.decode(errors="replace") if isinstance(text, bytes) else str(text)).strip()

    @staticmethod
    def _fault(symbol: str, error: Exception) -> SourceFault:
        words = calls.words(calls.code_of(error), error)
        return SourceFault(f"{symbol}: {words}", None, code="library", rests=True)

    @staticmethod
    def _untrusted(what: str) -> SourceFault:
        message = f"HLML is not trusted: {what}. Library and habana-pyhlml are of different releases"
        remedy = "install the release of habana-pyhlml that the driver has; meanwhile hl-smi answers"
        return SourceFault(message, remedy, code="untrusted", rests=True)


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(_PORTS) if mask >> bit & 1]
