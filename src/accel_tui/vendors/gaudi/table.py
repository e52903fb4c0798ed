"""The CSV that `hl-smi -Q FIELDS -f csv` prints: columns by name, cell by cell. Pure.

The header is the first line that names the fields; unit brackets and case do not matter. A line that has another number
of columns is no row, but tells of which card it speaks. Nothing is ever taken from another column or row.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accel_tui.vendors.gaudi import facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BRACKET = re.compile(r"\s*\[[^\]]*\]\s*$")
_UNIT = re.compile(r"\[([^\]]*)\]\s*$")
_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*([A-Za-z%°/]*)\s*", re.A)
_UNAVAILABLE = frozenset(
    {
        "",
        "-",
        "--",
        "n/a",
        "na",
        "[n/a]",
        "err",
        "[err]",
        "error",
        "none",
        "null",
        "nan",
        "not supported",
        "[not supported]",
        "unknown",
    }
)


@dataclass(frozen=True)
class Row:
    """What one line says of one card."""

    cells: Mapping[str, str] = field(default_factory=dict)
    """Field to text; empty for a line that cannot be read."""
    fault: str | None = None
    """Why the line cannot be read."""


@dataclass(frozen=True)
class Table:
    """Rows by PCI address, in the order of the output."""

    rows: Mapping[str, Row]
    units: Mapping[str, str]
    """Unit of a field as its header says it."""
    lost_lines: int = 0
    """Lines behind the header that name no card."""
    says_nothing: bool = False
    """Whether there are such lines alone, and every cell of them is "not available"."""


@dataclass(frozen=True)
class Unavailable(Exception):  # noqa: N818 - says what is so
    """A cell without a number."""

    cell: str
    plain: bool
    """Whether it is the tool's own word for "not available", as against something that cannot be understood."""


def parse(text: str, fields: Sequence[str]) -> Table | None:
    """The table in the tool's output; None when no line is a header of some of `fields`.

    A build that prints no header is understood when every line has as many cells as there are `fields`, in their order.
    """
    lines = [cells for line in text.replace("\0", "").lstrip("\ufeff").splitlines() if any(cells := _cells(line))]
    known = {name.lower() for name in fields}
    header = [name.lower() for name in fields] if _is_bare(lines, fields) else None
    lengths = {len(cells) for cells in lines if any(facts.address(cell) is not None for cell in cells)}
    units: dict[str, str] = {}
    rows: dict[str, Row] = {}
    lost, silent = 0, True
    for cells in lines:
        names = [_name(cell) for cell in cells]
        if _is_header(names, known):
            header = names
            units.update({_name(cell): match.group(1).strip() for cell in cells if (match := _UNIT.search(cell))})
        elif header is not None:
            # A comma at the end of a line is no cell where every line has one; of one line alone it is a fault.
            ends = cells[-1] == "" and len(header) not in lengths
            address, row = _row(header, cells[:-1] if ends else cells)
            if address is None:
                lost += 1
                silent = silent and all(cell.lower() in _UNAVAILABLE for cell in cells)
            elif address not in rows or (rows[address].fault and not row.fault):
                rows[address] = row
    return None if header is None else Table(rows, units, lost, says_nothing=bool(lost and silent and not rows))


def number(cell: str, units: Mapping[str, float], header_unit: str | None) -> float:
    """The number of a cell. `units` are the factors of the units that make sense; the first is meant when none is said.

    Raises:
        Unavailable: there is none.
    """
    if cell.strip().lower() in _UNAVAILABLE:
        raise Unavailable(cell.strip(), plain=True)
    match = _NUMBER.fullmatch(cell)
    if match is None:
        raise Unavailable(cell.strip(), plain=False)
    factors = {unit.lower(): factor for unit, factor in units.items()}
    stated = (match.group(2) or header_unit or next(iter(units))).lower().lstrip("°")
    if stated not in factors:
        raise Unavailable(cell.strip(), plain=False)
    return float(match.group(1)) * factors[stated]


def word(cell: str | None) -> str | None:
    """The text of a cell, None where the tool says that there is none."""
    stripped = (cell or "").strip()
    return None if stripped.lower() in _UNAVAILABLE else stripped


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]
    except csv.Error:  # a cell without an end
        return [line.strip()]


def _name(cell: str) -> str:
    return _BRACKET.sub("", cell).strip().lower()


def _is_bare(lines: Sequence[Sequence[str]], fields: Sequence[str]) -> bool:
    """Whether this is a table without a header: each line as long as was asked, with an address where it belongs."""
    if "bus_id" not in fields or not lines:
        return False
    place = fields.index("bus_id")
    return all(len(cells) == len(fields) and facts.address(cells[place]) is not None for cells in lines)


def _is_header(names: Sequence[str], known: set[str]) -> bool:
    """Whether a line names fields: at least two, or the one that was asked."""
    hits = sum(name in known for name in set(names))
    return hits >= min(2, len(known))


def _row(header: Sequence[str], cells: Sequence[str]) -> tuple[str | None, Row]:
    """The card that a line speaks of, and its cells by field."""
    if len(cells) == len(header):
        named: dict[str, str] = {}
        for name, cell in zip(header, cells, strict=True):
            named.setdefault(name, cell)
        address = facts.address(named.get("bus_id"))
        if address is not None:
            return address, Row(named)
        fault = f"its line says {named.get('bus_id', 'nothing')!r} for bus_id"
    else:
        fault = f"its line has {len(cells)} of {len(header)} columns"
    addresses = {found for cell in cells if (found := facts.address(cell)) is not None and ":" in cell}
    return (addresses.pop() if len(addresses) == 1 else None), Row(fault=fault)
