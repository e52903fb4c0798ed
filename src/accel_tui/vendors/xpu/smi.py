"""What `xpu-smi` says in JSON, of the lines 1.x and 2.x; a cross-check only, never a source. Pure.

Values are found by their names, never by position or metric number: those were renumbered between the lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accel_tui.vendors.xpu.cards import ADDRESS

MIB = 1 << 20
_NONE = re.compile(r"no (gpu )?devices? (discovered|found)", re.IGNORECASE)


class Refused(Exception):  # noqa: N818 - says what is so
    """An answer that is not read, with the reason in words."""


@dataclass(frozen=True)
class SmiCard:
    """One card as the tool lists it."""

    number: int | None
    address: str | None
    name: str | None


@dataclass(frozen=True)
class Listing:
    """The answer to `discovery -j`."""

    cards: tuple[SmiCard, ...] = ()
    line: str | None = None
    """`1.x` or `2.x` where the keys tell."""


@dataclass(frozen=True)
class Figures:
    """The answer to `stats -d N -j`; a figure that the tool does not have is missing."""

    line: str
    values: Mapping[str, float] = field(default_factory=dict)
    """By the names of readings, in their units."""


def discovery(answer: str) -> Listing:
    """The cards that the tool lists.

    Raises:
        Refused: it answered text, an error, or something else than a list of devices.
    """
    document = _document(answer)
    if document is None:
        return Listing()
    listed = document.get("device_list", [document] if _address(document) else None)
    if isinstance(listed, str):
        if _NONE.search(listed):
            return Listing()
        raise Refused(f"it answered {listed[:200]!r} in place of a list")
    if not isinstance(listed, list):
        raise Refused("its answer has no device_list")
    devices = [device for device in listed if isinstance(device, dict)]
    second = any("device_index" in device or "pci_bdf" in device for device in devices)
    return Listing(tuple(map(_card, devices)), None if not devices else "2.x" if second else "1.x")


def stats(answer: str) -> Figures:
    """What the tool reads of one card.

    Raises:
        Refused: as for `discovery`.
    """
    document = _document(answer)
    if document is None:
        raise Refused("it has no device")
    listed = document.get("device_list")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict):
        document = listed[0]
    if "device_level" in document or "tile_level" in document:
        return Figures("1.x", _first_line(document))
    if any(isinstance(document.get(name), dict) for name, *_ in _SECOND):
        return Figures("2.x", _second_line(document))
    raise Refused("its answer has the layout of neither 1.x nor 2.x")


def version(answer: str) -> str | None:
    """The tool's version out of what `-v` prints, such as `1.3.6`; None where there is none."""
    match = re.search(r"\b\d+\.\d+(\.\d+)*", answer)  # the command's own stands first, then that of the service
    return None if match is None else match[0]


def _document(answer: str) -> dict[str, Any] | None:
    """The JSON object of an answer, which warnings may stand before; None for `no devices`."""
    begun = min((at for at in (answer.find("{"), answer.find("[")) if at >= 0), default=-1)
    try:
        found = json.loads(answer[begun:]) if begun >= 0 else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list):
        found = {"device_list": found}
    if not isinstance(found, dict):
        if _NONE.search(answer):
            return None
        first = next((line.strip() for line in answer.splitlines() if line.strip(" +-|")), "")
        raise Refused(f"it answered text where JSON was asked for: {first[:120]!r}" if first else "it answered nothing")
    if "error" in found:
        raise Refused(f"it answered the error {str(found['error'])[:200]!r} (number {found.get('errno', 'unknown')})")
    return found


def _card(device: Mapping[str, Any]) -> SmiCard:
    number = device.get("device_id", device.get("device_index"))
    name = device.get("device_name", device.get("name"))
    known = int(number) if isinstance(number, int | str) and str(number).isdecimal() else None
    return SmiCard(known, _address(device), None if name is None else str(name))


def _address(device: Mapping[str, Any]) -> str | None:
    for name in ("pci_bdf_address", "pci_bdf", "bdf", "pci_address"):
        stated = str(device.get(name, "")).lower()
        if ADDRESS.fullmatch(stated):
            return stated
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_Joined = Callable[[Sequence[float]], float]
_FIRST: tuple[tuple[str, str, float, _Joined], ...] = (
    ("XPUM_STATS_GPU_UTILIZATION", "utilization_percent", 1, _mean),
    ("XPUM_STATS_POWER", "power_watts", 1, sum),
    ("XPUM_STATS_MEMORY_USED", "memory_used_bytes", MIB, sum),
    ("XPUM_STATS_GPU_CORE_TEMPERATURE", "temperature_celsius", 1, max),
    ("XPUM_STATS_MEMORY_TEMPERATURE", "temperature_memory_celsius", 1, max),
    ("XPUM_STATS_GPU_FREQUENCY", "clock_mhz", 1, max),
)
"""Name of 1.x, reading, factor to the reading's unit, and how tiles are joined."""
_SECOND: tuple[tuple[str, str, str, float, _Joined], ...] = (
    ("utilization", "gpu_percent", "utilization_percent", 1, _mean),
    ("power", "gpu_power_w", "power_watts", 1, sum),
    ("memory", "used_mib", "memory_used_bytes", MIB, sum),
    ("temperature", "gpu_core_celsius", "temperature_celsius", 1, max),
    ("temperature", "memory_celsius", "temperature_memory_celsius", 1, max),
    ("frequency", "gpu_frequency_mhz", "clock_mhz", 1, max),
)
"""The same of 2.x: group and name within it."""


def _first_line(document: Mapping[str, Any]) -> dict[str, float]:
    whole = dict(_metrics(document.get("device_level")))
    tiles = [dict(_metrics(tile.get("data_list"))) for tile in _objects(document.get("tile_level"))]
    found = {}
    for kind, reading, factor, joined in _FIRST:
        parts = [whole[kind]] if kind in whole else [tile[kind] for tile in tiles if kind in tile]
        if parts:
            found[reading] = joined(parts) * factor
    return found


def _second_line(document: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for group, kind, reading, factor, joined in _SECOND:
        within = document.get(group)
        stated = within.get(kind) if isinstance(within, dict) else None
        tiles = stated.values() if isinstance(stated, dict) and "current" not in stated else [stated]
        numbers = [number for tile in tiles if (number := _number(tile)) is not None]
        if numbers:
            found[reading] = joined(numbers) * factor
    return found


def _metrics(listed: Any) -> Iterator[tuple[str, float]]:
    for metric in _objects(listed):
        value = _number(metric)
        if value is not None:
            yield str(metric.get("metrics_type")), value


def _number(stated: Any) -> float | None:
    """A number, or the current one of an object of 2.x, or the value of one of 1.x; also where it stands in quotes."""
    if isinstance(stated, dict):
        stated = stated.get("current", stated.get("value", stated.get("avg")))
    if isinstance(stated, bool) or not isinstance(stated, int | float | str):
        return None
    try:
        number = float(stated)
    except ValueError:  # N/A, or blanks
        return None
    return number if math.isfinite(number) else None


def _objects(listed: Any) -> Iterator[dict[str, Any]]:
    return (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else iter(())
