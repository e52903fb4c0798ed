"""Which Gaudi card this process holds: its open file descriptors, mapped through sysfs.

Each process opens the compute node of its card once, at its first use of the device; nobody else can have that node.
The control node (`accel_controlDN`) says nothing: many processes may hold it. Works in a container too, as both
`/proc/self/fd` and `/sys/class/accel` are the process's own view.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.placement import Held, UnknownPlacementError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui_worker.placement import Places

# The path of the node below /dev, and where the class of that layout is (older releases call the node `hlN`).
_NODES = (
    (re.compile(r"accel/(accel\d+)"), "class/accel"),
    (re.compile(r"(hl\d+)"), "class/habanalabs"),
)  # fmt: skip
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HABANA = "0x1da3"
"""PCI vendor of Gaudi; the class `accel` is shared with other vendors."""


def use(device: Any) -> None:
    """Put one number on the device, which opens the card."""
    import torch

    torch.zeros(1, device=device)


def held(places: Places, device: Any) -> list[Held]:  # noqa: ARG001 - a process has one card, whatever its number
    """The Gaudi cards whose compute node this process has open.

    Raises:
        UnknownPlacementError: the descriptors cannot be read.
    """
    try:
        links = [_target(entry) for entry in Path("/proc/self/fd").iterdir()]
    except OSError as error:
        raise UnknownPlacementError(f"/proc/self/fd cannot be read: {error.strerror}") from error
    cards: dict[str, Held] = {}
    for link in links:
        for card in _card(places, link) if link else ():
            cards[card.node or ""] = card
    return [cards[node] for node in sorted(cards)]


def _target(entry: Path) -> str | None:
    try:
        return str(entry.readlink())
    except OSError:  # closed since the folder was listed
        return None


def _card(places: Places, link: str) -> Iterator[Held]:
    """The card behind an open file; nothing when it is no compute node of a Gaudi card."""
    for root in dict.fromkeys((str(places.dev_root), "/dev")):
        for pattern, kind in _NODES:
            match = pattern.fullmatch(link.removeprefix(f"{root}/"))
            if match is None or not link.startswith(f"{root}/"):
                continue
            card = places.sysfs_root / kind / match[1]
            if _read(card / "device/vendor") not in (None, _HABANA):
                continue
            address, module = _address(card), _attribute(card, "module_id")
            number = int(module) if module is not None and module.isdecimal() else None
            yield Held(None if address is None else f"pci:{address}", link, number)
            return


def is_node(link: str) -> bool:
    """Whether a path ends like the compute node of a card of this class."""
    return any(pattern.fullmatch(link.partition("/dev/")[2]) is not None for pattern, _ in _NODES)


def _address(card: Path) -> str | None:
    """The PCI address: the driver's own word, else the name of the PCI device that the entry belongs to."""
    told = _attribute(card, "pci_addr")
    for text in (told, os.path.basename(os.path.realpath(card / "device"))):  # noqa: PTH119 - the last name alone
        if text is not None and _ADDRESS.fullmatch(text.lower()):
            return text.lower()
    return None


def _attribute(card: Path, name: str) -> str | None:
    """An attribute of the current layout, or of older ones that had it beside `device`."""
    found = _read(card / "device" / name)
    return found if found is not None else _read(card / name)


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip() or None
    except OSError:
        return None
