"""The source `xpu.sysfs`: inventory and the readings that need no library, from sysfs, hwmon and fdinfo."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model import surroundings
from accel_tui.model.devices import Device, DeviceState, Holder, Problem, Reading, absent, denied, ok
from accel_tui.vendors.xpu import ids, link
from accel_tui.vendors.xpu.cards import Card, find, tile_folders
from accel_tui.vendors.xpu.clients import Client, Processes
from accel_tui.vendors.xpu.clocks import Clocks
from accel_tui.vendors.xpu.engines import SOURCE as FDINFO
from accel_tui.vendors.xpu.engines import EngineTime
from accel_tui.vendors.xpu.files import number, text
from accel_tui.vendors.xpu.hwmon import Hwmon
from accel_tui.vendors.xpu.nodes import Access, access, state

if TYPE_CHECKING:
    from accel_tui.model.places import Places

_OF_FDINFO = (
    "only Level Zero Sysman tells it of the whole card; of its processes none that this account can look into "
    "has the card open (fdinfo)"
)


def open_source(places: Places) -> SysfsSource:
    """The source for these roots."""
    return SysfsSource(
        Path(places.sysfs_root),
        Path(places.proc_root),
        Path(places.dev_root),
        alone=places.xpu_source == "sysfs",
        contained=surroundings.in_container(os.environ, places.dev_root),
    )


class SysfsSource:
    """Every Intel GPU of the host. Needs no rights; what needs some says which.

    `alone`: no other source gives readings, so that this one says why it has none of utilization and memory.
    `contained`: in a container, which may be given some of the host's cards.
    """

    name = "sysfs"
    vendor = "xpu"

    def __init__(
        self, sysfs_root: Path, proc_root: Path, dev_root: Path, *, alone: bool = False, contained: bool = False
    ) -> None:
        self._root, self._proc, self._dev = sysfs_root, proc_root, dev_root
        self._alone, self._contained = alone, contained
        self._processes = Processes(proc_root, dev_root)
        self._cards: dict[str, Card] | None = None
        self._sensors: dict[str, Hwmon] = {}
        self._engines: dict[str, EngineTime] = {}
        self._clocks: dict[str, list[Clocks]] = {}
        """Of the card and behind it of its tiles."""
        self._links: dict[str, dict[str, Reading]] = {}
        self._memory: dict[str, int | None] = {}
        self._unasked: dict[str, Reading | None] = {}
        """Why no runtime can tell of a card; None where one can."""
        self._clients: dict[str, list[Client]] = {}

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The cards by PCI address, each with its tiles behind it."""
        cards = self._refreshed()
        devices: list[Device] = []
        problems: list[Problem] = []
        accesses = {key: access(card, self._dev) for key, card in cards.items()}
        given = any(found.node is not None for found in accesses.values())
        for card in cards.values():
            found = accesses[card.key]
            device = self._device(card, found)
            if self._contained and given and found.node is None and device.state is DeviceState.NO_NODE:
                device = replace(device, state=DeviceState.NOT_YOURS)  # the container was given others
            self._unasked[card.key] = _unasked(card, found, device.state, self.name)
            devices += [device, *_tiles(device, card.tiles or 1)]
            problems += _problems(card, found, device.state)
        return devices, problems

    def read(self) -> dict[str, dict[str, Reading]]:
        """Readings of every card, and clocks of tiles; rates are over the time since the last call."""
        cards = self._cards if self._cards is not None else self._refreshed()
        self._clients = self._by_card(cards)
        readings: dict[str, dict[str, Reading]] = {}
        for card in cards.values():
            whole, *tiles = self._clocks[card.key]
            readings[card.key] = self._readings(card, whole)
            for tile, clocks in enumerate(tiles):
                readings[f"{card.key}#{tile}"] = self._tile_readings(card, tile, clocks)
        return readings

    def holders(self) -> dict[str, list[Holder]]:
        """Processes that have a card's render node or card node open, our own probes left out."""
        cards = self._cards if self._cards is not None else self._refreshed()
        clients = self._clients or self._by_card(cards)
        pids = {key: {pid for client in found for pid in client.pids} for key, found in clients.items()}
        nodes = _by_node(cards)
        for pid, names in self._processes.open_nodes().items():
            for address in {nodes[name] for name in names if name in nodes}:
                pids.setdefault(f"pci:{address}", set()).add(pid)
        known = {pid: self._processes.known_holder(pid) for pid in set().union(*pids.values())}
        return {key: [held for pid in sorted(of) if (held := known[pid]) is not None] for key, of in pids.items()}

    def _refreshed(self) -> dict[str, Card]:
        """Look for cards anew; sensors of those that stay keep their counters."""
        cards = {card.key: card for card in find(self._root)}
        before = self._cards or {}
        for key, card in cards.items():
            if before.get(key) != card or key not in self._sensors:
                self._sensors[key] = Hwmon(card, self.name)
                self._engines[key] = EngineTime()
            else:
                self._sensors[key].refresh()
            tiles = card.tiles or 1
            self._clocks[key] = [Clocks(card, self.name, tile) for tile in (None, *range(tiles if tiles > 1 else 0))]
            self._links[key] = link.readings(card, self.name)
            self._memory[key] = _memory(card)
        self._cards = cards
        return cards

    def _device(self, card: Card, found: Access) -> Device:
        details: dict[str, Any] = {
            "driver": card.driver,
            "family": card.product.family or ("integrated" if card.integrated else None),
            "node": None if found.node is None else str(found.node),
            "node_opens": found.opens,
            "by_path": found.by_path,
        }
        if card.product.device is not None:
            details["pci_id"] = f"{ids.VENDOR:04x}:{card.product.device:04x}"
        if card.integrated is not None:
            details["integrated"] = card.integrated
        if card.tiles is not None:
            details["tiles"] = card.tiles
        if card.in_recovery:
            details["recovery"] = True
        numa = number(card.folder / "numa_node")
        return Device(
            key=card.key,
            vendor=self.vendor,
            torch_device="xpu",
            name=ids.name(card.product.device),
            pci_address=card.address,
            driver_version=self._driver_version(card),
            memory_total_bytes=_memory(card),
            numa_node=None if numa is None or numa < 0 else numa,
            state=state(card, found),
            details=details,
        )

    def _driver_version(self, card: Card) -> str | None:
        """The version of a driver that has one of its own, else that of the kernel that it came with."""
        if card.driver is None:
            return None
        own = text(self._root / "module" / card.driver / "version")
        kernel = text(self._proc / "sys/kernel/osrelease")
        return own or (None if kernel is None else f"kernel {kernel}")

    def _by_card(self, cards: dict[str, Card]) -> dict[str, list[Client]]:
        found: dict[str, list[Client]] = {}
        for client in self._processes.clients(_by_node(cards)):
            key = f"pci:{client.pdev}"
            if key in cards and any(self._processes.known_holder(pid) is not None for pid in client.pids):
                found.setdefault(key, []).append(client)
        return found

    def _readings(self, card: Card, clocks: Clocks) -> dict[str, Reading]:
        found = {**self._sensors[card.key].readings(), **self._links[card.key], **clocks.readings()}
        unasked = self._unasked.get(card.key) or (absent(_OF_FDINFO, self.name) if self._alone else None)
        if unasked is not None:
            found |= dict.fromkeys(("utilization_percent", "memory_used_bytes"), unasked)
        clients = self._clients.get(card.key, [])
        found |= self._engines[card.key].readings(clients)
        if any(client.local_bytes() for client in clients):
            found["memory_used_bytes"] = _used(clients, self._memory[card.key])
        return found

    def _tile_readings(self, card: Card, tile: int, clocks: Clocks) -> dict[str, Reading]:
        found = clocks.readings()
        clients = self._clients.get(card.key, [])
        if any(client.local_bytes(tile) for client in clients):
            found["memory_used_bytes"] = _used(clients, None, tile)
        return found


def _unasked(card: Card, found: Access, condition: DeviceState, source: str) -> Reading | None:
    if condition is DeviceState.NO_ACCESS:
        right = f"membership in the group {found.group or 'render'}, or another right to open {found.node}"
        return denied(f"needs {right}", source)
    if condition is DeviceState.NOT_YOURS:
        return absent("the container was given other cards", source)
    if condition is DeviceState.NO_NODE:
        what = "render node" if found.node is None else "link in the folder by-path"
        return absent(f"the card has no {what} here through which it could be asked", source)
    if condition is DeviceState.NOT_DRIVEN:
        return absent(f"neither i915 nor xe drives {card.address}, so nothing can ask the card", source)
    return None


def _used(clients: list[Client], total: int | None, tile: int | None = None) -> Reading:
    used = sum(client.local_bytes(tile) for client in clients)
    return ok(used if total is None else min(used, total), FDINFO)


def _tiles(card: Device, count: int) -> list[Device]:
    """The rows of a card's tiles; none for a card that is one tile."""
    if count < 2:
        return []
    shared = {name: value for name, value in card.details.items() if name != "tiles"}
    return [
        Device(
            key=f"{card.key}#{tile}",
            vendor=card.vendor,
            torch_device=card.torch_device,
            name=f"{card.name}, tile {tile}",
            pci_address=card.pci_address,
            driver_version=card.driver_version,
            numa_node=card.numa_node,
            state=card.state,
            details={**shared, "tile": tile, "card": card.key},
        )
        for tile in range(count)
    ]


def _by_node(cards: dict[str, Card]) -> dict[str, str]:
    """PCI address by name of node: the render node, and the card node, which displays use."""
    names = {card.render: card.address for card in cards.values() if card.render is not None}
    return {**names, **{card.drm.name: card.address for card in cards.values() if card.drm is not None}}


def _memory(card: Card) -> int | None:
    """The card's own memory where the driver tells it without a library; None for integrated GPUs."""
    sizes = [number(folder / "physical_vram_size_bytes") for folder in tile_folders(card).values()]
    total = sum(size for size in sizes if size and size > 0)
    return total or None


def _problems(card: Card, found: Access, condition: DeviceState) -> list[Problem]:
    """What keeps a card from being used, with the way out."""
    at = card.address
    if condition is DeviceState.DISABLED:
        message = f"{at} is in the firmware's recovery (survivability) mode; nothing can run on it."
        return [Problem("xpu", "recovery-mode", message, "Flash its firmware anew (vendor's tool), then reboot.")]
    if condition is DeviceState.NOT_DRIVEN:
        bound = f"the driver {card.driver}" if card.driver else "no driver"
        message = f"{at} ({ids.name(card.product.device)}) has {bound} bound to it, neither i915 nor xe."
        return [
            Problem("xpu", "not-driven", message, "Load the driver xe or i915; the kernel log says why it did not.")
        ]
    if condition is DeviceState.NO_NODE:
        message = f"{at} has no render node in the device folder."
        if found.node is not None:
            message = (
                f"{at} has no link by-path/pci-{at}-render beside {found.node}, and Level Zero looks for it there."
            )
        return [Problem("xpu", "no-node", message, "In a container, pass /dev/dri in (and its folder by-path).")]
    if condition is DeviceState.NO_ACCESS:
        message = f"{found.node} ({at}) does not open for this account: {found.error}."
        group = found.group or "render"
        remedy = f"Ask to become a member of the group {group}, then log in anew."
        return [Problem("xpu", "no-access", message, remedy)]
    return []
