"""The Intel GPUs that sysfs shows, driven or not: what each is and where its parts lie.

Cards are PCI devices of vendor 0x8086 with class 0x0300xx or 0x0380xx, found on the PCI bus and through
`class/drm/card*/device` (Linux kernel, `Documentation/gpu/` and ABI `sysfs-driver-intel-xe-*`). cardN says nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.vendors.xpu import ids
from accel_tui.vendors.xpu.files import entries, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
DRIVERS = frozenset({"i915", "xe"})
_CLASSES = ("0x0300", "0x0380")
_RENDER = re.compile(r"renderD\d+")
_CARD = re.compile(r"card\d+")
_TILE = re.compile(r"tile(\d+)")
BUILT_IN = "0000:00:02.0"
"""Where an integrated GPU of Intel sits, always."""


@dataclass(frozen=True)
class Card:
    """One GPU as sysfs shows it. Folders are those below `sysfs_root`."""

    address: str
    root: Path
    """`sysfs_root`."""
    folder: Path
    """The PCI device, resolved, so that its parents are the bridges above."""
    driver: str | None
    product: ids.Product
    drm: Path | None
    """The folder `cardN`."""
    render: str | None
    """The name of the render node."""

    @property
    def key(self) -> str:
        return f"pci:{self.address}"

    @property
    def integrated(self) -> bool | None:
        """None where neither id nor address tell."""
        if self.product.is_discrete:
            return False
        return True if self.address == BUILT_IN else None

    @property
    def tiles(self) -> int | None:
        """How many tiles a mask can name; None where neither the id nor the kernel's folders tell."""
        folders = len(tile_folders(self))
        if folders > 1 or self.product.tiles is None:
            return folders or None
        return self.product.tiles

    @property
    def in_recovery(self) -> bool:
        """Whether the firmware runs in survivability mode, which xe tells by this file."""
        stated = text(self.folder / "survivability_mode")
        return stated is not None and stated.lower() not in ("0", "disabled", "none")


def find(root: Path) -> list[Card]:
    """Every Intel GPU, by PCI address."""
    found: dict[str, Path] = {}
    for link in (*entries(root / "bus/pci/devices"), *_of_drm(root)):
        address = _address(link)
        if address is not None and address not in found and _is_gpu(link):
            found[address] = Path(os.path.realpath(link))
    drm = _drm_folders(root)
    return [_card(root, address, folder, drm.get(address)) for address, folder in sorted(found.items())]


def tile_folders(card: Card) -> dict[int, Path]:
    """The folders of the tiles that the kernel shows (`tileN` of xe), by number."""
    named = {_TILE.fullmatch(folder.name): folder for folder in entries(card.folder)}
    return {int(match[1]): folder for match, folder in named.items() if match is not None}


def frequency_folders(card: Card, tile: int | None = None) -> list[Path]:
    """The folders of the compute GT's frequency, of one tile or of all.

    Of xe `tileN/gtM/freq0`, where a second GT of a tile serves media; of i915 `gt/gtN` below `cardN`, one a tile, and
    `cardN` itself for old kernels.
    """
    tiles = tile_folders(card)
    if tiles:
        chosen = [folder for number, folder in sorted(tiles.items()) if tile in (None, number)]
        gts = [next((gt for gt in entries(folder) if gt.name.startswith("gt")), None) for folder in chosen]
        return [gt / "freq0" for gt in gts if gt is not None]
    if card.drm is None:
        return []
    gts_of_i915 = [gt for gt in entries(card.drm / "gt") if re.fullmatch(r"gt\d+", gt.name)]
    if tile is not None:
        return [gt for gt in gts_of_i915 if gt.name == f"gt{tile}"]
    most = card.product.tiles or 1  # a GT behind those of the tiles is that of media
    return gts_of_i915[:most] or [card.drm]


def hwmon_folders(card: Card) -> list[Path]:
    """The hwmon folders of the card, whether they lie below the device or are only linked to it."""
    own = entries(card.folder / "hwmon")
    linked = entries(card.root / "class/hwmon") if not own else []
    return own or [one for one in linked if os.path.realpath(one / "device") == str(card.folder)]


def _of_drm(root: Path) -> Iterator[Path]:
    for folder in entries(root / "class/drm"):
        if _CARD.fullmatch(folder.name):
            yield folder / "device"


def _drm_folders(root: Path) -> dict[str, Path]:
    """`cardN` folders by the address of their device, for trees whose device has no `drm` folder of its own."""
    folders = {_address(device): device.parent for device in _of_drm(root)}
    return {address: folder for address, folder in folders.items() if address is not None}


def _card(root: Path, address: str, folder: Path, drm: Path | None) -> Card:
    below = entries(folder / "drm")
    own = next((entry for entry in below if _CARD.fullmatch(entry.name)), drm)
    render = next((entry.name for entry in below if _RENDER.fullmatch(entry.name)), None)
    device = number(folder / "device")
    return Card(
        address=address,
        root=root,
        folder=folder,
        driver=_driver(folder),
        product=ids.product(device),
        drm=own,
        render=render or _render_of(drm, address),
    )


def _render_of(drm: Path | None, address: str) -> str | None:
    """The render node whose class entry leads to the same device."""
    for entry in entries(drm.parent) if drm is not None else ():
        if _RENDER.fullmatch(entry.name) and _address(entry / "device") == address:
            return entry.name
    return None


def _driver(folder: Path) -> str | None:
    """The bound driver: the last part of the link `driver`, or what `uevent` says."""
    link = folder / "driver"
    if link.exists() or link.is_symlink():
        return Path(os.path.realpath(link)).name
    return _uevent(folder).get("DRIVER")


def _address(link: Path) -> str | None:
    """The PCI address that a link or folder of a device stands for."""
    for candidate in (Path(os.path.realpath(link)).name, link.name):
        if ADDRESS.fullmatch(candidate.lower()):
            return candidate.lower()
    stated = _uevent(link).get("PCI_SLOT_NAME", "").lower()
    return stated if ADDRESS.fullmatch(stated) else None


def _uevent(folder: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in (text(folder / "uevent") or "").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _is_gpu(folder: Path) -> bool:
    if number(folder / "vendor") != ids.VENDOR:
        return False
    stated = text(folder / "class")
    return stated is None or stated.lower().startswith(_CLASSES)
