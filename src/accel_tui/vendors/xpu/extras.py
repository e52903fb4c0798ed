"""Read-only calls that pyzes does not bind: memory errors, fabric ports, fans. Layouts from the C header `zes_api.h`.

A loader or driver without one of them answers "not offered"; such a reading is left out.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

from accel_tui.model.devices import Reading, ok
from accel_tui.vendors.xpu.calls import WHOLE, call, listed, unbound
from accel_tui.vendors.xpu.load import Scoped
from accel_tui.vendors.xpu.results import SOURCE, SUCCESS, UNSUPPORTED, unread

_RAS_PROPERTIES, _RAS_STATE, _PORT_STATE = 0xF, 0x22, 0x19
_CORRECTABLE = 0
_UP = frozenset({1, 2})
_DISABLED = 4
_RPM = 0


class _RasProperties(Structure):
    _fields_: ClassVar = [
        ("stype", c_int32), ("pNext", c_void_p), ("type", c_int32), ("onSubdevice", c_uint8), ("subdeviceId", c_uint32),
    ]  # fmt: skip


class _RasState(Structure):
    _fields_: ClassVar = [("stype", c_int32), ("pNext", c_void_p), ("category", c_uint64 * 7)]


class _Speed(Structure):
    _fields_: ClassVar = [("bitRate", c_int64), ("width", c_int32)]


class _PortId(Structure):
    _fields_: ClassVar = [("fabricId", c_uint32), ("attachId", c_uint32), ("portNumber", c_uint8)]


class _PortState(Structure):
    _fields_: ClassVar = [
        ("stype", c_int32), ("pNext", c_void_p), ("status", c_int32), ("qualityIssues", c_uint32),
        ("failureReasons", c_uint32), ("remotePortId", _PortId), ("rxSpeed", _Speed), ("txSpeed", _Speed),
    ]  # fmt: skip


class Extras:
    """Error counts, links and fans of one card."""

    def __init__(self, z: Any, device: Any) -> None:
        self._ras_state = unbound(z, "zesRasGetState", c_void_p, c_uint8, POINTER(_RasState))
        self._port_state = unbound(z, "zesFabricPortGetState", c_void_p, POINTER(_PortState))
        self._fan_state = unbound(z, "zesFanGetState", c_void_p, c_int32, POINTER(c_int32))
        self._errors = [(self._kind(z, handle), handle) for handle in _handles(z, "zesDeviceEnumRasErrorSets", device)]
        self._ports = _handles(z, "zesDeviceEnumFabricPorts", device)
        self._fans = _handles(z, "zesDeviceEnumFans", device)

    def read(self) -> Scoped:
        """What this card offers; nothing for what it does not."""
        return {WHOLE: {**self._ecc(), **self._links(), **self._fan()}}

    @staticmethod
    def _kind(z: Any, handle: c_void_p) -> int | None:
        properties = _RasProperties(stype=_RAS_PROPERTIES)
        code = call(unbound(z, "zesRasGetProperties", c_void_p, POINTER(_RasProperties)), handle, byref(properties))
        return int(properties.type) if code == SUCCESS else None

    def _ecc(self) -> dict[str, Reading]:
        """Errors of all categories since the driver was loaded, by kind; never cleared."""
        found: dict[str, Reading] = {}
        counts: dict[str, int] = {}
        for kind, handle in self._errors:
            if kind is None:
                continue
            name = "ecc_corrected" if kind == _CORRECTABLE else "ecc_uncorrected"
            state = _RasState(stype=_RAS_STATE)
            code = call(self._ras_state, handle, 0, byref(state))
            if code == SUCCESS:
                counts[name] = counts.get(name, 0) + sum(state.category)
            elif code != UNSUPPORTED:
                found[name] = unread(code)
        return found | {name: ok(count, SOURCE) for name, count in counts.items() if name not in found}

    def _links(self) -> dict[str, Reading]:
        """Xe Link ports that are up, and those that are not switched off."""
        states = []
        for port in self._ports:
            state = _PortState(stype=_PORT_STATE)
            if call(self._port_state, port, byref(state)) == SUCCESS:
                states.append(int(state.status))
        if not states:
            return {}
        up, expected = sum(one in _UP for one in states), sum(one != _DISABLED for one in states)
        return {"links_up": ok(up, SOURCE), "links_expected": ok(expected, SOURCE)}

    def _fan(self) -> dict[str, Reading]:
        speeds = []
        for fan in self._fans:
            speed = c_int32(-1)
            if call(self._fan_state, fan, _RPM, byref(speed)) == SUCCESS and speed.value >= 0:
                speeds.append(speed.value)
        return {"fan_rpm": ok(max(speeds), SOURCE)} if speeds else {}


def _handles(z: Any, name: str, device: Any) -> list[c_void_p]:
    function = unbound(z, name, c_void_p, POINTER(c_uint32), POINTER(c_void_p))
    _, found = listed(function, ctypes.c_void_p, device)
    return [c_void_p(handle) for handle in found]
