"""A stand-in Gaudi host: a sysfs tree, nodes, processes, an `hl-smi` program and a libhlml, all below one folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accel_tui.model.places import Places
from support.trees import write_tree

STANDINS = Path(__file__).parent / "standins"


@dataclass(frozen=True)
class Slot:
    """One card's place: nothing of it follows from another part."""

    module: int
    index: int
    address: str

    @property
    def key(self) -> str:
        return f"pci:{self.address}"


EIGHT = tuple(
    Slot(*place)
    for place in (
        (0, 2, "0000:19:00.0"),
        (1, 0, "0000:3b:00.0"),
        (2, 1, "0000:4c:00.0"),
        (3, 3, "0000:5d:00.0"),
        (4, 7, "0000:9a:00.0"),
        (5, 4, "0000:b3:00.0"),
        (6, 9, "0000:cc:00.0"),
        (7, 5, "0000:dd:00.0"),
    )
)
KEYS = tuple(slot.key for slot in EIGHT)


class GaudiHost:
    """A host with cards that a test changes while programs look at it."""

    def __init__(self, folder: Path, slots: Sequence[Slot] = EIGHT) -> None:
        self.folder = folder
        self.sysfs, self.dev, self.proc = folder / "sys", folder / "dev", folder / "proc"
        self.tool = folder / "bin/hl-smi"
        self._told = folder / "hl-smi"
        self.library_folder = folder / "hlml"
        for made in (self.sysfs, self.dev, self.proc, self._told, self.library_folder):
            made.mkdir(parents=True)
        write_tree(self.sysfs, {"module/habanalabs/refcnt": "1\n"})
        for slot in slots:
            self.add(slot)

    # Cards

    def add(self, slot: Slot, **changed: str) -> None:
        """A driven Gaudi 3 card, its attributes on the PCI device, with its nodes."""
        pci = f"bus/pci/devices/{slot.address}"
        files = {
            **self.pci_files(),
            "module_id": f"{slot.module}\n",
            "pci_addr": f"{slot.address}\n",
            "device_type": "GAUDI3\n",
            "status": "Operational\n",
            "driver_ver": "1.24.2-0a1b2c3\n",
            "hard_reset_cnt": "1\n",
            "soft_reset_cnt": "0\n",
            **changed,
        }
        write_tree(self.sysfs, {f"{pci}/{name}": content for name, content in files.items()})
        entry = self.sysfs / f"class/accel/accel{slot.index}"
        entry.mkdir(parents=True)
        (entry / "device").symlink_to(os.path.relpath(self.sysfs / pci, entry))
        (self.sysfs / f"class/accel/accel_controlD{slot.index}").mkdir()
        write_tree(self.dev, {f"accel/accel{slot.index}": "", f"accel/accel_controlD{slot.index}": ""})

    @staticmethod
    def pci_files() -> dict[str, str]:
        return {
            "vendor": "0x1da3\n",
            "device": "0x1060\n",
            "class": "0x120000\n",
            "revision": "0x01\n",
            "numa_node": "1\n",
            "current_link_speed": "32.0 GT/s PCIe\n",
            "current_link_width": "16\n",
            "max_link_speed": "32.0 GT/s PCIe\n",
            "max_link_width": "16\n",
        }

    def bare(self, address: str) -> None:
        """A card on PCI that no driver has."""
        write_tree(self.sysfs, {f"bus/pci/devices/{address}/{name}": text for name, text in self.pci_files().items()})

    def attribute(self, slot: Slot, name: str, content: str) -> None:
        write_tree(self.sysfs, {f"bus/pci/devices/{slot.address}/{name}": content})

    def remove(self, slot: Slot) -> None:
        """The card falls off: PCI device, class entry and nodes."""
        shutil.rmtree(self.sysfs / f"class/accel/accel{slot.index}")
        shutil.rmtree(self.sysfs / f"bus/pci/devices/{slot.address}")
        (self.dev / f"accel/accel{slot.index}").unlink()

    def sensors(self, slot: Slot, *, millidegrees: int = 44000, microwatts: int = 221000000) -> None:
        base = f"bus/pci/devices/{slot.address}"
        files = {
            f"{base}/hwmon/hwmon7/temp1_input": f"{millidegrees}\n",
            f"{base}/hwmon/hwmon7/power1_input": f"{microwatts}\n",
            f"{base}/max_power": "850000\n",
            f"{base}/clk_cur_freq_mhz": "1650\n",
        }
        write_tree(self.sysfs, files)

    def hold(
        self, slot: Slot, pid: int, *, uid: int = 65534, command: str = "python train.py", root: str = "/dev"
    ) -> None:
        """A process that has the card's compute node open."""
        folder = self.proc / str(pid)
        write_tree(folder, {"status": f"Name:\tpython\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"})
        (folder / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
        (folder / "fd").mkdir(exist_ok=True)
        (folder / f"fd/{10 + slot.index}").symlink_to(f"{root}/accel/accel{slot.index}")

    def release(self, pid: int) -> None:
        shutil.rmtree(self.proc / str(pid))

    # The tool

    def install_tool(self, **behaviour: Any) -> Path:
        """An executable hl-smi; `behave` changes what it does."""
        self.behave(**behaviour)
        self.tool.parent.mkdir(exist_ok=True)
        self.tool.write_text(f"#!{sys.executable} -IS\n" + (STANDINS / "hl_smi.py").read_text())
        self.tool.chmod(0o755)
        return self.tool

    def behave(self, **behaviour: Any) -> None:
        told = {"cards": [cells(slot) for slot in EIGHT], **behaviour}
        fresh = self._told / "behaviour.new"
        fresh.write_text(json.dumps(told))
        fresh.replace(self._told / "behaviour.json")

    def calls(self) -> list[dict[str, Any]]:
        """What the tool was called with, in order."""
        try:
            lines = (self._told / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    # The library

    def library_does(self, name: str, content: str = "") -> None:
        """Put a file where the stand-in library looks: see `libhlml.c`."""
        (self.library_folder / name).write_text(content)

    # How programs get to see it

    def places(self, **named: Any) -> Places:
        return Places(sysfs_root=str(self.sysfs), proc_root=str(self.proc), dev_root=str(self.dev), **named)

    def variables(self, *, tool: bool = False, library: Path | None = None, **named: str) -> dict[str, str]:
        """The environment of a program that shall take this for its host."""
        found = {
            "ACCEL_TUI_SYSFS_ROOT": str(self.sysfs),
            "ACCEL_TUI_PROC_ROOT": str(self.proc),
            "ACCEL_TUI_DEV_ROOT": str(self.dev),
            "STANDIN_HL_SMI": str(self._told),
            "STANDIN_HLML": str(self.library_folder),
            **named,
        }
        if tool:
            found["ACCEL_TUI_HL_SMI"] = str(self.tool)
        if library is not None:
            found["ACCEL_TUI_HLML_LIBRARY"] = str(library)
        return found


def cells(slot: Slot, **changed: str) -> dict[str, str]:
    """A card as `hl-smi` prints it, idle."""
    return {
        "index": str(slot.index),
        "module_id": str(slot.module),
        "bus_id": slot.address,
        "name": "HL-325L",
        "uuid": f"00P0-HL3000A0-00-XX{slot.module:02d}X-00-00-00",
        "serial": f"ZZ0000000{slot.module}",
        "driver_version": "1.24.2-0a1b2c3",
        "memory.total": "131072",
        "memory.used": "672",
        "temperature.aip": str(30 + slot.module),
        "utilization.aip": str(slot.module),
        "power.draw": str(200 + slot.module),
        **changed,
    }


def csv(rows: Sequence[Mapping[str, str]], header: Sequence[str]) -> str:
    """A table as the tool prints it; `header` as it stands there, brackets and all."""
    names = [cell.partition(" [")[0].lower() for cell in header]
    lines = [", ".join(header), *(", ".join(row.get(name, "N/A") for name in names) for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def build_library(folder: Path, *flags: str) -> Path:
    """Compile the stand-in library. Needs a C compiler, as the tests' machine has one."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "no C compiler (cc or gcc): the tests of the real binding need one"
    target = folder / f"libhlml{'-'.join(('', *flags)).lower()}.so"
    argv = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(target), *flags, str(STANDINS / "libhlml.c")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target
