"""Which fields hl-smi is asked for, and what each means. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, absent, failed, ok
from accel_tui.vendors.gaudi import facts
from accel_tui.vendors.gaudi.table import Unavailable, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.vendors.gaudi.table import Table

SOURCE = "hl-smi"

CORE = (
    "index", "module_id", "bus_id", "name", "uuid", "serial", "driver_version",
    "memory.total", "memory.used", "temperature.aip", "utilization.aip", "power.draw",
)  # fmt: skip
QUICK_GROUPS: tuple[tuple[str, ...], ...] = (("power.max",), ("clocks.current.soc",))
"""Optional fields that are asked with the core set."""
SLOW_GROUPS: tuple[tuple[str, ...], ...] = (
    ("ecc.errors.corrected.aggregate.total", "ecc.errors.uncorrected.aggregate.total"),
    ("pcie.link.gen.current", "pcie.link.width.current"),
    ("stats.violation.power", "stats.violation.thermal"),
)
"""Optional fields that are asked now and then: each costs the firmware, and none moves quickly."""
IDENTITY = ("bus_id",)

_MIB = {"MiB": 1 << 20, "MB": 1 << 20, "KiB": 1 << 10, "kB": 1 << 10, "GiB": 1 << 30, "GB": 1 << 30, "B": 1}
# MB is MiB here: the long report labels the same values so.


@dataclass(frozen=True)
class Field:
    """How the cells of a field become a reading."""

    reading: str
    units: Mapping[str, float]
    low: float
    high: float
    whole: bool = False


NUMBERS: Mapping[str, Field] = {
    "memory.used": Field("memory_used_bytes", _MIB, 0, 1 << 50, whole=True),
    "temperature.aip": Field("temperature_celsius", {"C": 1}, -40, 150),
    "utilization.aip": Field("utilization_percent", {"%": 1}, 0, 100),
    "power.draw": Field("power_watts", {"W": 1, "mW": 1e-3}, 0, 5000),
    "power.max": Field("power_limit_watts", {"W": 1, "mW": 1e-3}, 1, 5000),
    "clocks.current.soc": Field("clock_mhz", {"MHz": 1, "GHz": 1e3}, 0, 10_000),
    "ecc.errors.corrected.aggregate.total": Field("ecc_corrected", {"": 1}, 0, 1 << 63, whole=True),
    "ecc.errors.uncorrected.aggregate.total": Field("ecc_uncorrected", {"": 1}, 0, 1 << 63, whole=True),
}
METRICS = ("memory.used", "temperature.aip", "utilization.aip", "power.draw")
"""Of the core set: the fields that a card answers with numbers while all is well."""


def memory_total(table: Table, address: str) -> int | None:
    """Bytes; None when the row does not say."""
    try:
        total = number(table.rows[address].cells.get("memory.total", ""), _MIB, table.units.get("memory.total"))
    except Unavailable:
        return None
    return int(total) if total > 1 << 20 else None


def reading(name: str, table: Table, address: str) -> Reading:
    """The reading of one field of one card; the row must be one that can be read."""
    field = NUMBERS[name]
    cells = table.rows[address].cells
    if name not in cells:
        return failed(f"hl-smi gave no column {name}", SOURCE)
    cell = cells[name]
    try:
        value = number(cell, field.units, table.units.get(name))
    except Unavailable as why:
        return _unavailable(name, table, why)
    if not field.low <= value <= field.high:
        return failed(f"hl-smi says {cell!r} for {name}, which is out of range", SOURCE)
    return ok(int(value) if field.whole else value, SOURCE)


def link(name: str, table: Table, address: str) -> Reading:
    """PCIe generation or width; the tool gives `Gen4` and `x16`, whatever units are asked for."""
    cell = table.rows[address].cells.get(name, "")
    value = facts.pcie_generation(cell) if ".gen." in name else facts.pcie_width(cell)
    if value is None:
        return _unavailable(name, table, Unavailable(cell, plain=cell.lower() in ("", "n/a", "na", "-", "[n/a]")))
    return ok(value, SOURCE)


def says_nothing(table: Table) -> bool:
    """Whether every metric of every card is "not available": what a build answers to an account without rights."""
    rows = [row for row in table.rows.values() if not row.fault]
    return bool(rows) and all(_is_plain(row.cells.get(name, ""), name) for row in rows for name in METRICS)


def _is_plain(cell: str, name: str) -> bool:
    try:
        number(cell, NUMBERS[name].units, None)
    except Unavailable as why:
        return why.plain
    return False


def _unavailable(name: str, table: Table, why: Unavailable) -> Reading:
    """A field that no card has is absent; one that this card alone does not give has failed."""
    cells = [row.cells.get(name, "") for row in table.rows.values() if not row.fault]
    if why.plain and len(cells) > 1 and all(cell == why.cell for cell in cells):
        return absent(f"hl-smi answers {why.cell or 'nothing'!r} for {name} of every card", SOURCE)
    return failed(f"hl-smi answers {why.cell!r} for {name}", SOURCE)


def denied_reason() -> str:
    return "hl-smi answers N/A for every value: on this host it needs root (or a container with the right capabilities)"
