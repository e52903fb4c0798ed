"""The simulated servers as data: which cards, who holds them, what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accel_tui.model.devices import Device, DeviceState, Holder
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GIB = 1 << 30


@dataclass(frozen=True)
class Model:
    """What all cards of one product have in common."""

    vendor: str
    torch_device: str
    name: str
    memory_bytes: int
    idle_memory_bytes: int
    """Used by the card itself when nothing runs."""
    idle_watts: float
    top_watts: float
    limit_watts: float
    idle_mhz: float
    top_mhz: float
    pcie_gen: int
    driver_version: str
    links: int | None = None
    tiles: int = 1
    fan_rpm: int | None = None
    integrated: bool = False
    pcie_width: int = 16


@dataclass(frozen=True)
class Card:
    """One simulated card and what goes on on it."""

    device: Device
    model: Model
    load: float = 0.0
    """Utilization about which it moves, 0 to 1."""
    used_bytes: int | None = None
    """Memory held by its holders; None: idle."""
    holders: tuple[Holder, ...] = ()
    denied: tuple[str, ...] = ()
    """Readings that this account may not see."""
    stale: bool = False
    """It stopped answering a while ago."""
    run_since: float | None = None
    """Since when a run of ours has it, in seconds since the epoch; None: none has."""


HL_325L = Model(
    "gaudi", "hpu", "HL-325L", 128 * GIB, 672 << 20, 221, 780, 900, 1200, 1900, 5, "1.23.0-0a1b2c3", links=21
)
HL_225 = Model("gaudi", "hpu", "HL-225", 96 * GIB, 768 << 20, 91, 520, 600, 1100, 1650, 4, "1.23.0-0a1b2c3", links=21)
B60 = Model("xpu", "xpu", "Intel(R) Arc(TM) Pro B60 Graphics", 24 * GIB, 96 << 20, 30, 190, 200, 400, 2400, 5, "6.17.0",
            fan_rpm=820, pcie_width=8)  # fmt: skip
MAX_1550 = Model("xpu", "xpu", "Intel(R) Data Center GPU Max 1550", 128 * GIB, 120 << 20, 152, 560, 600, 900, 1600, 5,
                 "25.18.33578", tiles=2)  # fmt: skip
INTEGRATED = Model("xpu", "xpu", "Intel(R) Graphics", 62 * GIB, 64 << 20, 4, 15, 25, 300, 2000, 3, "6.17.0",
                   integrated=True)  # fmt: skip
WORKSTATION = Model("cpu", "cpu", "Intel(R) Core(TM) Ultra 9 285K", 125 * GIB, 9 * GIB, 38, 210, 250, 800, 5600, 5, "")
HOST = Model("cpu", "cpu", "Intel(R) Xeon(R) Platinum 8480+", 1007 * GIB, 38 * GIB, 190, 640, 700, 1200, 3000, 5, "")

# Slot, driver number and address differ on purpose: nothing may take one for another.
_EIGHT = (
    (0, 2, "0000:19:00.0"),
    (1, 0, "0000:3b:00.0"),
    (2, 1, "0000:4c:00.0"),
    (3, 3, "0000:5d:00.0"),
    (4, 7, "0000:9a:00.0"),
    (5, 4, "0000:b3:00.0"),
    (6, 9, "0000:cc:00.0"),
    (7, 5, "0000:dd:00.0"),
)


def demo_names() -> tuple[str, ...]:
    """The names that `--demo` takes."""
    return tuple(_SERVERS)


def check_demo(name: str) -> str:
    """`name` itself.

    Raises:
        UsageError: there is no such server; the message lists those that there are.
    """
    if name not in _SERVERS:
        known = ", ".join(_SERVERS)
        raise UsageError(f"there is no simulated server {name!r}; there are: {known}", remedy=f"--demo one of: {known}")
    return name


def server(name: str) -> tuple[Card, ...]:
    """The cards of a simulated server, its host's CPU last.

    Raises:
        UsageError: there is no such server.
    """
    return (*_SERVERS[check_demo(name)](), host(WORKSTATION, 24, 1) if name == "mixed" else host(HOST, 224, 2))


def host(model: Model, threads: int, sockets: int) -> Card:
    """The CPU beside the cards; the one of a workstation has no hyper-threads."""
    cores = threads // sockets
    details = {
        "cores": float(cores),
        "physical_cores": cores,
        "threads": threads,
        "sockets": sockets,
        "affinity": f"0-{threads - 1}",
        "quota_cores": None,
        "numa_nodes": list(range(sockets)),
        "memory_host_bytes": model.memory_bytes,
        "memory_limited": False,
    }
    device = Device(
        "cpu", "cpu", "cpu", model.name, memory_total_bytes=model.memory_bytes, simulated=True, details=details
    )
    return Card(device, model, load=0.12)


def gaudi(model: Model, module: int, index: int, address: str) -> Card:
    device = Device(
        key=f"pci:{address}",
        vendor="gaudi",
        torch_device="hpu",
        name=model.name,
        index=index,
        module_id=module,
        pci_address=address,
        uuid=f"00P{module}-HL{'3000' if model is HL_325L else '2000'}A0-00-DEMO{module:02d}-00-00-00",
        serial=f"DM5004{1880 + module}",
        driver_version=model.driver_version,
        memory_total_bytes=model.memory_bytes,
        numa_node=0 if module < 4 else 1,
        simulated=True,
        details={
            "node": f"accel/accel{index}",
            "firmware": "62.0.0",
            "pci_id": "1da3:1060" if model is HL_325L else "1da3:1020",
        },
    )
    return Card(device, model)


def xpu(model: Model, index: int, address: str, pci_id: str, numa: int = 0, *, driver: str = "xe") -> Card:
    details = {
        "node": f"dri/renderD{128 + index}",
        "driver": driver,
        "pci_id": pci_id,
        "integrated": model.integrated,
        "tiles": model.tiles,
    }
    device = Device(
        key=f"pci:{address}",
        vendor="xpu",
        torch_device="xpu",
        name=model.name,
        index=index,
        pci_address=address,
        uuid=_uuid(address, pci_id),
        driver_version=model.driver_version,
        memory_total_bytes=model.memory_bytes,
        numa_node=numa,
        simulated=True,
        details=details,
    )
    return Card(device, model)


def _uuid(address: str, pci_id: str, tile: int = 0) -> str:
    """As torch prints it: vendor, device, revision, domain, bus, slot and function in byte order, the tile last."""
    _, bus, slot = address.split(":")
    slot, function = slot.split(".")
    return f"8680{pci_id[7:9]}{pci_id[5:7]}-0000-0000-{bus}{slot}-{int(function):02x}00000000{tile:02x}"


def tiles(card: Card) -> list[Card]:
    """A card followed by its tiles, which share its address and halve its memory."""
    count = card.model.tiles
    parts = []
    for tile in range(count):
        device = replace(
            card.device,
            key=f"{card.device.key}#{tile}",
            name=f"{card.model.name} tile {tile}",
            uuid=_uuid(card.device.pci_address or "", str(card.device.details["pci_id"]), tile + 1),
            memory_total_bytes=card.model.memory_bytes // count,
            details={**card.device.details, "tiles": 1, "tile": tile, "card": card.device.key},
        )
        share = {name: getattr(card.model, name) / count for name in ("idle_watts", "top_watts", "limit_watts")}
        part = replace(
            card.model,
            memory_bytes=card.model.memory_bytes // count,
            idle_memory_bytes=card.model.idle_memory_bytes // count,
            **share,
        )
        parts.append(replace(card, device=device, model=part))
    return [card, *parts]


@dataclass(frozen=True)
class _Twist:
    """What is out of the ordinary about one card of `server8`."""

    load: float = 0.0
    used_bytes: int | None = None
    holders: tuple[Holder, ...] = ()
    denied: tuple[str, ...] = ()
    stale: bool = False
    state: DeviceState = DeviceState.OPERATIONAL
    details: Mapping[str, object] = field(default_factory=dict)


# Modules 0 to 3 are free, so that a job on a group of four can start; the other four show what can be in the way.
_TWISTS: dict[int, _Twist] = {
    3: _Twist(denied=("ecc_corrected", "ecc_uncorrected")),
    4: _Twist(used_bytes=41 * GIB, holders=(Holder(88121, "mw", "python serve.py --port 8080"),)),
    5: _Twist(
        load=0.97,
        used_bytes=119 * GIB,
        holders=(Holder(41277, "kx3", "python -m torch.distributed.run train.py"),),
        denied=("power_watts",),
    ),
    6: _Twist(load=0.6, used_bytes=62 * GIB, stale=True, holders=(Holder(30412, None, None),)),
    7: _Twist(state=DeviceState.NEEDS_RESET, details={"status_text": "Needs reset"}),
}


def _server8() -> list[Card]:
    cards = []
    for module, index, address in _EIGHT:
        card, twist = gaudi(HL_325L, module, index, address), _TWISTS.get(module, _Twist())
        device = replace(card.device, state=twist.state, details={**card.device.details, **twist.details})
        cards.append(
            replace(
                card,
                device=device,
                load=twist.load,
                used_bytes=twist.used_bytes,
                holders=twist.holders,
                denied=twist.denied,
                stale=twist.stale,
            )
        )
    return cards


def _mixed() -> Sequence[Card]:
    """No shop sells this one: an integrated GPU beside discrete cards of two vendors, so that all are tried at once."""
    return [
        gaudi(HL_325L, 2, 1, "0000:4c:00.0"),
        gaudi(HL_325L, 3, 0, "0000:5d:00.0"),
        xpu(INTEGRATED, 0, "0000:00:02.0", "8086:7d67", driver="i915"),
        xpu(B60, 1, "0000:8a:00.0", "8086:e211"),
        xpu(B60, 2, "0000:b1:00.0", "8086:e211"),
    ]


_SERVERS: dict[str, Callable[[], Sequence[Card]]] = {
    "server8": _server8,
    "gaudi3": lambda: [gaudi(HL_325L, *place) for place in _EIGHT],
    "gaudi2": lambda: [gaudi(HL_225, *place) for place in _EIGHT],
    "b60x4": lambda: [
        xpu(B60, index, f"0000:{bus}:00.0", "8086:e211", numa=index // 2)
        for index, bus in enumerate(("03", "1b", "4f", "8a"))
    ],
    "max1550x2": lambda: [
        card
        for index, bus in enumerate(("29", "9a"))
        for card in tiles(xpu(MAX_1550, index, f"0000:{bus}:00.0", "8086:0bd5", numa=index, driver="i915"))
    ],
    "mixed": _mixed,
}
