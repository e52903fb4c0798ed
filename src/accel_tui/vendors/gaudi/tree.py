"""The walk through sysfs: which Gaudi cards there are, with their node, and those on PCI that nothing drives.

Current drivers register in the shared class `accel` (so the vendor is checked), older ones in `habanalabs`. Attributes
hang on the PCI device; older layouts have them on the class entry.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.vendors.gaudi import facts
from accel_tui.vendors.gaudi.files import Unreadable, text, text_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator

# Class folder, names of its entries (control devices have other ones), node of entry N.
_CLASSES = (
    ("class/accel", re.compile(r"accel(\d+)"), "accel/accel{}"),
    ("class/habanalabs", re.compile(r"hl(\d+)"), "hl{}"),
)
NODES = re.compile(r"(?:accel/accel|hl)(\d+)")
"""A compute node below the folder of devices."""


@dataclass(frozen=True)
class Card:
    """One card as sysfs shows it."""

    address: str
    folders: tuple[Path, ...]
    """Where attributes are looked for, in order."""
    index: int | None = None
    """Number of the node; None for a card without a driver's entry."""
    nodes: tuple[str, ...] = ()
    """Where its compute node may be, below the folder of devices."""

    @property
    def driven(self) -> bool:
        return self.index is not None

    def path(self, name: str) -> Path:
        """The attribute's file: the first that exists, else where it should be."""
        return next((folder / name for folder in self.folders if (folder / name).exists()), self.folders[0] / name)

    def text(self, name: str) -> str | None:
        return text_or_none(self.path(name))


def cards(sysfs: Path) -> list[Card]:
    """Every Gaudi card by PCI address, each once."""
    found: dict[str, Card] = {}
    for folder, pattern, node in _CLASSES:
        for entry, number in _entries(sysfs / folder, pattern):
            card = _driven(sysfs, entry, number, node, shared=folder == "class/accel")
            if card is not None:
                found.setdefault(card.address, card)
    for device in _children(sysfs / "bus/pci/devices"):
        known = facts.address(device.name)
        if known is not None and known not in found and _is_card(device):
            found[known] = Card(known, (device,))
    return [found[key] for key in sorted(found)]


def device_id(card: Card) -> int | None:
    return facts.hexadecimal(card.text("device"))


def _entries(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[Path, int]]:
    for entry in _children(folder):
        match = pattern.fullmatch(entry.name)
        if match is not None:
            yield entry, int(match.group(1))


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _driven(sysfs: Path, entry: Path, number: int, node: str, *, shared: bool) -> Card | None:
    device = entry / "device"
    if shared and not _is_ours(device) and not _is_ours(entry):
        return None
    known = _address(entry, device)
    if known is None:
        return None
    folders = (device, entry, sysfs / "bus/pci/devices" / known)
    nodes = tuple(dict.fromkeys((node.format(number), f"accel/accel{number}", f"hl{number}")))
    return Card(known, folders, number, nodes)


def _is_ours(folder: Path) -> bool:
    try:
        return facts.hexadecimal(text(folder / "vendor")) == facts.PCI_VENDOR
    except Unreadable as error:
        return error.missing and (text_or_none(folder / "device_type") or "").upper().startswith("GAUDI")


def _address(entry: Path, device: Path) -> str | None:
    for path in (device / "pci_addr", entry / "pci_addr"):
        found = facts.address(text_or_none(path))
        if found is not None:
            return found
    found = facts.address(Path(os.path.realpath(device)).name)
    if found is not None:
        return found
    for line in (text_or_none(device / "uevent") or "").splitlines():
        name, _, value = line.partition("=")
        if name == "PCI_SLOT_NAME":
            return facts.address(value)
    return facts.address(text_or_none(device / "parent_device") or text_or_none(entry / "parent_device"))


def _is_card(folder: Path) -> bool:
    if facts.hexadecimal(text_or_none(folder / "vendor")) != facts.PCI_VENDOR:
        return False
    if facts.hexadecimal(text_or_none(folder / "device")) in facts.NOT_GAUDI:
        return False
    kind = text_or_none(folder / "class")
    return kind is None or kind.startswith("0x12")
