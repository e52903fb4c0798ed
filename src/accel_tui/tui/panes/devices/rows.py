"""The table of devices: columns for a width, a row for a device. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from accel_tui.model.devices import DeviceState, DeviceView, Reading, ReadingStatus
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import GIB, GLYPHS, Glyphs, duration, memory, percent
from accel_tui.tui.naming import address, is_card, mask_number, number, short_name
from accel_tui.tui.standing import Standing
from accel_tui.tui.standing import number as value_of
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.columns import Column, Row, lay_out
from accel_tui.tui.widgets.heat import heat_cell
from accel_tui.tui.widgets.pieces import Cell, Piece, cell, cell_width

HISTORY_CELLS = 18
HISTORY_SECONDS = 300.0
_MEMORY_LIMIT = 0.93
"""Share of a card's memory from which it is shown as near its limit."""
_HOT = {"gaudi": 66.0, "xpu": 85.0, "cpu": 90.0}
"""Temperatures from which they are shown as near their limit."""

LEVELS = ("few", "usual", "all")
"""How many columns the person wants; width decides after that."""


@dataclass(frozen=True)
class Look:
    """What rows are drawn with besides the facts."""

    glyphs: Glyphs
    by_glyph: bool = False
    """The theme cannot tell steps of a heat strip by colour."""
    past: bool = False
    """The supervisor is silent: what is shown is no longer the present."""
    bar_width: int = 15
    holder_width: int = 1000
    """Columns of the holder: details that do not fit are left out rather than cut."""


def columns(
    views: Sequence[DeviceView], width: int, level: str, *, history: bool, glyphs: Glyphs
) -> tuple[Column, ...]:
    """The columns for `width` columns of terminal. Whatever does not fit is left out by the grid, in `drop`'s order.

    Args:
        level: One of `LEVELS`.
        history: Show the last minutes in the table: where nothing else shows them.
    """
    cards = [view for view in views if is_card(view.device)]
    first = _first_title(views)
    numbers = max([len(first), *(len(_label(view, first)) for view in views)])
    memory_width = max([8, *(len("".join(memory(total, total))) for total in _totals(views))])
    name = max([4, *(min(24, len(_name(view))) for view in views)])
    full = width >= 140 and level != "few"
    found = [Column("number", first, numbers, "left" if first == "DEVICE" else "right", gap=1)]
    if cards:
        if any(view.device.index is not None for view in cards):
            found.append(Column("index", "IDX", 3, "right", drop=3))
        if masks := [mask_number(view.device) for view in views if mask_number(view.device)]:
            found.append(Column("mask", "MASK", max(4, *map(len, masks)), "right", drop=8))
        found.append(Column("pci", "PCI ADDRESS" if full else "PCI", 12 if full else 7, drop=8))
    if level == "all" or not cards or full:
        found.append(Column("name", "NAME", name, drop=1, gap=2))
    found.append(Column("bar", "", bar_width(width), drop=7, gap=2))
    found.append(Column("util", "UTIL %", 6, "right", gap=0))
    if history and level != "few":
        found.append(Column("history", "LAST 5 min", HISTORY_CELLS, drop=2, gap=2))
    found.append(Column("mem", "MEM GiB", memory_width, "right", gap=2))
    if level != "few":
        found.append(Column("mem-bar", "", max(6, bar_width(width) - 3), drop=4, gap=1))
    if level == "all":
        found.append(Column("clock", "MHz", 5, "right", drop=1, gap=1))
        found.append(Column("ecc", "ECC", 4, "right", drop=1, gap=1))
    temperature, power = _wordy(views, "temperature_celsius", 3), _wordy(views, "power_watts", 4)
    found.append(Column("temp", glyphs.degree, temperature, "right", drop=10, gap=2))
    found.append(Column("power", "W", power, "right", drop=9, gap=1))
    found.append(Column("holder", "HOLDER", 14, gap=2, grow=True))
    if level != "few":
        found.append(Column("age", "", 9, "right", drop=6, gap=1))
    return tuple(found)


def bar_width(width: int) -> int:
    """Cells of the utilization bar in a pane of that width."""
    return 15 if width >= 118 else 11 if width >= 100 else 6


def _wordy(views: Sequence[DeviceView], name: str, least: int) -> int:
    """Room for the word where a reading of some device is denied or failed."""
    wordy = (ReadingStatus.DENIED, ReadingStatus.FAILED)
    readings = [_telling(view).get(name) for view in views]
    return 6 if any(reading is not None and reading.status in wordy for reading in readings) else least


def _totals(views: Sequence[DeviceView]) -> list[int]:
    return [view.device.memory_total_bytes for view in views if view.device.memory_total_bytes]


def _first_title(views: Sequence[DeviceView]) -> str:
    """How the first column calls devices: by module, by place, or in full where vendors are mixed."""
    vendors = {view.device.vendor for view in views if is_card(view.device)}
    return "DEVICE" if len(vendors) != 1 else {"gaudi": "MOD", "xpu": "POS"}.get(vendors.pop(), "DEVICE")


def _label(view: DeviceView, title: str) -> str:
    if title == "DEVICE" and view.device.vendor != "cpu":
        return f"{view.device.vendor}:{number(view.device)}"
    return number(view.device)


def _name(view: DeviceView) -> str:
    if view.device.vendor == "cpu":
        details = view.device.details
        cores, sockets = details.get("cores"), details.get("sockets")
        if isinstance(cores, (int, float)):
            text = f"{cores:g} core{'' if cores == 1 else 's'}"
            return f"{text}, {sockets} socket{'' if sockets == 1 else 's'}" if sockets else text
    return short_name(view.device)


def row(
    view: DeviceView,
    stands: Standing,
    board: Board,
    kept: Sequence[Column],
    look: Look,
    *,
    history: Sequence[float | None] = (),
) -> Row:
    """The row of one device in the columns `kept`."""
    cells = {
        "number": cell(Piece(_label(view, kept[0].title), "strong", bold=True)),
        "index": cell(Piece("" if view.device.index is None else str(view.device.index), "muted")),
        "mask": cell(Piece(mask_number(view.device), "muted")),
        "pci": cell(
            Piece(address(view.device, short=not any(one.key == "pci" and one.width > 7 for one in kept)), "muted")
        ),
        "name": cell(Piece(_name(view), "muted")),
        "holder": _holder(stands, look),
        "age": cell(Piece("" if stands.since is None else duration(board.now - stands.since), "muted")),
        **_readings(view, look),
        "history": heat_cell(history, look.glyphs, by_glyph=look.by_glyph),
    }
    picked = view.device.key in board.picks
    if picked:
        cells["number"] = tuple(piece._replace(role="accent") for piece in cells["number"])
    found = tuple(cells[one.key] for one in kept)
    if look.past:
        found = tuple(tuple(_greyed(piece) for piece in content) for content in found)
    return Row(view.device.key, found, _mark(stands, picked, look))


def _greyed(piece: Piece) -> Piece:
    return piece if piece.role in ("track", "faint") else piece._replace(role="muted", bold=False)


def _mark(stands: Standing, picked: bool, look: Look) -> Piece:
    name = "picked" if picked else "cannot-pick" if look.past or not stands.free else "can-pick"
    return Piece(look.glyphs.text(name), GLYPHS[name].role)


def _holder(stands: Standing, look: Look) -> Cell:
    sign = Piece(f"{look.glyphs.text(stands.sign)} ", stands.sign_role or GLYPHS[stands.sign].role)
    content = (sign, Piece(stands.words, stands.role))
    if not stands.detail:
        return content
    whole = (*content, Piece(f"  {stands.detail}", "muted"))
    short = (*content, Piece(f"  {stands.detail.partition(',')[0]}", "muted"))
    return next((one for one in (whole, short) if cell_width(one) <= look.holder_width), content)


def _readings(view: DeviceView, look: Look) -> dict[str, Cell]:
    readings, device = _telling(view), view.device
    utilization = readings.get("utilization_percent")
    util = value_of(utilization)
    used, total = value_of(readings.get("memory_used_bytes")), device.memory_total_bytes
    full = used is not None and total is not None and used > total * _MEMORY_LIMIT
    degrees = value_of(readings.get("temperature_celsius"))
    hot = degrees is not None and degrees >= _HOT.get(device.vendor, 90.0)
    figures = {
        "util": _figure(utilization, look, percent, quiet_zero=True),
        "mem": _memory(readings.get("memory_used_bytes"), total, look, warn=full),
        "temp": _figure(readings.get("temperature_celsius"), look, percent, role="warn" if hot else "text"),
        "power": _figure(readings.get("power_watts"), look, percent),
        "clock": _figure(readings.get("clock_mhz"), look, percent),
        "ecc": _figure(readings.get("ecc_uncorrected"), look, percent, quiet_zero=True),
    }
    share = None if util is None else util / 100
    role = "muted" if look.past else "util"
    figures["bar"] = bar(share, look.bar_width, role, look.glyphs)
    held = None if used is None or not total else used / total
    memory_role = "muted" if look.past else "warn" if full else "mem"
    figures["mem-bar"] = bar(held, max(6, look.bar_width - 3), memory_role, look.glyphs)
    return figures


def _telling(view: DeviceView) -> Mapping[str, Reading]:
    """The readings; of a card that is out of order those without a number say nothing new."""
    if view.device.state is DeviceState.OPERATIONAL:
        return view.readings
    return {name: one for name, one in view.readings.items() if one.status is ReadingStatus.OK}


def _figure(
    reading: Reading | None, look: Look, write: Callable[[float], str], *, role: str = "text", quiet_zero: bool = False
) -> Cell:
    """The number, or the word for why there is none."""
    value = value_of(reading)
    if value is None:
        return (_word(reading, look),)
    return (Piece(write(value), "muted" if quiet_zero and value < 0.5 else role),)


def _word(reading: Reading | None, look: Look) -> Piece:
    status = ReadingStatus.ABSENT if reading is None else reading.status
    if status is ReadingStatus.DENIED:
        return Piece("denied", "warn")
    if status is ReadingStatus.FAILED:
        return Piece("failed", "error")
    return Piece(look.glyphs.text("absent"), "faint")


def _memory(reading: Reading | None, total: int | None, look: Look, *, warn: bool) -> Cell:
    behind = "" if total is None else memory(0, total)[1]
    value = value_of(reading)
    if value is None:
        word = _word(reading, look)
        return (word,) if word.role != "faint" else (word, Piece(behind, "faint"))
    return (Piece(memory(value)[0], "warn" if warn else "text"), Piece(behind, "faint"))


SORTS = ("number", "util", "mem", "temp", "power", "holder")
"""Columns that can be sorted by, in the order of the key."""


def sort_key(view: DeviceView, stands: Standing, column: str) -> tuple[float, str]:
    """What a sort by `column` compares; for figures the largest comes first, absent ones last."""
    names = {"util": "utilization_percent", "mem": "memory_used_bytes", "temp": "temperature_celsius",
             "power": "power_watts"}  # fmt: skip
    if column in names:
        value = value_of(view.readings.get(names[column]))
        return (float("inf") if value is None else -value, "")
    return (0.0, f"{stands.role}{stands.words}") if column == "holder" else (0.0, "")


def fitted(look: Look, kept: Sequence[Column], width: int) -> Look:
    """The same look for a table of that width, its marks and cursor included."""
    holder = next((place.width for place in lay_out(kept, width, 2) if place.column.key == "holder"), 1000)
    return replace(look, bar_width=bar_width(width), holder_width=holder)


__all__ = ["GIB", "LEVELS", "SORTS", "Look", "columns", "fitted", "row", "sort_key"]
