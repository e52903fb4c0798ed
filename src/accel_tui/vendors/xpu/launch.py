"""The variables that give a run its Intel GPUs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.plans import EnvironmentAction, EnvironmentChange, PlanWarning
from accel_tui.vendors.xpu import order, selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accel_tui.model.devices import Device
    from accel_tui.model.launching import LaunchShape

# An index beyond the last card leaves none; an empty mask would mean all of them.
_NOWHERE = "9999"
_SELECTOR = "ONEAPI_DEVICE_SELECTOR"
# Of the runtime's other variables (SYCL_CACHE_PERSISTENT, NEO_CACHE_DIR, ...) none chooses a card: they stay.
_OLDER_SELECTORS = ("SYCL_DEVICE_FILTER", "SYCL_DEVICE_ALLOWLIST", "SYCL_DEVICE_TYPE", "SYCL_BE")
_COUNTING = (order.MASK_VARIABLE, order.HIERARCHY_VARIABLE, order.ORDER_VARIABLE)
_PREFIXED = tuple(prefix + name for prefix in order.PREFIXES for name in _COUNTING)
"""The driver prefers the same names with a prefix."""


EXCLUSIVE = False
"""Several processes may share a card."""


def device_variables() -> tuple[str, ...]:
    """Names, or prefixes that end in `*`, that choose cards and never reach a run by inheritance."""
    return (*_COUNTING, *_PREFIXED, _SELECTOR, *_OLDER_SELECTORS)


def environment(devices: Sequence[Device], shape: LaunchShape) -> list[EnvironmentChange]:
    """What a run on `devices` gets: one mask for all its ranks, order and hierarchy that the mask is counted in."""
    mask, hierarchy, reason = _mask(devices, shape.inventory)
    counts = "tiles" if hierarchy == order.FLAT else "cards"
    changes = [
        *_overruled(shape.base),
        _set(order.MASK_VARIABLE, mask, reason),
        _set(order.HIERARCHY_VARIABLE, hierarchy, f"the mask counts {counts}"),
    ]
    if any(device.simulated for device in devices):
        # One layer above the mask, which would name real cards where the host has some.
        changes.append(_set(_SELECTOR, "opencl:cpu", "the cards are simulated: no real one is touched"))
    if not _beside_integrated(shape.inventory):
        changes.append(_set(order.ORDER_VARIABLE, "1", "the mask counts by PCI address"))
    return changes


def torch_keys(devices: Sequence[Device], inventory: Sequence[Device]) -> tuple[str, ...]:
    """What torch will list under `environment`, in its order: keys of cards, and of tiles where the mask counts tiles.

    Integrated GPUs are dropped where a discrete card is listed, as torch does.
    """
    chosen = _by_card(devices)
    cards = [card for card in order.in_order(inventory) if card.key in chosen]
    if _hierarchy(devices) == order.FLAT:
        keys = [
            f"{card.key}#{tile}" if order.tiles(card) > 1 else card.key
            for card in _seen_by_torch(cards)
            for tile in sorted(chosen[card.key] or range(order.tiles(card)))
        ]
    else:
        keys = [
            card.key if not chosen[card.key] else f"{card.key}#{min(chosen[card.key])}"
            for card in _seen_by_torch(cards)
        ]
    return tuple(keys)


def expected_keys(devices: Sequence[Device], inventory: Sequence[Device]) -> tuple[str, ...]:
    """What a run on `devices` must see, in the order of its ranks: what torch lists, then what it cannot list."""
    numbers = order.card_numbers(inventory)
    uncounted = [device.key for device in devices if device.key.partition("#")[0] not in numbers]
    return (*torch_keys(devices, inventory), *uncounted)


def chip_uuids(devices: Sequence[Device]) -> str:
    """`KEY=UUID,…` of the cards whose uuid does not hold their PCI address, as with some drivers of the Max series."""
    cards = {device.key.partition("#")[0]: device for device in devices if device.vendor == "xpu"}
    return ",".join(f"{key}={card.uuid}" for key, card in cards.items() if card.uuid and not _holds_address(card))


def _holds_address(card: Device) -> bool:
    """Whether the bytes begin with Intel's PCI vendor in either order in which they are printed."""
    digits = "".join(letter for letter in (card.uuid or "").lower() if letter in "0123456789abcdef")
    return len(digits) != 32 or digits.startswith("8680") or digits.endswith("8086")


def warnings(devices: Sequence[Device], inventory: Sequence[Device]) -> list[PlanWarning]:
    """What a person should know who chose `devices` together."""
    found = []
    keys = {device.key.partition("#")[0] for device in devices}
    cards = [card for card in inventory if order.is_card(card) and card.key in keys]
    discrete = [card for card in cards if not order.integrated(card)]
    families = _families(discrete)
    if len(families) > 1:
        text = f"the selected cards are of {len(families)} product families ({', '.join(families)}): torch lists one"
        found.append(PlanWarning("mixed-families", f"{text}, the run sees fewer cards than selected"))
    if discrete and len(discrete) < len(cards):
        text = "torch drops an integrated GPU as soon as a discrete card is visible: the run sees the cards alone"
        found.append(PlanWarning("integrated-dropped", text))
    listed = torch_keys(devices, inventory)
    if len(listed) > len(devices) and not found:
        text = f"whole cards and several tiles of one card: the run sees {len(listed)} devices, each of them a tile"
        found.append(PlanWarning("counted-as-tiles", text))
    return [*found, *_doubts(cards, inventory)]


def apart(devices: Sequence[Device]) -> str | None:
    """Why torch does not list these cards and tiles together, in a few words; None where it does."""
    discrete = [device for device in devices if not order.integrated(device)]
    families = _families(discrete)
    if len(families) > 1:
        return f"torch lists one product family of {' and '.join(families)}"
    return "torch drops the integrated one" if 0 < len(discrete) < len(devices) else None


def _families(discrete: Sequence[Device]) -> list[str]:
    return sorted({kind for card in discrete if (kind := family(card)) is not None})


def _doubts(cards: Sequence[Device], inventory: Sequence[Device]) -> Iterable[PlanWarning]:
    """Cards in front of the chosen ones of which nobody knows whether the driver counts them."""
    last = max(map(order.place, cards), default=())
    # An integrated one is counted last, as the order variable is left out beside it.
    before = [card for card in inventory if order.is_card(card) and not order.integrated(card)]
    doubtful = [card.key for card in before if order.uncertain(card) and order.place(card) < last]
    if doubtful and any(card.key not in doubtful for card in cards):
        text = f"whether the driver counts {', '.join(doubtful)} is not known beforehand; the numbers behind may be off"
        yield PlanWarning("order-uncertain", f"{text}, and each rank checks which card it holds")


def hidden(shape: LaunchShape) -> list[EnvironmentChange]:
    """What keeps torch from seeing any Intel GPU."""
    if not any(device.vendor == "xpu" for device in shape.inventory):
        return []
    reason = "the run was given no GPU: a number that no card has"
    return [*_overruled(shape.base), _set(order.MASK_VARIABLE, _NOWHERE, reason)]


def allowed(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str] | None:
    """Keys of the cards and tiles that inherited variables leave; None where none limits.

    `devices`: every card and tile of the host. A card of which only some tiles are left is not among the keys.
    """
    left = order.left_by(devices, base)
    picked = selector.parse(base.get(_SELECTOR))
    if left is None and picked is None:
        return None
    cards = order.in_order(devices)
    if left is None:
        left = {card.key: frozenset(range(order.tiles(card))) for card in cards}
    if picked is not None:
        visible = [card.key for card in _seen_by_torch([card for card in cards if card.key in left])]
        left = {key: left[key] for index, key in enumerate(visible) if picked.takes(index)}
    whole = {card.key for card in cards if left.get(card.key) == frozenset(range(order.tiles(card)))}
    return frozenset(whole | {f"{key}#{tile}" for key, parts in left.items() for tile in parts})


def _overruled(base: Mapping[str, str]) -> list[EnvironmentChange]:
    """Inherited variables that would stand above the mask, or be counted in what it left."""
    reason = "inherited; it would stand above the mask"
    return [
        EnvironmentChange(name, None, EnvironmentAction.UNSET, reason)
        for name in (*_PREFIXED, order.ORDER_VARIABLE, _SELECTOR)
        if name in base
    ]


def _mask(devices: Sequence[Device], inventory: Sequence[Device]) -> tuple[str, str, str]:
    """Value, hierarchy and reason of the mask."""
    known = {device.key.partition("#")[0] for device in inventory}
    hierarchy = _hierarchy(devices)
    if any(device.key.partition("#")[0] not in known for device in devices):
        reason = "the selected cards as numbered in the selector; they are not on this host"
        return _assumed_mask(devices), order.COMPOSITE, reason
    if hierarchy == order.FLAT:
        return _tile_mask(devices, inventory), hierarchy, "the selected tiles, counted over all cards"
    mask, others = _card_mask(devices, inventory)
    if mask == _NOWHERE:
        return (
            mask,
            hierarchy,
            "the driver lists none of the selected cards for this account: a number that no card has",
        )
    reason = "the selected cards, by PCI address among those that open"
    if _beside_integrated(inventory):
        reason += f"; discrete ones first: beside an integrated GPU {order.ORDER_VARIABLE} is left out"
    return mask, hierarchy, reason + "".join(f"; {name} is {number} here" for name, number in others)


def _by_card(devices: Sequence[Device]) -> dict[str, frozenset[int]]:
    """The chosen tiles by their card's key; empty for a whole card."""
    chosen: dict[str, frozenset[int]] = {}
    for device in devices:
        key, _, tile = device.key.partition("#")
        chosen[key] = chosen.get(key, frozenset()) | (frozenset((int(tile),)) if tile else frozenset())
    return chosen


def _hierarchy(devices: Sequence[Device]) -> str:
    """The hierarchy in which torch lists what was chosen: cards as cards, each tile as a device of its own.

    A card of which one tile is left is that tile under COMPOSITE too; two tiles of one card would be one device.
    """
    chosen = _by_card(devices)
    whole = any(not parts for parts in chosen.values())
    several = any(len(parts) > 1 for parts in chosen.values())
    return order.FLAT if any(chosen.values()) and (several or not whole) else order.COMPOSITE


def _card_mask(devices: Sequence[Device], inventory: Sequence[Device]) -> tuple[str, list[tuple[str, int]]]:
    """The mask of whole cards (`N`) and single tiles (`N.T`), and the cards whose number is not their position."""
    numbers = order.card_numbers(inventory)
    chosen = _by_card(devices)
    items = sorted((numbers[key], *parts) for key, parts in chosen.items() if key in numbers)
    positions = {device.key.partition("#")[0]: device.pci_order for device in devices}
    differ = [
        (key if positions[key] is None else f"xpu:{positions[key]}", numbers[key])
        for key in chosen
        if key in numbers and numbers[key] != positions[key]
    ]
    return ",".join(".".join(map(str, item)) for item in items) or _NOWHERE, differ


def _tile_mask(devices: Sequence[Device], inventory: Sequence[Device]) -> str:
    """Numbers of tiles over all cards; a whole card stands for all of its tiles."""
    numbers, chosen = order.tile_numbers(inventory), _by_card(devices)
    items = sorted(
        numbers[key][tile]
        for key, parts in chosen.items()
        if key in numbers
        for tile in (parts or range(len(numbers[key])))
        if tile < len(numbers[key])
    )
    return ",".join(map(str, items)) or _NOWHERE


def _assumed_mask(devices: Sequence[Device]) -> str:
    """For cards that are not here the only numbers are those of the selector; tiles in the form `CARD.TILE`."""
    items = {
        device.key.partition(":")[2] if device.key.startswith("xpu:") else str(device.pci_order) for device in devices
    }
    return (
        ",".join(sorted(items, key=lambda item: [int(part) for part in item.split(".") if part.isdecimal()]))
        or _NOWHERE
    )


def _beside_integrated(inventory: Sequence[Device]) -> bool:
    """With an integrated GPU the order variable would put that one first, if the driver knows it, which is not sure.

    Without the variable discrete cards keep their numbers either way. One that may be integrated counts too.
    """
    cards = [card for card in inventory if order.is_card(card)]
    return any(order.integrated(card) or order.unclear_kind(card) for card in cards)


def _seen_by_torch(cards: Sequence[Device]) -> list[Device]:
    discrete = [card for card in cards if not order.integrated(card)]
    return discrete or list(cards)


_FAMILIES = {"56": "Arc A or Flex", "4f": "Arc A", "49": "Iris Xe Max", "0b": "Max", "e2": "Arc B"}
# The same families as the inventory names them.
_FAMILY_WORDS = {"pvc": "Max", "dg1": "Iris Xe Max", "dg2": "Arc A or Flex", "bmg": "Arc B"}


def family(card: Device) -> str | None:
    """The product family, of which the driver makes one platform each; None where it is not known."""
    named = card.details.get("family")
    if isinstance(named, str):
        return _FAMILY_WORDS.get(named, named)
    identity = card.details.get("pci_id")
    return _FAMILIES.get(identity.partition(":")[2][:2].lower()) if isinstance(identity, str) else None


def _set(name: str, value: str, reason: str) -> EnvironmentChange:
    return EnvironmentChange(name, value, EnvironmentAction.SET, reason)
