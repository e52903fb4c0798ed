"""Inventory, state, holders and the readings that cost no firmware call, from sysfs and `/proc`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model import surroundings
from accel_tui.model.devices import Device, DeviceState, Problem, failed, ok
from accel_tui.vendors.gaudi import facts, tree
from accel_tui.vendors.gaudi import places as usual
from accel_tui.vendors.gaudi.files import Unreadable, number, number_or_none, text, text_or_none
from accel_tui.vendors.gaudi.holders import Scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accel_tui.model.devices import Holder, Reading
    from accel_tui.model.places import Places

_RESETS = ("hard_reset_cnt", "soft_reset_cnt")
_MOST_RESETS = 1 << 32


def open_source(places: Places) -> SysfsSource:
    """The source for these roots."""
    return SysfsSource(places, os.environ)


class SysfsSource:
    """Every Gaudi card that the kernel shows, driven or not."""

    name = "sysfs"
    vendor = "gaudi"

    def __init__(self, places: Places, environment: Mapping[str, str]) -> None:
        self._places, self._environment = places, environment
        self._sysfs, self._dev = Path(places.sysfs_root), Path(places.dev_root)
        self._scanner = Scanner(Path(places.proc_root), self._dev)
        self._cards: list[tree.Card] = []
        self._facts: dict[str, dict[str, Any]] = {}
        """What does not change while a card keeps its place, by address and index."""

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The cards by PCI address; nothing is opened and no firmware is asked."""
        self._cards = tree.cards(self._sysfs)
        nodes = {card.address: self._node(card) for card in self._cards if card.driven}
        devices = [self._device(card, nodes) for card in self._cards]
        return devices, self._problems(devices)

    def read(self) -> dict[str, dict[str, Reading]]:
        """PCIe link and reset counts; what a layout does not have is left out."""
        return {f"pci:{card.address}": self._readings(card) for card in self._cards if card.driven}

    def holders(self) -> dict[str, list[Holder]]:
        """Processes that have a compute node open."""
        keys = {card.index: f"pci:{card.address}" for card in self._cards if card.index is not None}
        return self._scanner.holders(keys)

    def _device(self, card: tree.Card, nodes: Mapping[str, str | None]) -> Device:
        words, state, strange = self._status(card)
        node = nodes.get(card.address)
        if card.driven and state in (DeviceState.OPERATIONAL, DeviceState.UNKNOWN):
            state = self._reachable(node, nodes) or state
        fixed = self._fixed(card)
        return Device(
            key=f"pci:{card.address}",
            vendor="gaudi",
            torch_device="hpu",
            name=fixed["name"],
            index=card.index,
            module_id=fixed["module_id"],
            pci_address=card.address,
            driver_version=fixed["driver_version"],
            numa_node=fixed["numa_node"],
            state=state,
            details={**fixed["details"], **strange, "node": node, "status_text": words},
        )

    def _status(self, card: tree.Card) -> tuple[str | None, DeviceState, dict[str, Any]]:
        """The driver's own words, what they mean, and a mark where they mean nothing that is known."""
        if not card.driven:
            return None, DeviceState.NOT_DRIVEN, {}
        try:
            words = text(card.path("status"))
        except Unreadable as error:
            return str(error), DeviceState.LOST if error.gone else DeviceState.UNKNOWN, {}
        state = facts.state(words)
        return words, state, {"strange_state": True} if words and state is DeviceState.UNKNOWN else {}

    def _node(self, card: tree.Card) -> str | None:
        return next((node for node in card.nodes if (self._dev / node).exists()), None)

    def _reachable(self, node: str | None, nodes: Mapping[str, str | None]) -> DeviceState | None:
        """Why a card cannot be opened from here; None when it can. It is not tried: only one process can have it."""
        if node is None:
            others = any(other is not None for other in nodes.values())
            return DeviceState.NOT_YOURS if others and self._in_container() else DeviceState.NO_NODE
        return None if os.access(self._dev / node, os.R_OK | os.W_OK) else DeviceState.NO_ACCESS

    def _in_container(self) -> bool:
        return surroundings.in_container(self._environment, self._places.dev_root, usual.CONTAINER_VARIABLE)

    def _fixed(self, card: tree.Card) -> dict[str, Any]:
        known = self._facts.get(card.address)
        if known is not None and known["index"] == card.index and known["module_id"] is not None:
            return known
        kind, device_id = card.text("device_type"), tree.device_id(card)
        revision = card.text("revision")
        numa, module = number_or_none(card.path("numa_node")), number_or_none(card.path("module_id"))
        shown = {
            "generic_name": True,
            "device_type": kind,
            "pci_id": None if device_id is None else f"{facts.PCI_VENDOR:04x}:{device_id:04x}",
            "pci_revision": revision,
            "pcie_gen_max": facts.pcie_generation(card.text("max_link_speed") or ""),
            "pcie_width_max": facts.pcie_width(card.text("max_link_width") or ""),
            "cpus": card.text("local_cpulist"),
            "firmware": card.text("cpucp_ver") or card.text("armcp_ver"),
        }
        found = {
            "index": card.index,
            "name": kind or "Gaudi",
            "module_id": module if module is not None and 0 <= module < facts.MODULES else None,
            "numa_node": numa if numa is not None and numa >= 0 else None,
            # Mainline drivers have no version of their own: they are the kernel's.
            "driver_version": card.text("driver_ver") or (self._kernel() if card.driven else None),
            "details": {name: value for name, value in shown.items() if value is not None},
        }
        self._facts[card.address] = found
        return found

    def _kernel(self) -> str | None:
        version = text_or_none(self._sysfs / "module/habanalabs/version")
        release = text_or_none(Path(self._places.proc_root) / "sys/kernel/osrelease")
        return version or (f"kernel {release}" if release else None)

    def _readings(self, card: tree.Card) -> dict[str, Reading]:
        found: dict[str, Reading] = {}
        self._link(found, card, "pcie_gen", "current_link_speed", facts.pcie_generation)
        self._link(found, card, "pcie_width", "current_link_width", facts.pcie_width)
        counts: list[int] = []
        for name in _RESETS:
            try:
                counts.append(number(card.path(name)))
            except Unreadable as error:
                if not error.missing:
                    found["reset_count"] = error.reading(self.name)
        if any(not 0 <= count < _MOST_RESETS for count in counts):
            found["reset_count"] = failed(f"the driver counts {counts} resets", self.name)
        if counts and "reset_count" not in found:
            found["reset_count"] = ok(sum(counts), self.name)
        return found

    def _link(
        self, found: dict[str, Reading], card: tree.Card, name: str, file: str, meaning: Callable[[str], int | None]
    ) -> None:
        try:
            content = text(card.path(file))
        except Unreadable as error:
            if not error.missing:
                found[name] = error.reading(self.name)
            return
        value = meaning(content)
        found[name] = ok(value, self.name) if value is not None else failed(f"{file} says {content[:40]!r}", self.name)

    def _problems(self, devices: list[Device]) -> list[Problem]:
        problems = []
        bare = [device.key for device in devices if device.state is DeviceState.NOT_DRIVEN]
        if bare:
            loaded = (self._sysfs / "module/habanalabs").exists()
            message = (
                f"on PCI, but not driven: {', '.join(bare)}; the module habanalabs is {'' if loaded else 'not '}loaded"
            )
            remedy = (
                "look for 'Device is NOT usable' in the kernel log (dmesg): such a card needs a reboot or service"
                if loaded
                else "the administrator installs or loads the driver habanalabs; mainline kernels know no Gaudi 3"
            )
            problems.append(Problem("gaudi", "not-driven", message, remedy))
        told = self._environment.get("HABANA_RUNTIME_ERROR")
        if told:
            remedy = "start the container anew with the cards that it should have"
            problems.append(Problem("gaudi", "container-runtime", f"the container runtime says: {told}", remedy))
        if devices and not problems and self._places.gaudi_source == "auto" and not self._has_tool():
            message = "neither hl-smi nor libhlml was found: utilization and memory are not known"
            remedy = "install the Gaudi software, or name hl_smi or hlml_library in config.toml"
            problems.append(Problem("gaudi", "no-tool", message, remedy))
        return problems

    def _has_tool(self) -> bool:
        if self._places.hl_smi or self._places.hlml_library or Path(usual.HLML_LIBRARY).exists():
            return True
        folders = (*self._environment.get("PATH", os.defpath).split(os.pathsep), *usual.HL_SMI_FOLDERS)
        return shutil.which("hl-smi", path=os.pathsep.join(folders)) is not None
