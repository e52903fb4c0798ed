"""How Intel's Level Zero driver counts the GPUs of a host, which is what an affinity mask names. Pure.

The rules are the driver's own (intel/compute-runtime, `execution_environment.cpp`, the same from a late 23.22 through
26.31): cards are sorted first and masked second; discrete ones come before integrated ones and each group goes by PCI
address, with `ZE_ENABLE_PCI_ID_DEVICE_ORDER` on the address alone decides. Only cards that the process can open are
counted, so that one closed card moves the number of every card behind it. Under the hierarchies FLAT and COMBINED each
tile is a device of its own, under COMPOSITE the card is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.model.devices import DeviceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accel_tui.model.devices import Device

ORDER_VARIABLE = "ZE_ENABLE_PCI_ID_DEVICE_ORDER"
HIERARCHY_VARIABLE = "ZE_FLAT_DEVICE_HIERARCHY"
MASK_VARIABLE = "ZE_AFFINITY_MASK"
PREFIXES = ("NEO_L0_", "NEO_")
"""The driver also knows these names with a prefix, and a prefixed one wins."""

FLAT, COMPOSITE, COMBINED = "FLAT", "COMPOSITE", "COMBINED"

_UNLISTED = frozenset({DeviceState.NOT_DRIVEN, DeviceState.NO_NODE, DeviceState.LOST})
# Judged by opening the node where somebody did; these states say it where nobody did.
_CLOSED = frozenset({DeviceState.NO_ACCESS, DeviceState.NOT_YOURS})
_UNCERTAIN = frozenset({
    DeviceState.LOST, DeviceState.UNKNOWN, DeviceState.RESETTING, DeviceState.NEEDS_RESET, DeviceState.DISABLED,
    DeviceState.RELEASING,
})  # fmt: skip
_ADDRESS = re.compile(r"([0-9a-fA-F]+):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")
_NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")


def integrated(card: Device) -> bool:
    """Whether this is a processor's own GPU."""
    return card.pci_order is None or bool(card.details.get("integrated"))


def tiles(card: Device) -> int:
    """Tiles that a mask can name; 1 where nothing else is known."""
    count = card.details.get("tiles", 1)
    return count if isinstance(count, int) and count > 0 else 1


def is_card(device: Device) -> bool:
    """An Intel GPU, not a tile of one."""
    return device.vendor == "xpu" and "#" not in device.key


def place(card: Device) -> tuple[int, ...]:
    """Domain, bus, device and function as numbers."""
    match = _ADDRESS.fullmatch(card.pci_address or "")
    return tuple(int(part, 16) for part in match.groups()) if match else (1 << 32,)


def counted(card: Device) -> bool:
    """Whether the driver lists the card for a process of this account."""
    if card.state in _UNLISTED or card.details.get("recovery") is True or card.details.get("by_path") is False:
        return False
    opens = card.details.get("node_opens")
    return opens if isinstance(opens, bool) else card.state not in _CLOSED


def unclear_kind(card: Device) -> bool:
    """Whether a layer that knows the driver could not tell if this is a processor's own GPU."""
    return "driver" in card.details and not isinstance(card.details.get("integrated"), bool)


def uncertain(card: Device) -> bool:
    """Whether nobody can say beforehand if and where the driver lists the card: it is there, and something is odd."""
    if card.details.get("recovery") is True:  # no runtime lists it, that is sure
        return False
    return card.state in _UNCERTAIN or (counted(card) and unclear_kind(card))


def in_order(devices: Iterable[Device], *, by_address: bool = False) -> list[Device]:
    """The cards that are counted, in the driver's order."""
    cards = [device for device in devices if is_card(device) and counted(device)]
    return sorted(cards, key=lambda card: (integrated(card) and not by_address, place(card)))


def card_numbers(devices: Iterable[Device]) -> dict[str, int]:
    """Number by key under COMPOSITE, for every card that is counted."""
    return {card.key: number for number, card in enumerate(in_order(devices))}


def tile_numbers(devices: Iterable[Device]) -> dict[str, range]:
    """Numbers of its tiles by a card's key under FLAT and COMBINED."""
    numbers, first = {}, 0
    for card in in_order(devices):
        numbers[card.key] = range(first, first + tiles(card))
        first += tiles(card)
    return numbers


def shown(devices: Sequence[Device]) -> dict[str, str]:
    """By key the number that a mask has for a card or tile, where a person would expect another one.

    Expected is the rank among the discrete cards, `2` or `2.1`; tiles are counted as under FLAT.
    """
    cards, parts = card_numbers(devices), tile_numbers(devices)
    found = {}
    for device in devices:
        key, _, tile = device.key.partition("#")
        if device.vendor != "xpu" or key not in cards:
            continue
        if tile:
            found[device.key] = str(parts[key].start + int(tile))
        elif cards[key] != device.pci_order:
            found[key] = str(cards[key])
    return found


def value(environment: Mapping[str, str], name: str) -> str | None:
    """What the driver reads for one of its variables."""
    for prefix in (*PREFIXES, ""):
        if prefix + name in environment:
            return environment[prefix + name]
    return None


def number(text: str) -> int | None:
    """A number as the driver reads it: `010` is eight, `0x1` is one; None where it finds none, or one below zero."""
    match = _NUMBER.match(text)
    if match is None or match[1] == "-":
        return None
    digits = match[2]
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    if digits[0] == "0":
        octal = re.match(r"[0-7]+", digits)
        return int(octal[0], 8) if octal else 0
    return int(digits)


def left_by(devices: Sequence[Device], environment: Mapping[str, str]) -> dict[str, frozenset[int]] | None:
    """Tiles that the mask of `environment` leaves, by their card's key in the driver's order; None where none is set.

    An index beyond the last device is ignored, as the driver does.
    """
    mask = value(environment, MASK_VARIABLE)
    if mask is None or mask in ("", "default"):
        return None
    by_address = bool(number(value(environment, ORDER_VARIABLE) or "0"))
    cards = in_order(devices, by_address=by_address)
    hierarchy = value(environment, HIERARCHY_VARIABLE)
    if hierarchy not in (FLAT, COMPOSITE, COMBINED):
        # The driver's own default: tiles are devices on Max cards, which alone have several.
        hierarchy = FLAT if any(tiles(card) > 1 for card in cards) else COMPOSITE
    flat = hierarchy != COMPOSITE
    owners = [(card, tile) for card in cards for tile in (range(tiles(card)) if flat else (None,))]
    left: dict[str, set[int]] = {}
    for item in mask.split(","):
        first, _, second = item.partition(".")
        index, part = number(first), number(second)
        if index is None or index >= len(owners):
            continue
        card, tile = owners[index]
        chosen = {tile} if tile is not None else set(range(tiles(card))) if part is None else {part}
        left.setdefault(card.key, set()).update(chosen & set(range(tiles(card))))
    return {card.key: frozenset(left[card.key]) for card in cards if left.get(card.key)}
