"""Which generation a Gaudi card is, and what follows from that. Pure.

Sources: the device ids of the kernel driver, product names as `hl-smi` prints them, idle memory as published outputs
show it. A name's suffix says nothing here: sources contradict each other on form factors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.model.devices import ReadingStatus

if TYPE_CHECKING:
    from accel_tui.model.devices import Device, DeviceView

_MIB = 1 << 20
_BY_ID = {"1000": 1, "1001": 1, "1010": 1, "1011": 1, "1020": 2, "1060": 3, "1063": 3}
# In the driver's own capitals: `Gaudi` alone stands for a card of unknown type.
_BY_NAME = (
    (re.compile(r"HL-20\d|GAUDI(?: |$)"), 1),
    (re.compile(r"HL-2[28]\d|GAUDI2"), 2),
    (re.compile(r"HL-3\d\d|GAUDI3"), 3),
)
_IDLE_BYTES = {1: 512 * _MIB, 2: 768 * _MIB, 3: 672 * _MIB}
"""Memory that a card shows as used when nobody uses it; it is never zero."""
_SLACK_BYTES = 1024 * _MIB
"""So much above it is still no proof of use: the figure moves with the firmware."""


def generation(device: Device) -> int | None:
    """1, 2 or 3 by PCI device id, else by name; None where neither tells."""
    identifier = str(device.details.get("pci_id") or "").lower().removeprefix("0x")
    for part in (identifier[-4:], identifier[:4]):  # `1da3:1060`, or both halves in one number in either order
        if part in _BY_ID:
            return _BY_ID[part]
    for name in (device.name, str(device.details.get("device_type") or "")):
        for pattern, number in _BY_NAME:
            if pattern.match(name):
                return number
    return None


def idle_memory_bytes(device: Device) -> int:
    """What the card itself uses; of an unknown generation the most that any does."""
    return _IDLE_BYTES.get(generation(device) or 0, max(_IDLE_BYTES.values()))


def hidden_use_bytes(view: DeviceView) -> int | None:
    """Memory in use on a card that nobody is seen to hold; None where there is none, or nothing can be told.

    The holder may be hidden from this account or live in another container, or the figure may be old: it is a doubt.
    """
    reading = view.readings.get("memory_used_bytes")
    if view.holders or view.reserved_by is not None or reading is None or reading.status is not ReadingStatus.OK:
        return None
    if not isinstance(reading.value, (int, float)) or reading.value <= idle_memory_bytes(view.device) + _SLACK_BYTES:
        return None
    return int(reading.value)
