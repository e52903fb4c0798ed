"""Joining what several sources of a vendor say into one table of devices; pure functions.

Devices are joined by key, which is the PCI address: the inventory is the union of all layers, and a card that one layer
alone sees is listed with a problem that names the silent ones. Of each reading the first source that says `ok` counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from accel_tui.model.devices import (
    Device,
    DeviceState,
    DeviceView,
    Holder,
    Problem,
    Reading,
    ReadingStatus,
    ReservedBy,
)
from accel_tui.vendors.xpu import order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

CORE_READINGS = ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius")
"""Shown as `pending` before a source of readings answered for the first time."""

GENERIC_NAME = "generic_name"
"""True among the details of a layer that knows the kind of a card and not its product name."""

STRANGE_STATE = "strange_state"
"""True among the details of a layer that was told a state in words which it does not know."""

# Of readings without a number the one that a person can do most about is told.
_WORTH = {
    status: rank
    for rank, status in enumerate(
        (
            ReadingStatus.OK,
            ReadingStatus.STALE,
            ReadingStatus.DENIED,
            ReadingStatus.FAILED,
            ReadingStatus.PENDING,
            ReadingStatus.ABSENT,
        )
    )
}
_FILLED = tuple(f.name for f in fields(Device) if f.name not in {"key", "vendor", "state", "details", "pci_order"})


@dataclass(frozen=True)
class Layer:
    """What one source said last."""

    label: str
    devices: Mapping[str, Device] | None = None
    """None: it lists no devices, or has not answered yet, so its silence means nothing."""
    readings: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    holders: Mapping[str, Sequence[Holder]] = field(default_factory=dict)


def join_devices(
    layers: Sequence[Layer], known: Mapping[str, Device] | None = None
) -> tuple[tuple[Device, ...], tuple[Problem, ...]]:
    """The union of the layers' devices in display order, and a problem for each layer that misses some.

    `known` are those that were there before: one that no layer lists any more is `lost`.
    """
    seen: dict[str, list[Device]] = {}
    for layer in layers:
        for key, device in (layer.devices or {}).items():
            seen.setdefault(key, []).append(device)
    devices = [_join(found) for found in seen.values()]
    silent = _silent(layers, devices)
    gone = [replace(device, state=DeviceState.LOST) for key, device in (known or {}).items() if key not in seen]
    return _ordered([*devices, *gone]), (*silent, *_lost(gone))


def join_readings(key: str, layers: Iterable[Layer]) -> dict[str, Reading]:
    """The best reading of each name for one device; earlier layers win among equals."""
    best: dict[str, Reading] = {}
    for layer in layers:
        for name, reading in layer.readings.get(key, {}).items():
            if name not in best or _WORTH[reading.status] < _WORTH[best[name].status]:
                best[name] = reading
    return best


def join_holders(key: str, layers: Iterable[Layer]) -> tuple[Holder, ...]:
    """Each process once; a layer that knows its user or command completes another."""
    known: dict[int, Holder] = {}
    for layer in layers:
        for holder in layer.holders.get(key, ()):
            other = known.get(holder.pid, holder)
            known[holder.pid] = replace(other, user=other.user or holder.user, command=other.command or holder.command)
    return tuple(sorted(known.values(), key=lambda holder: holder.pid))


def share_claims(views: Sequence[DeviceView]) -> tuple[DeviceView, ...]:
    """Claims of cards and their tiles told of each other.

    A card of which a tile is reserved is not free; nor is a tile whose card a process has open that is no run of ours,
    as nobody can tell which of the tiles it uses.
    """
    cards = {view.device.key: view for view in views}
    claimed: dict[str, ReservedBy] = {}
    for view in views:
        card, _, tile = view.device.key.partition("#")
        if tile and view.reserved_by is not None:
            claimed.setdefault(card, view.reserved_by)
    shared = []
    for view in views:
        card, _, tile = view.device.key.partition("#")
        if not tile and view.reserved_by is None and card in claimed:
            shared.append(replace(view, reserved_by=claimed[card]))
        elif tile and not view.holders and card in cards:
            strangers = tuple(holder for holder in cards[card].holders if holder.run is None)
            shared.append(replace(view, holders=strangers) if strangers else view)
        else:
            shared.append(view)
    return tuple(shared)


def _join(found: Sequence[Device]) -> Device:
    """One device out of several sightings: the first layer's facts, completed by the others."""
    first, rest = found[0], found[1:]
    missing: dict[str, Any] = {
        name: next((getattr(d, name) for d in rest if getattr(d, name) is not None), None)
        for name in _FILLED
        if getattr(first, name) is None
    }
    details = {name: value for device in reversed(found) for name, value in device.details.items()}
    if details.pop(GENERIC_NAME, False):
        proper = next((device.name for device in found if not device.details.get(GENERIC_NAME)), first.name)
        missing["name"] = proper
    state = _worst([device.state for device in found])
    if details.pop(STRANGE_STATE, False) and state is DeviceState.OPERATIONAL:
        # The driver has a word for it that is none of those for a sound card: another layer that merely answers is no
        # proof against it.
        state = DeviceState.UNKNOWN
    return replace(first, **missing, details=details, state=state)


def _worst(states: Sequence[DeviceState]) -> DeviceState:
    """The first layer that knows of a fault is believed; `unknown` counts only when nobody knows better."""
    faults = [s for s in states if s not in (DeviceState.OPERATIONAL, DeviceState.UNKNOWN)]
    if faults:
        return faults[0]
    return DeviceState.OPERATIONAL if DeviceState.OPERATIONAL in states else DeviceState.UNKNOWN


def _lost(gone: Sequence[Device]) -> tuple[Problem, ...]:
    remedy = "Look at the kernel log (dmesg); it stays listed until the supervisor ends."
    return tuple(
        Problem(device.vendor, "device-lost", f"{device.key} fell off: no layer sees it any more.", remedy)
        for device in gone
    )


def _silent(layers: Sequence[Layer], devices: Sequence[Device]) -> tuple[Problem, ...]:
    problems = []
    for vendor in dict.fromkeys(device.vendor for device in devices):
        # Tiles are parts of a card, which not every layer takes apart.
        present = {device.key for device in devices if device.vendor == vendor and "#" not in device.key}
        listing = [layer for layer in layers if layer.devices is not None and layer.label.startswith(f"{vendor}.")]
        for layer in listing:
            missed = sorted(present - set(layer.devices or {}))
            if missed:
                message = f"{layer.label} does not see {', '.join(missed)}, which another layer lists."
                problems.append(Problem(vendor, "layer-silent", message))
    return tuple(problems)


def _ordered(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Ranks among discrete cards filled in, and the order of display: accelerators by module and address, CPU last."""
    addresses: dict[str, list[str]] = {}
    for device in devices:
        if device.pci_address is not None and not device.details.get("integrated"):
            known = addresses.setdefault(device.vendor, [])
            if device.pci_address not in known:
                known.append(device.pci_address)
    for known in addresses.values():
        known.sort()
    ranked = []
    for device in devices:
        known = addresses.get(device.vendor, [])
        rank = known.index(device.pci_address) if device.pci_address in known else None
        ranked.append(replace(device, pci_order=rank))
    return tuple(sorted(map(_numbered(ranked), ranked), key=_place))


def _numbered(devices: Sequence[Device]) -> Callable[[Device], Device]:
    """Adds `affinity_mask` to the details of an Intel GPU whose number in a mask is not its position."""
    numbers = order.shown(devices)

    def number(device: Device) -> Device:
        if device.key not in numbers:
            return device
        return replace(device, details={**device.details, "affinity_mask": numbers[device.key]})

    return number


def _place(device: Device) -> tuple[bool, str, int, str, str]:
    module = 1 << 30 if device.module_id is None else device.module_id
    return device.vendor == "cpu", device.vendor, module, device.pci_address or "", device.key
