"""How devices and runs are called in few words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from accel_tui.model.devices import Device, DeviceView

_PCI = re.compile(r"[0-9a-fA-F]{4,}:([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
_BRANDS = re.compile(r"\((R|TM)\)|^Intel\s+|\s+Graphics$|\bIntel\b")


def is_card(device: Device) -> bool:
    """An accelerator, not the host's CPU and not a tile of a card."""
    return device.vendor != "cpu" and "#" not in device.key


def short_name(device: Device) -> str:
    """The product without brand signs: `Arc Pro B60`."""
    return re.sub(r"\s+", " ", _BRANDS.sub(" ", device.name)).strip() or device.name


def number(device: Device) -> str:
    """What a person calls it by within its vendor: module ID, rank by PCI address, `0.1` for a tile, `cpu`, `iGPU`."""
    if device.vendor == "cpu":
        return "cpu"
    card = device.module_id
    if card is None and device.vendor != "gaudi":  # which goes by its module alone: another number names another card
        card = device.pci_order
        if card is None and device.vendor == "xpu":
            return "iGPU"  # it has no rank among the cards, and its index would be taken for one
        card = device.index if card is None else card
    text = "?" if card is None else str(card)
    tile = device.key.partition("#")[2]
    return f"{text}.{tile}" if tile else text


def mask_number(device: Device) -> str:
    """The number that an affinity mask has for it, where that is not its position; else empty."""
    return str(device.details.get("affinity_mask") or "")


def selector(devices: Iterable[Device]) -> str:
    """The device selector that names exactly these devices: `gaudi:2,3`, `cpu`; empty for none."""
    numbers: dict[str, list[str]] = {}
    parts: list[str] = []
    for device in devices:
        name = number(device)
        if device.vendor == "cpu":
            parts.append("cpu")
        elif "?" in name or (device.vendor == "xpu" and device.pci_order is None):
            parts.append(device.key)
        else:
            numbers.setdefault(device.vendor, []).append(name)
    named = [f"{vendor}:{_ranges(found)}" for vendor, found in numbers.items()]
    return ",".join([*named, *parts])


def _ranges(numbers: Sequence[str]) -> str:
    """`0-3` for three and more in a row; tiles stay single."""
    cards = sorted({int(text) for text in numbers if text.isdecimal()})
    parts: list[str] = []
    while cards:
        length = 1
        while length < len(cards) and cards[length] == cards[0] + length:
            length += 1
        if length > 2:
            parts.append(f"{cards[0]}-{cards[length - 1]}")
        else:
            parts += map(str, cards[:length])
        cards = cards[length:]
    return ",".join([*parts, *sorted(text for text in numbers if not text.isdecimal())])


def names_of(keys: Iterable[str], known: Mapping[str, Device]) -> str:
    """Device keys of a run as a selector; a device that is not here keeps its key."""
    found = [known[key] for key in keys if key in known]
    others = [key for key in keys if key not in known]
    return ",".join(filter(None, [selector(found), *others]))


def address(device: Device, *, short: bool = True) -> str:
    """The PCI address, without the domain where that is zero and `short` is wanted."""
    if device.pci_address is None:
        return ""
    found = _PCI.fullmatch(device.pci_address)
    return found[1] if found and short else device.pci_address


def summary(views: Sequence[DeviceView]) -> str:
    """The host's cards in a few words: `8 × HL-325L`, `CPU only`."""
    cards = Counter(short_name(view.device) for view in views if is_card(view.device))
    if not cards:
        return "CPU only" if views else ""
    return ", ".join(f"{count} × {name}" for name, count in cards.items())


def count(number: int, word: str, many: str | None = None) -> str:
    """`1 card`, `8 cards`, `no cards`."""
    if number == 1:
        return f"1 {word}"
    return f"{number or 'no'} {many or word + 's'}"
