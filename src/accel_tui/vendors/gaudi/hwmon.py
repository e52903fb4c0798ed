"""Readings that ask the card's firmware through the kernel: temperature, power, clock.

A source apart from the inventory, so that a firmware that stalls costs these readings alone; asked only where neither
HLML nor hl-smi gives them, as each of its files is a firmware round trip of some milliseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.devices import failed, ok
from accel_tui.vendors.gaudi import tree
from accel_tui.vendors.gaudi.files import Unreadable, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.model.devices import Device, Holder, Problem, Reading
    from accel_tui.model.places import Places


def open_source(places: Places) -> HwmonSource:
    """The source for these roots."""
    return HwmonSource(Path(places.sysfs_root))


class HwmonSource:
    """Sensors of the driven cards. The channels have no labels; the first of each kind is the chip and its supply."""

    name = "sysfs"
    vendor = "gaudi"

    def __init__(self, sysfs: Path) -> None:
        self._sysfs = sysfs

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """Nothing: the cards are listed by the source `sysfs`."""
        return [], []

    def read(self) -> dict[str, dict[str, Reading]]:
        """One reading per file that exists."""
        return {f"pci:{card.address}": self._readings(card) for card in tree.cards(self._sysfs) if card.driven}

    def holders(self) -> dict[str, list[Holder]]:
        """Nothing."""
        return {}

    def _readings(self, card: tree.Card) -> dict[str, Reading]:
        found: dict[str, Reading] = {}
        for name, path, divisor, low, high in self._files(card):
            try:
                value = number(path) / divisor
            except Unreadable as error:
                if not error.missing:
                    found[name] = error.reading(self.name)
                continue
            if low <= value <= high:
                found[name] = ok(value, self.name)
            else:
                found[name] = failed(f"{path.name} says {value:g}, which is out of range", self.name)
        return found

    @staticmethod
    def _files(card: tree.Card) -> Iterator[tuple[str, Path, float, float, float]]:
        """Reading, file, what its number is divided by, least and greatest sensible value."""
        sensors = next((path for folder in card.folders for path in sorted(folder.glob("hwmon/hwmon*"))), None)
        if sensors is not None:
            yield "temperature_celsius", sensors / "temp1_input", 1e3, -40.0, 150.0
            yield "power_watts", sensors / "power1_input", 1e6, 0.0, 5000.0
        yield "power_limit_watts", card.path("max_power"), 1e3, 1.0, 5000.0
        yield "clock_mhz", card.path("clk_cur_freq_mhz"), 1.0, 0.0, 10_000.0
