"""The variables that give a run its Intel GPUs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.devices import DeviceState
from accel_tui.model.plans import EnvironmentAction, EnvironmentChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.model.devices import Device
    from accel_tui.model.launching import LaunchShape

# Cards that the job's runtime does not list; each would put every number behind it off by one.
_UNLISTED = frozenset(
    {DeviceState.NOT_DRIVEN, DeviceState.NO_NODE, DeviceState.NO_ACCESS, DeviceState.NOT_YOURS, DeviceState.LOST}
)
# An index beyond the last card leaves none; an empty mask would mean all of them.
_NOWHERE = "9999"


EXCLUSIVE = False
"""Several processes may share a card."""


def device_variables() -> tuple[str, ...]:
    """Names, or prefixes that end in `*`, that choose cards and never reach a run by inheritance."""
    return (
        "ZE_AFFINITY_MASK",
        "ZE_FLAT_DEVICE_HIERARCHY",
        "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
        # The driver prefers the same names with a prefix.
        "NEO_*",
        "ONEAPI_DEVICE_SELECTOR",
        "SYCL_*",
    )


def environment(devices: Sequence[Device], shape: LaunchShape) -> list[EnvironmentChange]:
    """What a run on `devices` gets: one mask for all its ranks, order and hierarchy that the mask is counted in."""
    cards = _listed(shape.inventory)
    known = {device.key.partition("#")[0] for device in shape.inventory}
    if any(device.key.partition("#")[0] not in known for device in devices):
        mask, tiles, what = (
            _assumed_mask(devices),
            False,
            "cards as numbered in the selector; they are not on this host",
        )
    elif any("#" in device.key for device in devices):
        mask, tiles, what = _numbers(_tile_numbers(devices, cards)), True, "tiles, counted over all cards"
    else:
        mask, tiles, what = (
            _numbers(_card_numbers(devices, cards)),
            False,
            "cards, by PCI address among those that open",
        )
    differs = not tiles and mask != ",".join(str(device.pci_order) for device in devices)
    shift = "; cards that do not open are not counted" if differs else ""
    changes = [
        _set("ZE_AFFINITY_MASK", mask, f"the selected {what}{shift}"),
        _set(
            "ZE_FLAT_DEVICE_HIERARCHY",
            "FLAT" if tiles else "COMPOSITE",
            f"the mask counts {'tiles' if tiles else 'cards'}",
        ),
    ]
    if any(device.simulated for device in devices):
        # One layer above the mask, which would name real cards where the host has some.
        changes.append(_set("ONEAPI_DEVICE_SELECTOR", "opencl:cpu", "the cards are simulated: no real one is touched"))
    if not any(_integrated(card) for card in shape.inventory if card.vendor == "xpu"):
        # With an integrated GPU the variable would put that one first; without it discrete cards keep their numbers.
        changes.append(_set("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", "the mask counts by PCI address"))
    return changes


def _integrated(device: Device) -> bool:
    return device.pci_order is None or bool(device.details.get("integrated"))


def _listed(inventory: Sequence[Device]) -> list[Device]:
    """The cards in the order of the runtime: discrete ones by PCI address, then integrated ones."""
    cards = [
        device
        for device in inventory
        if device.vendor == "xpu" and "#" not in device.key and device.state not in _UNLISTED
    ]
    return sorted(cards, key=lambda card: (_integrated(card), card.pci_address or ""))


def _numbers(numbers: set[int]) -> str:
    return ",".join(map(str, sorted(numbers))) or _NOWHERE


def _assumed_mask(devices: Sequence[Device]) -> str:
    """For cards that are not here the only numbers are those of the selector; tiles in the form `CARD.TILE`."""
    items = {
        device.key.partition(":")[2] if device.key.startswith("xpu:") else str(device.pci_order) for device in devices
    }
    return (
        ",".join(sorted(items, key=lambda item: [int(part) for part in item.split(".") if part.isdecimal()]))
        or _NOWHERE
    )


def _card_numbers(devices: Sequence[Device], cards: Sequence[Device]) -> set[int]:
    keys = {device.key for device in devices}
    return {number for number, card in enumerate(cards) if card.key in keys}


def _tile_numbers(devices: Sequence[Device], cards: Sequence[Device]) -> set[int]:
    """Numbers of tiles over all cards; a whole card stands for all of its tiles."""
    keys = {device.key for device in devices}
    numbers: set[int] = set()
    first = 0
    for card in cards:
        count = _tiles(card)
        numbers |= {first + tile for tile in range(count) if card.key in keys or f"{card.key}#{tile}" in keys}
        first += count
    return numbers


def _tiles(card: Device) -> int:
    tiles = card.details.get("tiles", 1)
    return tiles if isinstance(tiles, int) and tiles > 0 else 1


def hidden(shape: LaunchShape) -> list[EnvironmentChange]:
    """What keeps torch from seeing any Intel GPU."""
    if not any(device.vendor == "xpu" for device in shape.inventory):
        return []
    return [_set("ZE_AFFINITY_MASK", _NOWHERE, "the run was given no GPU: a number that no card has")]


def allowed(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str] | None:
    """Keys of the cards that an inherited mask leaves; None where none limits. `devices`: every card of the host."""
    mask = base.get("ZE_AFFINITY_MASK", "").strip()
    if mask in ("", "default"):
        return None
    items = [item.partition(".")[0] for item in mask.split(",")]
    numbers = {int(item) for item in items if item.isdecimal()}
    cards = _listed(devices)
    if base.get("ZE_FLAT_DEVICE_HIERARCHY") in ("FLAT", "COMBINED"):
        owners = [card.key for card in cards for _ in range(_tiles(card))]
    else:
        owners = [card.key for card in cards]
    return frozenset(key for number, key in enumerate(owners) if number in numbers)


def _set(name: str, value: str, reason: str) -> EnvironmentChange:
    return EnvironmentChange(name, value, EnvironmentAction.SET, reason)
