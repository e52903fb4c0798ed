"""What the longer texts of hl-smi say: help, port states, replaced rows. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.vendors.gaudi import facts

if TYPE_CHECKING:
    from collections.abc import Collection

_FIELD = re.compile(
    r"(?<![\w.-])[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+(?![\w-])|\b(?:index|module_id|bus_id|name|uuid|serial)\b", re.I
)
_PORT = re.compile(r"^\s*port\s+(\d+)\s*:\s*(\S+)", re.I)
_CARD = re.compile(r"^\s*\[\s*\d+\]\s*AIP\b.*?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.I)
_BUS = re.compile(r"^\s*Bus Id\s*:\s*(\S+)", re.I)
_ROWS = re.compile(r"^\s*(Single Bit ECC|Double Bit ECC|Pending)\s*:\s*(\S+)", re.I)
_KEYS = {"single bit ecc": "replaced_rows_single_bit", "double bit ecc": "replaced_rows_double_bit"}


@dataclass(frozen=True)
class Ports:
    """State of the ports that a report lists."""

    up: int
    listed: int
    down: tuple[int, ...]


def fields(help_text: str) -> frozenset[str]:
    """Names that look like query fields in the help of this build; empty when it lists none."""
    return frozenset(match.group(0).lower() for match in _FIELD.finditer(help_text))


def ports(text: str, without: Collection[int] = ()) -> Ports | None:
    """The lines `port  0:  UP` of `-n link`, less the ports that are left out; None when there are none."""
    states: dict[int, bool] = {}
    for line in text.splitlines():
        match = _PORT.match(line)
        if match is None or int(match.group(1)) in without:
            continue
        if match.group(2).upper() in ("UP", "DOWN"):
            states[int(match.group(1))] = match.group(2).upper() == "UP"
    if not states:
        return None
    down = tuple(sorted(port for port, is_up in states.items() if not is_up))
    return Ports(len(states) - len(down), len(states), down)


def external_ports(text: str) -> tuple[int, ...] | None:
    """The ports that `-n ports` calls external; None when it names no port."""
    roles = {int(match.group(1)): match.group(2).lower() for line in text.splitlines() if (match := _PORT.match(line))}
    return tuple(sorted(port for port, role in roles.items() if role.startswith("ext"))) if roles else None


def replaced_rows(text: str) -> dict[str, dict[str, int | bool]]:
    """Replaced rows by PCI address, out of `-q -d ROW_REPLACEMENT`, as entries of `Device.details`."""
    found: dict[str, dict[str, int | bool]] = {}
    current: str | None = None
    for line in text.splitlines():
        card = _CARD.match(line) or _BUS.match(line)
        if card is not None:
            current = facts.address(card.group(1)) or current
            continue
        match = _ROWS.match(line)
        if match is None or current is None:
            continue
        label, value = match.group(1).lower(), match.group(2).lower()
        if label == "pending" and value in ("yes", "no"):
            found.setdefault(current, {})["replaced_rows_pending"] = value == "yes"
        elif label in _KEYS and value.isdecimal():
            found.setdefault(current, {})[_KEYS[label]] = int(value)
    return found
