"""Access to cards, judged by opening their render nodes: groups, modes and ACLs alone tell too little or too much."""

from __future__ import annotations

import grp
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import DeviceState
from accel_tui.vendors.xpu.cards import DRIVERS

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.vendors.xpu.cards import Card


@dataclass(frozen=True)
class Access:
    """How far this account gets with a card at this moment."""

    node: Path | None
    """The render node below `dev_root`; None where there is none."""
    opens: bool | None
    """None without a node."""
    by_path: bool | None
    """Whether `by-path/pci-ADDRESS-render` is there; None without the folder `by-path`."""
    error: str | None = None
    group: str | None = None
    """The group that owns a node which does not open."""


def access(card: Card, dev_root: Path) -> Access:
    """Open the card's render node for reading and writing, and close it again."""
    folder = dev_root / "dri"
    named = folder / "by-path" / f"pci-{card.address}-render"
    node = folder / card.render if card.render is not None else named if named.exists() else None
    by_path = _by_path(card, folder)
    if node is None or not (node.exists() or node.is_symlink()):
        return Access(None, None, by_path)
    try:
        os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY))
    except FileNotFoundError:
        return Access(None, None, by_path)
    except OSError as error:
        return Access(node, opens=False, by_path=by_path, error=error.strerror or str(error), group=_group(node))
    return Access(node, opens=True, by_path=by_path)


def state(card: Card, found: Access) -> DeviceState:
    """The condition that follows from driver, firmware and node."""
    if card.in_recovery:
        return DeviceState.DISABLED
    if card.driver not in DRIVERS:
        return DeviceState.NOT_DRIVEN
    if found.node is None:
        return DeviceState.NO_NODE
    if not found.opens:
        return DeviceState.NO_ACCESS
    # Level Zero finds cards by the links in by-path, where that folder is: without one no runtime has the card.
    return DeviceState.NO_NODE if found.by_path is False else DeviceState.OPERATIONAL


def _by_path(card: Card, folder: Path) -> bool | None:
    links = folder / "by-path"
    if not links.is_dir():
        return None
    return (links / f"pci-{card.address}-render").is_symlink() or (links / f"pci-{card.address}-render").exists()


def _group(node: Path) -> str | None:
    try:
        status = node.stat()
        return grp.getgrgid(status.st_gid).gr_name if stat.S_IMODE(status.st_mode) & 0o060 else None
    except (OSError, KeyError):
        return None
