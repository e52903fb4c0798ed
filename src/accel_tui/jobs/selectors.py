"""Device selectors: the grammar, and what a selector means on an inventory.

    SELECTOR = none | auto | auto:VENDOR:N | PART ("," PART)*
    PART     = cpu | gaudi:ITEMS | xpu:ITEMS | pci:ADDRESS[#TILE]
    ITEMS    = ITEM ("," ITEM)*
    ITEM     = NUMBER | NUMBER-NUMBER | NUMBER.TILE     (TILE for xpu alone)

Gaudi numbers are module IDs; XPU numbers are ranks among the discrete cards by PCI address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import Device, DeviceState, Inventory
from accel_tui.model.errors import UsageError
from accel_tui.vendors.gaudi import groups as gaudi_groups
from accel_tui.vendors.gaudi.generations import hidden_use_bytes
from accel_tui.vendors.xpu import launch as xpu_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

ACCELERATORS = ("gaudi", "xpu")

_ITEM = re.compile(r"(0|[1-9][0-9]{0,3})(?:-(0|[1-9][0-9]{0,3})|\.(0|[1-9][0-9]{0,2}))?")
_PCI = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])(?:#(0|[1-9][0-9]?))?")
_EXAMPLES = "such as gaudi:0,1 or gaudi:0-3, xpu:0,2 or xpu:0.1, pci:0000:17:00.0, cpu, auto, auto:gaudi:2, none"


@dataclass(frozen=True)
class Part:
    """One named device: a vendor and a number, or a key."""

    vendor: str
    """`gaudi`, `xpu`, `cpu` or `pci`."""
    number: int = 0
    tile: int | None = None
    address: str | None = None
    """For `pci`, in lower case."""

    def __str__(self) -> str:
        tile = "" if self.tile is None else f"#{self.tile}" if self.vendor == "pci" else f".{self.tile}"
        if self.vendor == "cpu":
            return "cpu"
        return f"{self.vendor}:{self.address if self.vendor == 'pci' else self.number}{tile}"


@dataclass(frozen=True)
class Selector:
    """A parsed selector: `none`, `auto`, or named parts."""

    text: str
    parts: tuple[Part, ...] = ()
    auto: bool = False
    vendor: str | None = None
    """Of `auto:VENDOR:N`; None for plain `auto`."""
    count: int = 1

    @property
    def nothing(self) -> bool:
        return not self.auto and not self.parts


@dataclass(frozen=True)
class Selection:
    """What a selector means on one inventory."""

    keys: tuple[str, ...]
    """In the order that the job sees them: Gaudi by module ID, XPU by PCI address."""
    devices: tuple[Device, ...] = ()
    """The same as far as they are here; a tile is given as its card with the tile's key."""
    missing: tuple[str, ...] = ()
    """Selected parts that this host does not have, as written."""
    assumed: tuple[Device, ...] = ()
    """What is known of the missing ones from their names alone, so that a plan for another host can be shown."""
    waiting_for: str | None = None
    """What `auto` waits for; None when it is decided."""

    possible: bool = True
    """Whether this host could ever give what `auto` waits for."""

    @property
    def verified(self) -> bool:
        """Whether everything that is selected is on this host, be it busy."""
        return not self.missing and self.possible


def parse(text: str) -> Selector:
    """The selector that `text` writes.

    Raises:
        UsageError: it is none; the message names the part and the remedy shows examples.
    """
    stripped = text.strip()
    if stripped == "none":
        return Selector(stripped)
    if stripped == "auto" or stripped.startswith("auto:"):
        return _parse_auto(stripped)
    parts = _parse_parts(stripped)
    seen: dict[Part, str] = {}
    for part in parts:
        if part in seen:
            raise _bad(text, f"{part} is named twice")
        seen[part] = str(part)
    _refuse_overlap(text, parts)
    return Selector(stripped, tuple(parts))


def _bad(text: str, reason: str) -> UsageError:
    return UsageError(f"bad device selector {text!r}: {reason}", remedy=_EXAMPLES)


def _parse_auto(text: str) -> Selector:
    if text == "auto":
        return Selector(text, auto=True)
    words = text.split(":")
    if len(words) != 3 or not re.fullmatch(r"[1-9][0-9]{0,2}", words[2]):
        raise _bad(text, "after auto: a vendor and a number of devices are expected, as in auto:gaudi:2")
    if words[1] not in (*ACCELERATORS, "cpu"):
        raise _bad(text, f"unknown vendor {words[1]!r}; known: gaudi, xpu, cpu")
    if words[1] == "cpu" and words[2] != "1":
        raise _bad(text, "there is one CPU device")
    return Selector(text, auto=True, vendor=words[1], count=int(words[2]))


def _parse_parts(text: str) -> list[Part]:
    parts: list[Part] = []
    vendor: str | None = None
    if not text:
        raise _bad(text, "it is empty")
    for word in text.split(","):
        item = word.strip()
        if item in ("auto", "none") or item.startswith("auto:"):
            raise _bad(text, f"{item} cannot be combined with others")
        head, colon, rest = item.partition(":")
        if item == "cpu":
            vendor = None
            parts.append(Part("cpu"))
        elif head == "pci" and colon:
            vendor = None
            parts.append(_parse_pci(text, rest))
        elif colon and head in ACCELERATORS:
            vendor = head
            parts.extend(_parse_item(text, vendor, rest))
        elif colon:
            raise _bad(text, f"unknown vendor {head!r}; known: gaudi, xpu, pci, cpu")
        elif vendor is not None:
            parts.extend(_parse_item(text, vendor, item))
        else:
            raise _bad(text, "an item is empty" if not item else f"{item!r} has no vendor in front")
    return parts


def _parse_pci(text: str, rest: str) -> Part:
    match = _PCI.fullmatch(rest)
    if match is None:
        raise _bad(text, f"{rest!r} is not a full PCI address, as in pci:0000:17:00.0")
    tile = match.group(5)
    return Part("pci", tile=None if tile is None else int(tile), address=rest.partition("#")[0].lower())


def _parse_item(text: str, vendor: str, item: str) -> list[Part]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise _bad(text, f"{item!r} is not a number or a range" if item else "an item is empty")
    first, last, tile = match.groups()
    if tile is not None:
        if vendor != "xpu":
            raise _bad(text, f"{vendor} cards have no tiles")
        return [Part(vendor, int(first), int(tile))]
    if last is None:
        return [Part(vendor, int(first))]
    if int(last) < int(first):
        raise _bad(text, f"the range {item} runs backwards")
    if int(last) - int(first) >= 64:
        raise _bad(text, f"the range {item} is too long")
    return [Part(vendor, number) for number in range(int(first), int(last) + 1)]


def _refuse_overlap(text: str, parts: Sequence[Part]) -> None:
    """A card and one of its tiles are the same card twice."""
    whole = {(part.vendor, part.number, part.address) for part in parts if part.tile is None}
    for part in parts:
        if part.tile is not None and (part.vendor, part.number, part.address) in whole:
            raise _bad(text, f"{part} is part of a card that is named too")


def resolve(
    selector: Selector | str,
    inventory: Inventory,
    free: Callable[[Device], bool] | Collection[str] | None = None,
    outside: Collection[str] = (),
) -> Selection:
    """What `selector` means here.

    `free` says which devices `auto` may take: a predicate or the keys; by default those that are operational and that
    nobody has reserved. `outside` are the keys that it may never take. Named devices are returned whether free or not.

    Raises:
        UsageError: two parts are the same card.
    """
    if isinstance(selector, str):
        selector = parse(selector)
    if selector.auto:
        return _automatic(selector, inventory, free, outside)
    found: dict[str, Device] = {}
    missing: list[str] = []
    assumed: list[Device] = []
    keys: list[str] = []
    for part in selector.parts:
        device = _find(part, inventory)
        key = str(part) if device is None else device.key
        if key in keys or _covered(key, keys):
            raise _bad(selector.text, f"{part} is the same card as another part ({key})")
        keys.append(key)
        if device is None:
            missing.append(str(part))
            assumed += _assumed(part)
        else:
            found[key] = device
    ordered = sorted(keys, key=lambda key: _order(found.get(key), key))
    return Selection(
        tuple(ordered), tuple(found[key] for key in ordered if key in found), tuple(missing), tuple(assumed)
    )


def _assumed(part: Part) -> list[Device]:
    """The device that a part would name on a host that has it; none for a bare address, which says no vendor."""
    if part.vendor == "gaudi":
        return [Device(str(part), "gaudi", "hpu", str(part), module_id=part.number, state=DeviceState.UNKNOWN)]
    if part.vendor == "xpu":
        return [Device(str(part), "xpu", "xpu", str(part), pci_order=part.number, state=DeviceState.UNKNOWN)]
    return []


def _covered(key: str, keys: Sequence[str]) -> bool:
    """Whether a card and one of its tiles meet."""
    card, _, tile = key.partition("#")
    return any(other == card if tile else other.partition("#")[0] == key for other in keys)


def _order(device: Device | None, key: str) -> tuple[int, int, str]:
    if device is None:
        return (2, 0, key)
    if device.module_id is not None:
        return (0, device.module_id, key)
    return (1, device.pci_order if device.pci_order is not None else 1 << 16, key)


def _find(part: Part, inventory: Inventory) -> Device | None:
    for view in inventory.devices:
        device = view.device
        if "#" not in device.key and _names(part, device):
            return device if part.tile is None else tile_of(device, part.tile)
    return None


def _names(part: Part, device: Device) -> bool:
    if part.vendor == "cpu":
        return device.vendor == "cpu"
    if part.vendor == "pci":
        return device.pci_address is not None and device.pci_address.lower() == part.address
    if device.vendor != part.vendor:
        return False
    return (device.module_id if part.vendor == "gaudi" else device.pci_order) == part.number


def tile_count(device: Device) -> int:
    """Tiles of a card; 1 where nothing else is known."""
    tiles = device.details.get("tiles", 1)
    return tiles if isinstance(tiles, int) and tiles > 0 else 1


def tile_of(device: Device, tile: int) -> Device | None:
    """The tile as a device of its own; None when the card has no such tile."""
    import dataclasses

    if tile >= tile_count(device):
        return None
    return dataclasses.replace(device, key=f"{device.key}#{tile}")


def integrated(device: Device) -> bool:
    """Whether this is a processor's own GPU: selectable by address, never offered by `auto`."""
    return device.vendor == "xpu" and (device.pci_order is None or bool(device.details.get("integrated")))


def _automatic(
    selector: Selector,
    inventory: Inventory,
    free: Callable[[Device], bool] | Collection[str] | None,
    outside: Collection[str],
) -> Selection:
    available = [device for device in _available(inventory, free) if device.key not in outside]
    if selector.vendor is None:
        cards = [device for device in available if device.vendor in ACCELERATORS]
        if not cards:
            cards = [view.device for view in inventory.devices if view.device.vendor == "cpu"]
        chosen = sorted(cards, key=lambda device: _order(device, device.key))[:1]
        if not chosen:
            return Selection((), waiting_for="a device: this host lists none", possible=False)
        return Selection((chosen[0].key,), (chosen[0],))
    at_best = [device for device in candidates(selector, inventory) if device.key not in outside]
    now = [device for device in available if device.vendor == selector.vendor]
    group = _group(selector, now, inventory, at_best)
    if group is None:
        wanted = f"{selector.count} free {selector.vendor} device{'s' if selector.count > 1 else ''}"
        if selector.vendor == "xpu" and selector.count > 1:
            wanted += " of one product family"
        possible = _group(selector, at_best, inventory, at_best) is not None
        if not possible and selector.vendor == "gaudi" and at_best:
            wanted = f"{wanted} that go together: {gaudi_groups.never(selector.count, at_best)}"
        return Selection((), waiting_for=wanted, possible=possible)
    return Selection(tuple(device.key for device in group), tuple(group))


def candidates(selector: Selector, inventory: Inventory) -> list[Device]:
    """The whole cards that `auto` would choose from if all were free and in order."""
    vendors = ACCELERATORS if selector.vendor is None else (selector.vendor,)
    return [
        view.device
        for view in inventory.devices
        if view.device.vendor in vendors and "#" not in view.device.key and not integrated(view.device)
    ]


def _available(inventory: Inventory, free: Callable[[Device], bool] | Collection[str] | None) -> list[Device]:
    def allowed(device: Device) -> bool:
        if free is None:
            return True
        return free(device) if callable(free) else device.key in free

    return [
        view.device
        for view in inventory.devices
        if "#" not in view.device.key
        and (view.device.state is DeviceState.OPERATIONAL or view.device.vendor == "cpu")
        and not integrated(view.device)
        and (free is not None or view.device.vendor == "cpu" or (view.reserved_by is None and not view.holders))
        and allowed(view.device)
        and not (view.device.vendor == "gaudi" and hidden_use_bytes(view))
    ]


def _group(
    selector: Selector, cards: list[Device], inventory: Inventory, reach: Sequence[Device]
) -> list[Device] | None:
    """The first free group of the wanted size: a supported one of Gaudi, Intel GPUs that torch lists together."""
    if selector.vendor == "gaudi":
        views = [view for view in inventory.devices if view.device.vendor == "gaudi"]
        machine, within = [view.device for view in views], {device.key for device in reach}
        chosen = gaudi_groups.choose(selector.count, cards, machine, views, within)
        return None if chosen is None else list(chosen)
    families: dict[str | None, list[Device]] = {}
    for card in sorted(cards, key=lambda device: _order(device, device.key)):
        families.setdefault(xpu_launch.family(card), []).append(card)
    return next((alike[: selector.count] for alike in families.values() if len(alike) >= selector.count), None)
