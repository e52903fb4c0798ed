"""What accelerators this host has, and why one is not seen: PCI device, driver, node, rights."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, unknown, warning
from accel_tui.jobs.nodes import remedy as remedy_for
from accel_tui.model.devices import DeviceState
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accel_tui.model.plans import Check

_SURVEY_SECONDS = 2.5
_PLACES = ("sysfs_root", "proc_root", "dev_root", "hlml_library", "hl_smi", "level_zero_loader", "xpu_smi", "docker")


@dataclass(frozen=True)
class Family:
    """How the cards of a vendor show on PCI and in `/dev`."""

    id: str
    name: str
    pci_vendor: str
    class_prefixes: tuple[str, ...]
    drivers: str
    node_class: str
    """The folder of sysfs whose entries link to the cards."""
    node_prefix: str
    node_folder: str
    older: tuple[str, str, str] | None = None
    """Class, prefix and folder of older drivers."""

    @property
    def layouts(self) -> tuple[tuple[str, str, str], ...]:
        """Class, prefix and folder of nodes, as drivers make them."""
        present = (self.node_class, self.node_prefix, self.node_folder)
        return (present,) if self.older is None else (present, self.older)


GAUDI = Family("gaudi", "Gaudi", "0x1da3", ("0x12",), "habanalabs", "class/accel", "accel", "accel",
               ("class/habanalabs", "hl", ""))  # fmt: skip
XPU = Family("xpu", "Intel GPU", "0x8086", ("0x03",), "xe or i915", "class/drm", "renderD", "dri")


def survey_devices(host: Host) -> Iterator[Check]:
    """What the providers list, and every problem that they tell."""
    from accel_tui.devices.survey import survey

    inventory = survey(host.settings, host.demo, environment=host.environment, seconds=_SURVEY_SECONDS)
    states = [view.device.state for view in inventory.devices]
    names = [view.device.vendor for view in inventory.devices]
    counted = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names)) or "none"
    simulated = f", simulated as {host.demo}" if host.demo else ""
    unfit = sum(state is not DeviceState.OPERATIONAL for state in states)
    yield passed("devices", f"devices{simulated}: {counted}" + (f"; {unfit} not operational" if unfit else ""))
    for problem in inventory.problems:
        yield warning(f"devices-{problem.code}", sanitise(problem.message), problem.remedy)


def named_places(host: Host) -> Iterator[Check]:
    """Libraries, tools and roots that settings name and that are not there."""
    for name in _PLACES:
        place = getattr(host.settings, name)
        if place and not Path(place).exists():
            message = f"the setting {name} names {place}, which does not exist"
            yield warning("named-places", message, f"correct it in config.toml or in ACCEL_TUI_{name.upper()}")


def gaudi(host: Host) -> Iterator[Check]:
    yield from _look(GAUDI, host)


def xpu(host: Host) -> Iterator[Check]:
    yield from _look(XPU, host)


def _look(family: Family, host: Host) -> Iterator[Check]:
    if host.demo is not None:
        return
    sysfs, dev = Path(host.settings.sysfs_root), Path(host.settings.dev_root)
    folder = sysfs / "bus/pci/devices"
    try:
        cards = [card for card in sorted(folder.iterdir()) if _is_one(family, card)]
    except FileNotFoundError:
        yield passed(family.id, f"no {family.name}: no PCI bus is visible ({folder})")
        return
    except OSError as error:
        yield unknown(family.id, f"PCI cannot be looked at: {folder}: {error.strerror}")
        return
    if not cards:
        classes = " or ".join(f"{prefix}xxxx" for prefix in family.class_prefixes)
        there = f"where one is built in, `lspci -nn -d {family.pci_vendor.removeprefix('0x')}:` shows it"
        message = f"no {family.name}: no PCI device of vendor {family.pci_vendor} and class {classes}; {there}"
        yield passed(family.id, message)
        return
    yield passed(family.id, f"{len(cards)} {family.name} on PCI: {', '.join(card.name for card in cards)}")
    yield from _driven(family, cards, sysfs, dev)


def _is_one(family: Family, card: Path) -> bool:
    return _text(card / "vendor") == family.pci_vendor and _text(card / "class").startswith(family.class_prefixes)


def _driven(family: Family, cards: Sequence[Path], sysfs: Path, dev: Path) -> Iterator[Check]:
    """One finding for each way in which cards cannot be used."""
    nodes = _nodes(family, sysfs)
    # An entry in the class of the driver tells as much as the link to it.
    bare = [card.name for card in cards if card.name not in nodes and not (card / "driver").exists()]
    if bare:
        remedy = f"the administrator loads or installs the driver ({family.drivers})"
        yield warning(f"{family.id}-not-driven", f"no driver is bound to {', '.join(bare)}", remedy)
    without = [card.name for card in cards if card.name not in bare and not _existing(nodes, card, dev)]
    if without:
        remedy = "in a container the nodes must be passed in when it is started"
        message = f"no node in {dev / family.node_folder} for {', '.join(without)}"
        yield warning(f"{family.id}-no-node", message, remedy)
    for card in cards:
        for node in _existing(nodes, card, dev):
            if not os.access(node, os.R_OK | os.W_OK):
                message = f"{node} ({card.name}) may not be opened by this account"
                yield warning(f"{family.id}-no-access", message, remedy_for(str(node)))


def _nodes(family: Family, sysfs: Path) -> dict[str, list[str]]:
    """Nodes below the folder of devices by the PCI address that they belong to."""
    found: dict[str, list[str]] = {}
    for place, prefix, folder in family.layouts:
        entries = sorted((sysfs / place).iterdir()) if (sysfs / place).is_dir() else ()
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.removeprefix(prefix).isdecimal():
                told = _text(entry / "device" / "pci_addr") or _text(entry / "pci_addr")
                address = told or Path(os.path.realpath(entry / "device")).name
                found.setdefault(address, []).append(f"{folder}/{entry.name}".lstrip("/"))
    return found


def _existing(nodes: dict[str, list[str]], card: Path, dev: Path) -> list[Path]:
    paths = [dev / name for name in nodes.get(card.name, ())]
    return [path for path in paths if path.exists()]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
