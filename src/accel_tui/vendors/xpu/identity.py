"""What Sysman says a device is: its PCI address, uuid, names and flags."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from accel_tui.model.devices import DeviceState
from accel_tui.vendors.xpu import ids, results
from accel_tui.vendors.xpu.calls import call, listed
from accel_tui.vendors.xpu.cards import BUILT_IN
from accel_tui.vendors.xpu.results import SUCCESS

_GPU_TYPES = frozenset({0, 1})
"""GPU, and what a driver leaves unfilled."""
_INTEGRATED = 1
_HASH_LENGTH = 16
_ECC = {1: "on", 2: "off"}
_TILE_BYTE = 15


@dataclass(frozen=True)
class Identity:
    """The facts about one device that do not change while its driver is loaded."""

    address: str
    device: int | None
    """PCI device id."""
    name: str | None
    """None where the driver's name says nothing."""
    uuid: str | None
    tile_uuids: tuple[str | None, ...]
    """One for each tile of a card that has several; empty for one that is one tile."""
    serial: str | None
    driver_version: str | None
    module_hash: str | None
    integrated: bool | None
    ecc: str | None
    code: int = SUCCESS
    """What asking for the properties resulted in; anything but success leaves most of the rest unknown."""

    @property
    def key(self) -> str:
        return f"pci:{self.address}"


class Unnamed(Exception):  # noqa: N818 - says what is so
    """A device that cannot be told from others; `code` is the result that kept its address."""

    def __init__(self, code: int) -> None:
        super().__init__(results.words(code))
        self.code = code


STATES = {
    results.DEVICE_LOST: DeviceState.LOST,
    results.REQUIRES_RESET: DeviceState.NEEDS_RESET,
    results.RECOVERY: DeviceState.DISABLED,
}
"""The condition of a device whose calls answer with these results."""


def identify(z: Any, handle: Any) -> Identity | None:
    """The identity of a GPU; None for a device of another kind.

    Raises:
        Unnamed: neither the PCI call nor the uuid give an address.
    """
    extended = z.zes_device_ext_properties_t(stype=z.ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES)
    link = ctypes.cast(ctypes.pointer(extended), ctypes.c_void_p)
    found = z.zes_device_properties_t(stype=z.ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, pNext=link)
    found.core.stype = 0x3  # ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES
    code = call(z.zesDeviceGetProperties, handle, ctypes.byref(found))
    if code == SUCCESS and found.core.type not in _GPU_TYPES:
        return None
    raw = bytes(found.core.uuid.id) if any(found.core.uuid.id) else bytes(extended.uuid.id)
    address = _address(z, handle) or _address_of_uuid(raw)
    if address is None:
        raise Unnamed(code)
    device = found.core.deviceId or int.from_bytes(raw[2:4], "little") or None
    version = _word(found.driverVersion)
    is_hash = version is not None and len(version) >= _HASH_LENGTH and "." not in version
    flagged = bool((extended.flags | found.core.flags) & _INTEGRATED)
    discrete = ids.product(device).is_discrete
    return Identity(
        address=address,
        device=device,
        name=_name(found),
        uuid=uuid_text(raw) if any(raw) else None,
        tile_uuids=_tile_uuids(z, handle, raw, found.numSubdevices),
        serial=_word(found.serialNumber),
        driver_version=None if is_hash else version,
        module_hash=version if is_hash else None,
        integrated=False if discrete else (flagged or address == BUILT_IN if code == SUCCESS else None),
        ecc=_ecc(z, handle),
        code=code,
    )


def uuid_text(raw: bytes) -> str:
    """The sixteen bytes in their order, as torch prints them (xpu-smi prints them reversed)."""
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _address(z: Any, handle: Any) -> str | None:
    properties = z.zes_pci_properties_t(stype=z.ZES_STRUCTURE_TYPE_PCI_PROPERTIES)
    if call(z.zesDevicePciGetProperties, handle, ctypes.byref(properties)) != SUCCESS:
        return None
    at = properties.address
    return f"{at.domain:04x}:{at.bus:02x}:{at.device:02x}.{at.function:x}"


def _address_of_uuid(raw: bytes) -> str | None:
    """From the uuid's layout: vendor, device, revision and domain of two bytes each, bus, device, function."""
    if int.from_bytes(raw[:2], "little") != ids.VENDOR:
        return None
    return f"{int.from_bytes(raw[6:8], 'little'):04x}:{raw[8]:02x}:{raw[9]:02x}.{raw[10]:x}"


def _name(found: Any) -> str | None:
    for raw in (found.core.name, found.modelName):
        stated = " ".join(raw.decode("utf-8", "replace").split())
        if not ids.is_generic(stated):
            return stated
    return None


def _word(raw: bytes) -> str | None:
    stated = raw.decode("utf-8", "replace").strip()
    return None if stated.lower() in ("", "unknown", "n/a", "none") else stated


def _tile_uuids(z: Any, handle: Any, raw: bytes, count: int) -> tuple[str | None, ...]:
    """Asked of the driver, else made from the card's by its rule: the last byte is the tile's number from 1 on."""
    if not 1 < count <= 16:
        return ()
    kind, stype = z.zes_subdevice_exp_properties_t, z.ZES_STRUCTURE_TYPE_SUBDEVICE_EXP_PROPERTIES
    _, told = listed(z.zesDeviceGetSubDevicePropertiesExp, kind, handle, stype=stype)
    known = {int(one.subdeviceId): uuid_text(bytes(one.uuid.id)) for one in told if any(one.uuid.id)}
    made = int.from_bytes(raw[:2], "little") == ids.VENDOR
    return tuple(
        known.get(tile) or (uuid_text(raw[:_TILE_BYTE] + bytes([tile + 1])) if made else None) for tile in range(count)
    )


def _ecc(z: Any, handle: Any) -> str | None:
    available = z.ze_bool_t(0)
    if call(z.zesDeviceEccAvailable, handle, ctypes.byref(available)) != SUCCESS or not available.value:
        return None
    state = z.zes_device_ecc_properties_t(stype=z.ZES_STRUCTURE_TYPE_DEVICE_ECC_PROPERTIES)
    code = call(z.zesDeviceGetEccState, handle, ctypes.byref(state))
    return _ECC.get(state.currentState) if code == SUCCESS else None
