"""How busy a card is: engine groups, memory and its traffic, PCI traffic, from Sysman's counters.

Units as in the driver's guide (intel/compute-runtime, `programmers-guide/SYSMAN.md`): the activity of an engine is a
ratio only, as its two fields are microseconds with some drivers and GPU ticks with others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accel_tui.model.devices import Reading, ReadingStatus, absent, denied, failed, ok
from accel_tui.vendors.xpu import results
from accel_tui.vendors.xpu.calls import WHOLE, call, listed, tile_of
from accel_tui.vendors.xpu.rates import Counter, pending
from accel_tui.vendors.xpu.results import SOURCE, SUCCESS, is_root, unread

Scoped = dict[int | None, dict[str, Reading]]
"""Readings of the card (None) and of its tiles by name."""

_GROUPS = {1: "compute", 2: "media", 3: "copy", 12: "render", 11: "render", 13: "render", 0: "all"}
_SINGLES = {4: "compute", 5: "render", 10: "render", 8: "copy", 6: "media", 7: "media", 9: "media", 14: "media"}
_OFFERED = ("compute", "render", "copy", "media")
_DEVICE_MEMORY = 1


@dataclass
class _Engine:
    kind: str
    is_group: bool
    tile: int | None
    handle: Any
    counter: Counter = field(default_factory=Counter)
    given_up: Reading | None = None


class Engines:
    """The engine groups of one card; without groups the mean over single engines stands in, as the driver forms it."""

    def __init__(self, z: Any, device: Any) -> None:
        self._z = z
        self.code, handles = listed(z.zesDeviceEnumEngineGroups, z.zes_engine_handle_t, device)
        self._engines = [engine for handle in handles if (engine := self._engine(handle)) is not None]
        self._stats = z.zes_engine_stats_t()

    def read(self) -> Scoped:
        """Busy shares in percent by kind, and `utilization_percent` as the busier of compute and render."""
        if self.code != SUCCESS or not self._engines:
            return {WHOLE: {"utilization_percent": self._why_none()}}
        shares: dict[tuple[int | None, str, bool], list[Reading]] = {}
        for engine in self._engines:
            shares.setdefault((engine.tile, engine.kind, engine.is_group), []).append(self._share(engine))
        kinds: dict[int | None, dict[str, Reading]] = {}
        for (tile, kind, is_group), found in shares.items():
            if is_group or (tile, kind, True) not in shares:
                kinds.setdefault(tile, {})[kind] = _mean(found)
        whole = kinds.setdefault(WHOLE, {})
        for kind in {kind for named in kinds.values() for kind in named} - set(whole):
            whole[kind] = _mean([named[kind] for named in kinds.values() if kind in named])
        return {tile: _named(by_kind) for tile, by_kind in kinds.items()}

    def _engine(self, handle: Any) -> _Engine | None:
        z = self._z
        properties = z.zes_engine_properties_t(stype=z.ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES)
        if call(z.zesEngineGetProperties, handle, ctypes.byref(properties)) != SUCCESS:
            return None
        kind = _GROUPS.get(properties.type) or _SINGLES.get(properties.type)
        return None if kind is None else _Engine(kind, properties.type in _GROUPS, tile_of(properties), handle)

    def _share(self, engine: _Engine) -> Reading:
        if engine.given_up is not None:
            return engine.given_up
        code = call(self._z.zesEngineGetActivity, engine.handle, ctypes.byref(self._stats))
        if code != SUCCESS:
            reading = unread(code, results.NEEDS_ROOT_ENGINES)
            if code == results.UNSUPPORTED:
                engine.given_up = reading
            return reading
        share = engine.counter.share(self._stats.activeTime, self._stats.timestamp)
        return pending(engine.counter.why, SOURCE) if share is None else ok(round(100 * share, 1), SOURCE)

    def _why_none(self) -> Reading:
        if self.code != SUCCESS:
            return unread(self.code, results.NEEDS_ROOT_ENGINES)
        if not is_root():  # older drivers leave out what they may not open, without an error
            return denied(f"{results.NEEDS_ROOT_ENGINES}, and the driver answered without any", SOURCE)
        return absent("the driver offers no engine counters (xe: kernel 6.15 and recent firmware have them)", SOURCE)


class Memory:
    """The modules of one card: what is used, and the traffic."""

    def __init__(self, z: Any, device: Any, *, integrated: bool) -> None:
        self._z, self._integrated = z, integrated
        self.code, handles = listed(z.zesDeviceEnumMemoryModules, z.zes_mem_handle_t, device)
        modules: list[tuple[int | None, int, Any, int]] = []
        for handle in handles:
            properties = z.zes_mem_properties_t(stype=z.ZES_STRUCTURE_TYPE_MEM_PROPERTIES)
            if call(z.zesMemoryGetProperties, handle, ctypes.byref(properties)) == SUCCESS:
                modules.append((tile_of(properties), properties.location, handle, properties.physicalSize))
        own = [module for module in modules if module[1] == _DEVICE_MEMORY] or (modules if integrated else [])
        whole = [module for module in own if module[0] is WHOLE]
        self._modules = whole or own
        self._counters: dict[int, Counter] = {index: Counter() for index in range(len(self._modules))}
        self._state = z.zes_mem_state_t(stype=z.ZES_STRUCTURE_TYPE_MEM_STATE)
        self._bandwidth = z.zes_mem_bandwidth_t()

    def totals(self) -> dict[int | None, int]:
        """Bytes that can be allocated, else the physical size, of the card (None) and of its tiles where known."""
        found: dict[int | None, int] = {}
        for tile, _location, handle, physical in self._modules:
            code = call(self._z.zesMemoryGetState, handle, ctypes.byref(self._state))
            size = self._state.size if code == SUCCESS and self._state.size else physical
            for scope in {WHOLE, tile}:
                found[scope] = found.get(scope, 0) + size
        return {scope: size for scope, size in found.items() if size}

    def read(self) -> Scoped:
        """`memory_used_bytes`, and bandwidth as bytes per second and as a share of the maximum where that is known."""
        if not self._modules:
            reason = "the driver lists no memory of this card"
            none = unread(self.code) if self.code != SUCCESS else absent(reason, SOURCE)
            return {WHOLE: {"memory_used_bytes": none}}
        used: dict[int | None, list[Reading]] = {}
        for tile, _location, handle, _physical in self._modules:
            reading = self._used(handle)
            used.setdefault(WHOLE, []).append(reading)
            if tile is not WHOLE:
                used.setdefault(tile, []).append(reading)
        found: Scoped = {tile: {"memory_used_bytes": _sum(readings)} for tile, readings in used.items()}
        found[WHOLE] |= self._traffic()
        return found

    def _used(self, handle: Any) -> Reading:
        code, state = call(self._z.zesMemoryGetState, handle, ctypes.byref(self._state)), self._state
        if code != SUCCESS:
            return unread(code, results.NEEDS_PERFMON)
        if state.size == 0 or state.free > state.size:
            return failed(f"the driver answered {state.free} bytes free of {state.size}", SOURCE)
        # Without rights the kernel says that nothing is used; some always is, of cards and hosts alike.
        if state.free == state.size and not is_root():
            return denied(results.NEEDS_PERFMON, SOURCE)
        return ok(state.size - state.free, SOURCE)

    def _traffic(self) -> dict[str, Reading]:
        """Summed over the modules; counters in bytes, their clock in microseconds, the maximum in bytes per second."""
        per_second, most, why = 0.0, 0, None
        for index, (_tile, _location, handle, _physical) in enumerate(self._modules):
            code, state = call(self._z.zesMemoryGetBandwidth, handle, ctypes.byref(self._bandwidth)), self._bandwidth
            if code != SUCCESS:
                why = unread(code, results.NEEDS_PMT)
                continue
            if not state.readCounter and not state.writeCounter and not is_root():
                why = denied(results.NEEDS_PMT, SOURCE)
                continue
            rate = self._counters[index].rate(state.readCounter + state.writeCounter, state.timestamp)
            if rate is None:
                why = why or pending(self._counters[index].why, SOURCE)
                continue
            per_second, most = per_second + rate * 1e6, most + state.maxBandwidth
        if why is not None:
            return {"memory_bandwidth_percent": why}
        found = {"memory_bandwidth_bytes_per_second": ok(round(per_second), SOURCE)}
        if most <= 0:
            reason = "this card does not tell its maximum; the traffic in bytes per second is known"
            return {**found, "memory_bandwidth_percent": absent(reason, SOURCE)}
        return {**found, "memory_bandwidth_percent": ok(round(min(100.0, 100 * per_second / most), 1), SOURCE)}


class Pci:
    """The link of one card and its traffic."""

    def __init__(self, z: Any, device: Any, *, endpoint_says_nothing: bool) -> None:
        self._z, self._device, self._endpoint_says_nothing = z, device, endpoint_says_nothing
        self._state = z.zes_pci_state_t(stype=z.ZES_STRUCTURE_TYPE_PCI_STATE)
        self._stats = z.zes_pci_stats_t()
        self._received, self._sent = Counter(), Counter()

    def read(self) -> Scoped:
        """Generation and width of the link, and bytes per second of both directions."""
        return {WHOLE: {**self._link(), **self._traffic()}}

    def _link(self) -> dict[str, Reading]:
        code = call(self._z.zesDevicePciGetState, self._device, ctypes.byref(self._state))
        if code != SUCCESS:
            return dict.fromkeys(("pcie_gen", "pcie_width"), unread(code))
        speed = self._state.speed
        if self._endpoint_says_nothing and (speed.gen, speed.width) == (1, 1):
            reason = "the endpoint of this card always reads generation 1, one lane; the bridge above it tells the link"
            return dict.fromkeys(("pcie_gen", "pcie_width"), absent(reason, SOURCE))
        named = {"pcie_gen": speed.gen, "pcie_width": speed.width}
        unknown = absent("the driver does not know it", SOURCE)
        return {name: ok(value, SOURCE) if value > 0 else unknown for name, value in named.items()}

    def _traffic(self) -> dict[str, Reading]:
        """Bytes by the microseconds of the driver's clock."""
        names, stats = ("pcie_rx_bytes_per_second", "pcie_tx_bytes_per_second"), self._stats
        code = call(self._z.zesDevicePciGetStats, self._device, ctypes.byref(stats))
        if code != SUCCESS:
            return dict.fromkeys(names, unread(code, results.NEEDS_PMT))
        if not stats.rxCounter and not stats.txCounter and not is_root():
            return dict.fromkeys(names, denied(results.NEEDS_PMT, SOURCE))
        pairs = ((self._received, stats.rxCounter), (self._sent, stats.txCounter))
        found = {}
        for name, (counter, value) in zip(names, pairs, strict=True):
            rate = counter.rate(value, stats.timestamp)
            found[name] = pending(counter.why, SOURCE) if rate is None else ok(round(rate * 1e6), SOURCE)
        return found


def _named(by_kind: Mapping[str, Reading]) -> dict[str, Reading]:
    found = {f"utilization_{kind}_percent": by_kind[kind] for kind in _OFFERED if kind in by_kind}
    chosen = [by_kind[kind] for kind in ("compute", "render") if kind in by_kind] or list(by_kind.values())
    if len(chosen) == len(by_kind) and "all" in by_kind:
        chosen = [by_kind["all"]]  # diluted by engines that idle, but all that there is
    if chosen:
        found["utilization_percent"] = _most(chosen)
    return found


def _most(readings: Iterable[Reading]) -> Reading:
    """The greatest number, else the first reason."""
    readings = list(readings)
    numbers = [reading for reading in readings if reading.status is ReadingStatus.OK]
    return max(numbers, key=lambda reading: float(reading.value or 0)) if numbers else readings[0]


def _mean(readings: list[Reading]) -> Reading:
    numbers = [float(reading.value or 0) for reading in readings if reading.status is ReadingStatus.OK]
    return ok(round(sum(numbers) / len(numbers), 1), SOURCE) if numbers else readings[0]


def _sum(readings: list[Reading]) -> Reading:
    """The sum, or why a part of it is not known."""
    unknown = next((reading for reading in readings if reading.status is not ReadingStatus.OK), None)
    return unknown or ok(sum(int(reading.value or 0) for reading in readings), SOURCE)
