"""Whether a host has anything for a source to see: a look at small files that saves a process where it has not."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accel_tui.model.places import Places


@dataclass(frozen=True)
class Presence:
    """What makes a source worth a process; any of it is enough."""

    pci_vendor: str
    """As the file `vendor` of a PCI device says it, such as `0x8086`."""
    pci_classes: tuple[str, ...]
    """Beginnings of the file `class`; a device whose class cannot be read counts."""
    class_devices: tuple[str, ...] = ()
    """Patterns below `sysfs_root` that lead to devices as well, such as `class/drm/card*/device`."""
    settings: tuple[str, ...] = ()
    """Fields of `Places` whose library or tool is asked even when no device is visible."""
    files: tuple[str, ...] = ()
    """Files or folders below `sysfs_root` that tell of a driver."""
    paths: tuple[str, ...] = ()
    """Absolute paths, such as a library in its usual place."""
    distribution: str | None = None
    """The package without which those paths are worth nothing."""
    programs: tuple[str, ...] = ()
    """Names that are looked for on PATH and in `program_folders`."""
    program_folders: tuple[str, ...] = ()


def is_there(presence: Presence, places: Places, environment: Mapping[str, str] | None = None) -> bool:
    """Whether the host has such a device, driven or not, or the source's library or tool is there or named.

    `environment` is where PATH is looked up; None means our own.
    """
    if any(getattr(places, name) for name in presence.settings):
        return True
    root = Path(places.sysfs_root)
    if any((root / name).exists() for name in presence.files):
        return True
    if any(Path(path).exists() for path in presence.paths) and _installed(presence.distribution):
        return True
    if any(_program(name, presence, environment or os.environ) for name in presence.programs):
        return True
    if not presence.pci_vendor:
        return False
    patterns = ("bus/pci/devices/*", *presence.class_devices)
    return any(_is_one(presence, device) for pattern in patterns for device in _matches(root, pattern))


def _installed(distribution: str | None) -> bool:
    try:
        return distribution is None or bool(importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


def _program(name: str, presence: Presence, environment: Mapping[str, str]) -> bool:
    folders = (*environment.get("PATH", os.defpath).split(os.pathsep), *presence.program_folders)
    return shutil.which(name, path=os.pathsep.join(folders)) is not None


def _matches(root: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from root.glob(pattern)
    except OSError:
        return


def _is_one(presence: Presence, device: Path) -> bool:
    if _text(device / "vendor") != presence.pci_vendor:
        return False
    stated = _text(device / "class")
    return not stated or stated.startswith(presence.pci_classes)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip().lower()
    except OSError:
        return ""
