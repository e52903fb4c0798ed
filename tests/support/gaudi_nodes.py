"""A made /dev and /sys with Gaudi cards, and what a job needs to meet the stand-in for their software there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STACK = Path(__file__).parent / "standins" / "gaudi_stack"
"""Stands for site-packages of the Gaudi software; see its `habana_frameworks.torch`."""

ODD_SERVER: Mapping[int, tuple[int, str]] = {
    2: (7, "0000:5d:00.0"), 0: (5, "0000:29:00.0"), 1: (4, "0000:17:00.0"), 3: (6, "0000:4b:00.0"),
}  # fmt: skip
"""Module and address by index, which differ on purpose: nothing may take one for another."""
EIGHT: Mapping[int, tuple[int, str]] = {(module * 3) % 8: (module, f"0000:{0x19 + 0x11 * module:02x}:00.0")
                                        for module in range(8)}  # fmt: skip


@dataclass(frozen=True)
class GaudiNodes:
    """The roots, and the cards by index."""

    root: Path
    cards: Mapping[int, tuple[int, str]]

    @property
    def sysfs(self) -> Path:
        return self.root / "sys"

    @property
    def dev(self) -> Path:
        return self.root / "dev"

    @property
    def notes(self) -> Path:
        return self.root / "notes.jsonl"

    def node(self, module: int) -> Path:
        """The compute node of a module."""
        index = next(index for index, (one, _) in self.cards.items() if one == module)
        return self.dev / f"accel/accel{index}"

    def key(self, module: int) -> str:
        return f"pci:{next(address for one, address in self.cards.values() if one == module)}"

    def said(self, what: str) -> list[dict[str, Any]]:
        """What the stand-in noted of one kind, of all processes."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [note for note in map(json.loads, lines) if note["what"] == what]

    def environment(self, *modules: int, **more: str) -> dict[str, str]:
        """What a plan for these modules sets, and where the stand-in finds its cards."""
        planned = {
            "HABANA_VISIBLE_MODULES": ",".join(map(str, modules)),
            "ACCEL_TUI_CARDS": ",".join(map(self.key, modules)),
            "ACCEL_TUI_SYSFS_ROOT": str(self.sysfs),
            "ACCEL_TUI_DEV_ROOT": str(self.dev),
            "PT_HPU_LAZY_MODE": "0",
            "PT_ENABLE_INT64_SUPPORT": "1",
        }
        if len(modules) == 1:
            planned["HLS_MODULE_ID"] = str(modules[0])
        return {**planned, **self.standin(), **more}

    def standin(self) -> dict[str, str]:
        """Where the stand-in finds its cards and leaves its notes."""
        return {"STANDIN_DEV": str(self.dev), "STANDIN_SYS": str(self.sysfs), "STANDIN_NOTES": str(self.notes)}


def make(root: Path, cards: Mapping[int, tuple[int, str]] = ODD_SERVER) -> GaudiNodes:
    """Cards in the layout of the current driver, with ordinary files for nodes."""
    for index, (module, address) in cards.items():
        pci = root / f"sys/devices/pci0000:00/{address}"
        pci.mkdir(parents=True)
        attributes = {"module_id": module, "pci_addr": address, "vendor": "0x1da3", "status": "Operational"}
        for name, text in attributes.items():
            (pci / name).write_text(f"{text}\n")
        card = root / f"sys/class/accel/accel{index}"
        card.mkdir(parents=True)
        (card / "device").symlink_to(pci)
        node = root / f"dev/accel/accel{index}"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.touch()
        (node.parent / f"accel_controlD{index}").touch()
    return GaudiNodes(root, cards)
