"""Power, frequency and temperature of a card and of its tiles, from Sysman."""

from __future__ import annotations

import ctypes
from typing import Any

from accel_tui.model.devices import Reading, absent, denied, failed, ok
from accel_tui.vendors.xpu import results
from accel_tui.vendors.xpu.calls import WHOLE, call, listed, tile_of
from accel_tui.vendors.xpu.load import Scoped
from accel_tui.vendors.xpu.rates import Power
from accel_tui.vendors.xpu.results import SOURCE, SUCCESS, is_root, unread

_CARD, _PACKAGE = 1, 2
_GPU_FREQUENCY = 0
_SUSTAINED = 1
_GLOBAL, _GPU, _MEMORY = 0, 1, 2
_SANE_CELSIUS = (-40.0, 200.0)
_THROTTLES = (
    "average power", "burst power", "current", "thermal limit", "power supply",
    "software range", "hardware range", "voltage", "thermal", "power",
)  # fmt: skip
"""By the bits of `zes_freq_throttle_reason_flags_t`."""


class _Domain:
    """One power domain: its counter, what it meters, and its limit."""

    def __init__(self, z: Any, handle: Any) -> None:
        self._z, self.handle, self.meter = z, handle, Power()
        self._stood_at_zero = False
        described = z.zes_power_limit_ext_desc_t(stype=z.ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC, limit=-1)
        extended = z.zes_power_ext_properties_t(
            stype=z.ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES, defaultLimit=ctypes.pointer(described)
        )
        link = ctypes.cast(ctypes.pointer(extended), ctypes.c_void_p)
        properties = z.zes_power_properties_t(stype=z.ZES_STRUCTURE_TYPE_POWER_PROPERTIES, pNext=link, defaultLimit=-1)
        self.code = call(z.zesPowerGetProperties, handle, ctypes.byref(properties))
        self.tile, self.kind = tile_of(properties), int(extended.domain)
        self._default = next((mw for mw in (properties.defaultLimit, described.limit) if mw > 0), None)
        self._counter = z.zes_power_energy_counter_t()

    def energy(self) -> tuple[int, int, int]:
        """Result code, microjoules, and the microsecond at which they were counted."""
        code = call(self._z.zesPowerGetEnergyCounter, self.handle, ctypes.byref(self._counter))
        return code, self._counter.energy, self._counter.timestamp

    def at_zero(self, clock: int) -> Reading:
        """What a counter that says 0 is worth: perhaps it has just begun, else it is not wired up."""
        first, self._stood_at_zero = not self._stood_at_zero, True
        begun = self.meter.reading(0, clock, SOURCE)
        return begun if first else failed("the energy counter stands at 0", SOURCE)

    def limit_watts(self) -> float | None:
        """The sustained limit; None when the driver does not know it."""
        z = self._z
        stype = z.ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC
        _, found = listed(z.zesPowerGetLimitsExt, z.zes_power_limit_ext_desc_t, self.handle, stype=stype)
        stated = (limit.limit for limit in found if limit.level == _SUSTAINED and limit.limit > 0)
        milliwatts = next(stated, self._default)
        return None if milliwatts is None else milliwatts / 1000


class Energy:
    """Power of one card: of the whole board where it is metered, else of the package."""

    def __init__(self, z: Any, device: Any) -> None:
        self.code, handles = listed(z.zesDeviceEnumPowerDomains, z.zes_pwr_handle_t, device)
        domains = [domain for domain in (_Domain(z, handle) for handle in handles) if domain.code == SUCCESS]
        whole = [domain for domain in domains if domain.tile is WHOLE]
        rank = {_CARD: 0, _PACKAGE: 1}
        self._whole = sorted(whole, key=lambda domain: rank.get(domain.kind, 2))
        self._tiles: dict[int, list[_Domain]] = {}
        for domain in domains:
            if domain.tile is not WHOLE:
                self._tiles.setdefault(domain.tile, []).append(domain)
        limits = (domain.limit_watts() for domain in self._whole)
        self._limit = next((watts for watts in limits if watts is not None), None)

    def read(self) -> Scoped:
        """Watts over the time since the last read, joules since the counter began, and the sustained limit in watts."""
        if not self._whole and not self._tiles:
            none = unread(self.code) if self.code != SUCCESS else absent("the card meters no power", SOURCE)
            return {WHOLE: {"power_watts": none}}
        found: Scoped = {tile: _first(domains) for tile, domains in self._tiles.items()}
        found[WHOLE] = _first(self._whole)
        if self._limit is not None:
            found[WHOLE]["power_limit_watts"] = ok(self._limit, SOURCE)
        return found


def _first(domains: list[_Domain]) -> dict[str, Reading]:
    """Of the first domain whose counter runs: one that says 0 is not wired up on many cards."""
    best: dict[str, Reading] = {}
    for domain in domains:
        code, energy, clock = domain.energy()
        if code == SUCCESS and energy > 0:
            return {
                "power_watts": domain.meter.reading(energy, clock, SOURCE),
                "energy_joules": ok(energy / 1e6, SOURCE),
            }
        if not best:
            why = unread(code) if code != SUCCESS else domain.at_zero(clock)
            best = {"power_watts": why, "energy_joules": why}
    return best or {"power_watts": absent("only the tiles of this card meter their power", SOURCE)}


class Frequency:
    """The clock of the compute engines, and what holds it down."""

    def __init__(self, z: Any, device: Any) -> None:
        self._z = z
        self.code, handles = listed(z.zesDeviceEnumFrequencyDomains, z.zes_freq_handle_t, device)
        self._domains: list[tuple[int | None, Any]] = []
        for handle in handles:
            properties = z.zes_freq_properties_t(stype=z.ZES_STRUCTURE_TYPE_FREQ_PROPERTIES)
            code = call(z.zesFrequencyGetProperties, handle, ctypes.byref(properties))
            if code == SUCCESS and properties.type == _GPU_FREQUENCY:
                self._domains.append((tile_of(properties), handle))
        self._state = z.zes_freq_state_t(stype=z.ZES_STRUCTURE_TYPE_FREQ_STATE)

    def read(self) -> Scoped:
        """MHz as they are, 0 for a card that sleeps; of several domains the fastest, and the reasons of all."""
        clocks: dict[int | None, list[float]] = {}
        reasons: dict[int | None, int] = {}
        why = unread(self.code) if self.code != SUCCESS else absent("the driver does not know the clock", SOURCE)
        for tile, handle in self._domains:
            code = call(self._z.zesFrequencyGetState, handle, ctypes.byref(self._state))
            if code != SUCCESS:
                why = unread(code)
                continue
            for scope in {WHOLE, tile}:
                reasons[scope] = reasons.get(scope, 0) | self._state.throttleReasons
                if self._state.actual >= 0:
                    clocks.setdefault(scope, []).append(self._state.actual)
        found: Scoped = {scope: {"throttle_reasons": ok(_throttles(bits), SOURCE)} for scope, bits in reasons.items()}
        for scope in {WHOLE, *reasons}:
            known = clocks.get(scope)
            found.setdefault(scope, {"throttle_reasons": why})["clock_mhz"] = ok(max(known), SOURCE) if known else why
        return found


class Temperature:
    """The hottest sensor of the chip, and of its memory."""

    def __init__(self, z: Any, device: Any) -> None:
        self._z = z
        self.code, handles = listed(z.zesDeviceEnumTemperatureSensors, z.zes_temp_handle_t, device)
        self._sensors: list[tuple[int | None, int, Any]] = []
        for handle in handles:
            properties = z.zes_temp_properties_t(stype=z.ZES_STRUCTURE_TYPE_TEMP_PROPERTIES)
            if call(z.zesTemperatureGetProperties, handle, ctypes.byref(properties)) == SUCCESS:
                self._sensors.append((tile_of(properties), properties.type, handle))

    def read(self) -> Scoped:
        """Degrees Celsius of the GPU, where it has no such sensor the global one, and of the memory."""
        values: dict[tuple[int | None, int], list[float]] = {}
        faults: dict[tuple[int | None, int], Reading] = {}
        for tile, kind, handle in self._sensors:
            value = self._value(handle)
            for scope in {WHOLE, tile}:
                if isinstance(value, Reading):
                    faults[scope, kind] = value
                else:
                    values.setdefault((scope, kind), []).append(value)
        none = unread(self.code) if self.code != SUCCESS else absent("the card has no such sensor", SOURCE)
        found: Scoped = {WHOLE: {}, **{tile: {} for tile, _, _ in self._sensors}}
        for scope, named in found.items():
            for name, kinds in (("temperature_celsius", (_GPU, _GLOBAL)), ("temperature_memory_celsius", (_MEMORY,))):
                known = next((max(values[scope, kind]) for kind in kinds if (scope, kind) in values), None)
                fault = next((faults[scope, kind] for kind in kinds if (scope, kind) in faults), none)
                named[name] = fault if known is None else ok(round(known, 1), SOURCE)
        return found

    def _value(self, handle: Any) -> float | Reading:
        value = ctypes.c_double()
        code = call(self._z.zesTemperatureGetState, handle, ctypes.byref(value))
        if code != SUCCESS:
            return unread(code, results.NEEDS_PMT)
        celsius = value.value
        if celsius == 0.0 and not is_root():  # without rights the sensors are listed and read 0
            return denied(results.NEEDS_PMT, SOURCE)
        if not _SANE_CELSIUS[0] <= celsius <= _SANE_CELSIUS[1]:
            return failed(f"the driver answered {celsius:g} °C", SOURCE)
        return celsius


def _throttles(bits: int) -> str:
    known = [name for bit, name in enumerate(_THROTTLES) if bits >> bit & 1]
    return ", ".join(known) or ("none" if not bits else f"unknown (0x{bits:x})")
