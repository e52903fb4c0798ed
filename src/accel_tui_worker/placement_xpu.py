"""Which Intel GPUs this process sees: the uuid that the driver gives each, which carries the PCI address.

The sixteen bytes are vendor, device and revision, then PCI domain, bus, device and function, and last the number of a
tile, little endian (intel/compute-runtime, `shared/source/device/device.cpp`). Some drivers of the Max series give a
number of the chip instead: that is compared with what the inventory read. Where the runtime gives none, the DRM files
that this process has open say which card it uses, as long as it is one.
"""

from __future__ import annotations

import os
import re
import uuid as uuids
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.placement import Held, UnknownPlacementError

if TYPE_CHECKING:
    from accel_tui_worker.placement import Places

_INTEL = b"\x86\x80"
_PDEV = re.compile(r"^drm-pdev:\s*([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s*$", re.MULTILINE)
_FILES = Path("/proc/self/fdinfo")


def use(device: Any) -> None:
    """Put one number on the device: the runtime then counts devices as it will use them, not as it guesses before."""
    import torch

    torch.zeros(1, device=device)


def held(places: Places, device: Any) -> list[Held]:  # noqa: ARG001 - the runtime tells, no folder is looked into
    """The card or tile that `device` is.

    Raises:
        UnknownPlacementError: neither its uuid nor this process's open files tell.
    """
    import torch

    index = torch.xpu.current_device() if device.index is None else int(device.index)
    card = _device(index)
    if card.key is not None:
        return [card]
    opened = open_cards(_FILES)
    if len(opened) != 1:
        which = f"{len(opened)} cards are open in this process" if opened else "no card is open in this process"
        told = f"its uuid {card.uuid} is not one of the inventory's" if card.uuid else "the driver gives no uuid"
        raise UnknownPlacementError(f"{told}, and {which}")
    return [Held(f"pci:{opened[0]}", uuid=card.uuid, by="fdinfo")]


def visible(places: Places) -> list[Held]:  # noqa: ARG001 - the runtime tells, no folder is looked into
    """Every device that torch lists, in its order."""
    import torch

    return [_device(index) for index in range(torch.xpu.device_count())]


def _device(index: int) -> Held:
    import torch

    try:
        told = getattr(torch.xpu.get_device_properties(index), "uuid", None)
    except RuntimeError as error:
        raise UnknownPlacementError(f"the properties of xpu:{index} cannot be read: {error}") from error
    identity = octets(told)
    if identity is None:
        return Held(None)
    text = str(uuids.UUID(bytes=identity))
    key = key_of(identity)
    if key is not None:
        return Held(key, uuid=text, by="uuid")
    key = known_chip(identity, os.environ.get("ACCEL_TUI_CARD_UUIDS", ""))
    return Held(key, uuid=text, by="chip-uuid" if key else None)


def octets(told: object) -> bytes | None:
    """The sixteen bytes, in whichever form this torch has them; None for anything else."""
    if isinstance(told, uuids.UUID):
        return told.bytes
    if isinstance(told, (bytes, bytearray)) and len(told) == 16:
        return bytes(told)
    if isinstance(told, (list, tuple)) and len(told) == 16:
        return bytes(told)
    digits = re.sub(r"[^0-9a-fA-F]", "", str(told)) if told is not None else ""
    return bytes.fromhex(digits) if len(digits) == 32 else None


def key_of(identity: bytes) -> str | None:
    """`pci:0000:1a:00.0`, with `#T` for a tile; None where the bytes hold no PCI address."""
    if identity[:2] != _INTEL or any(identity[11:15]):
        return None
    domain = int.from_bytes(identity[6:8], "little")
    bus, device, function, tile = identity[8], identity[9], identity[10], identity[15]
    if device > 31 or function > 7:
        return None
    return f"pci:{domain:04x}:{bus:02x}:{device:02x}.{function:x}" + (f"#{tile - 1}" if tile else "")


def known_chip(identity: bytes, listed: str) -> str | None:
    """The key whose uuid in `listed` (`KEY=UUID,…`, as the inventory read them) is the same chip's.

    The last byte counts tiles; libraries differ in the order in which they print the bytes.
    """
    for item in listed.split(","):
        key, _, text = item.partition("=")
        known = octets(text)
        if known is None:
            continue
        if any(form[:15] == identity[:15] for form in (known, known[::-1])):
            return f"{key}#{identity[15] - 1}" if identity[15] else key
    return None


def open_cards(folder: Path) -> list[str]:
    """PCI addresses of the GPUs whose nodes this process has open, each once."""
    found = set()
    try:
        entries = list(folder.iterdir())
    except OSError:
        return []
    for entry in entries:
        try:
            found |= {address.lower() for address in _PDEV.findall(entry.read_text("ascii", "replace"))}
        except OSError:  # closed since the folder was listed
            continue
    return sorted(found)
