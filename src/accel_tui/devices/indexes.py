"""The indexes that cards had at an earlier start: drivers hand them out anew, so a person must hear when they moved."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from accel_tui.model.devices import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from accel_tui.model.devices import Device


class IndexMap:
    """A small file with the index of each card by key. Where it is damaged or cannot be written there is no notice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _read(path)
        """As it was when this supervisor started."""
        self._written = dict(self._before)

    def compare(self, devices: Sequence[Device]) -> tuple[Problem, ...]:
        """A problem for each vendor whose indexes are not what they were; remembers the present ones."""
        now = {d.key: d.index for d in devices if d.index is not None and d.pci_address is not None and not d.simulated}
        if any(self._written.get(key) != index for key, index in now.items()):
            self._written.update(now)
            self._write()
        moved = [d for d in devices if d.key in now and self._before.get(d.key, d.index) != d.index]
        return tuple(self._problem(vendor, moved) for vendor in dict.fromkeys(d.vendor for d in moved))

    def _problem(self, vendor: str, moved: Sequence[Device]) -> Problem:
        words = [
            f"{_name(device)} was index {self._before[device.key]} and is {device.index}"
            for device in moved
            if device.vendor == vendor
        ]
        message = f"The index map changed since the last start: {'; '.join(words)}."
        return Problem(
            vendor, "index-map-changed", message, "Indexes are for display alone: select by module ID or PCI address."
        )

    def _write(self) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(self._written, sort_keys=True))
            temporary.replace(self._path)


def _name(device: Device) -> str:
    return device.key if device.module_id is None else f"module {device.module_id} ({device.pci_address})"


def _read(path: Path) -> dict[str, int]:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {key: index for key, index in document.items() if isinstance(index, int)}
