"""A host with Intel GPUs made of files and of a Level Zero library that is built here, for tests without a card.

The trees follow the kernel's: cards below a bridge in `devices/`, links from `bus/pci/devices` and `class/drm`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from accel_tui.model.places import Places
from support.trees import write_tree

SOURCE = Path(__file__).parent / "standins/sysman.c"
LOADER = "libze_loader.so.1"
LOST, NO_PERMISSION, NO_DEPENDENCY, UNSUPPORTED = 0x70000001, 0x70010000, 0x70020000, 0x78000003
UNINITIALIZED = 0x78000001


def compiler() -> str | None:
    """The C compiler of this host, None when there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build_library(folder: Path, *flags: str) -> Path:
    """Compile the stand-in into `folder`."""
    cc = compiler()
    assert cc is not None
    library = folder / LOADER
    argv = [cc, "-O1", "-shared", "-fPIC", "-w", *flags, "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120)
    return library


class XpuHost:
    """Folders that stand for `/sys`, `/proc` and `/dev`, and a library with its own scenario."""

    def __init__(self, root: Path, library: Path | None = None) -> None:
        self.root = root
        self.sysfs, self.proc, self.dev = root / "sys", root / "proc", root / "dev"
        for folder in (
            self.sysfs / "bus/pci/devices",
            self.sysfs / "class/drm",
            self.proc / "sys/kernel",
            self.dev / "dri",
        ):
            folder.mkdir(parents=True, exist_ok=True)
        write_tree(self.proc, {"sys/kernel/osrelease": "6.17.0-test\n"})
        self.loader: Path | None = None
        if library is not None:
            self.loader = root / LOADER
            shutil.copyfile(library, self.loader)
            self.scenario([])

    @property
    def places(self) -> Places:
        return Places(
            sysfs_root=str(self.sysfs),
            proc_root=str(self.proc),
            dev_root=str(self.dev),
            level_zero_loader=None if self.loader is None else str(self.loader),
        )

    @property
    def variables(self) -> dict[str, str]:
        """The same for a command line."""
        named = {
            "SYSFS_ROOT": self.sysfs,
            "PROC_ROOT": self.proc,
            "DEV_ROOT": self.dev,
            "LEVEL_ZERO_LOADER": self.loader,
        }
        return {f"ACCEL_TUI_{name}": str(place) for name, place in named.items() if place is not None}

    def card(
        self,
        address: str,
        device: int = 0xE211,
        *,
        driver: str | None = "xe",
        node: int | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """Add a GPU; its folder, below a bridge. `files` are further ones of it."""
        folder = self.sysfs / "devices/pci0000:00/0000:00:01.0" / address
        number = len(list((self.sysfs / "bus/pci/devices").iterdir())) if node is None else node
        write_tree(
            folder,
            {
                "vendor": "0x8086\n",
                "device": f"0x{device:04x}\n",
                "class": "0x030000\n",
                "numa_node": "0\n",
                **(files or {}),
            },
        )
        (self.sysfs / "bus/pci/devices" / address).symlink_to(folder)
        if driver is not None:
            (self.sysfs / "bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(self.sysfs / "bus/pci/drivers" / driver)
            render = f"renderD{128 + number}"
            for name in (f"card{number}", render):
                (folder / "drm" / name).mkdir(parents=True, exist_ok=True)
                (folder / "drm" / name / "device").symlink_to(folder)
                (self.sysfs / "class/drm" / name).symlink_to(folder / "drm" / name)
            (self.dev / "dri" / render).write_text("")
            (self.dev / "dri/by-path").mkdir(exist_ok=True)
            (self.dev / f"dri/by-path/pci-{address}-render").symlink_to(f"../{render}")
        return folder

    def scenario(self, cards: list[dict[str, Any]], *, drivers: int = 1, init: int = 0) -> None:
        """What the library shows from now on; the number of cards stays what it was when Sysman started."""
        assert self.loader is not None
        lines = [f"init={init:#x} drivers={drivers}"]
        lines += ["card " + " ".join(f"{name}={value}" for name, value in card.items()) for card in cards]
        file = self.loader.with_name(self.loader.name + ".scenario")
        fresh = file.with_suffix(".new")
        fresh.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
        fresh.replace(file)

    def process(self, pid: int, files: dict[str, tuple[str, str]], command: str = "python3 train.py") -> None:
        """A process with these descriptors: number → (node, content of its fdinfo)."""
        folder = self.proc / str(pid)
        write_tree(
            folder, {"cmdline": command.replace(" ", "\0") + "\0", "comm": command.partition(" ")[0][:15] + "\n"}
        )
        for number, (node, content) in files.items():
            (folder / "fd").mkdir(exist_ok=True)
            link = folder / "fd" / number
            if not link.is_symlink():
                link.symlink_to(node)
            write_tree(folder, {f"fdinfo/{number}": content})


def at(address: str, **values: Any) -> dict[str, Any]:
    """A card of the scenario at a PCI address."""
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    return {"domain": f"0x{domain}", "bus": f"0x{bus}", "device": f"0x{device}", "function": f"0x{function}", **values}


def xe_client(pdev: str, client: int, *, ccs: int, total: int, vram_kib: int = 9437184, **more: object) -> str:
    """An fdinfo file as xe writes it."""
    lines = {
        "drm-driver": "xe",
        "drm-client-id": client,
        "drm-pdev": pdev,
        "drm-total-vram0": f"{vram_kib} KiB",
        "drm-shared-vram0": 0,
        "drm-resident-vram0": f"{vram_kib} KiB",
        "drm-total-gtt": "2048 KiB",
        "drm-cycles-ccs": ccs,
        "drm-total-cycles-ccs": total,
        "drm-engine-capacity-ccs": 1,
        "drm-cycles-bcs": 1200450,
        "drm-total-cycles-bcs": total,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return "pos:\t0\nflags:\t02100002\n" + "".join(f"{name}:\t{value}\n" for name, value in lines.items())


def without_rights() -> tuple[str, ...]:
    """What to put before a command so that its effective user is not root, who owns the files nevertheless.

    A user namespace without a mapping does it where the tests run as root; the test is skipped where there is none.
    """
    if os.geteuid() != 0:
        return ()
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-U", "true"], capture_output=True).returncode:
        pytest.skip("runs as root, and the kernel gives no user namespace to run without its rights")
    return (unshare, "-U")
