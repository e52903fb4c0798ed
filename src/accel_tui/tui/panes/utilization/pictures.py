"""What the Utilization pane draws of each device: a small chart or a heat row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from accel_tui.model.devices import DeviceView
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.naming import is_card
from accel_tui.tui.naming import number as number_of
from accel_tui.tui.panes.utilization.readings import Drawn, stopped_at, trouble
from accel_tui.tui.standing import Standing
from accel_tui.tui.widgets.decimate import Point
from accel_tui.tui.widgets.heat import HeatRow
from accel_tui.tui.widgets.multiples import Tile
from accel_tui.tui.widgets.pieces import Cell, Piece

Reader = Callable[[str, str], tuple[Point, ...]]
"""The points of a device and a reading."""


@dataclass(frozen=True)
class Look:
    """What is common to all devices of one picture."""

    glyphs: Glyphs
    now: float
    """Where the picture ends, in seconds since the epoch."""
    max_gap: float
    moment: float | None
    """The cursor."""
    past: bool = False
    """Nobody tells anything new: what is shown is the past."""


def chosen(board: Board, alone: str | None) -> tuple[list[DeviceView], str]:
    """Which devices are shown, and how that choice is called: the picked ones, else all cards, else the CPU."""
    if alone is not None and board.device(alone) is not None:
        return [view for view in board.devices if view.device.key == alone], ""
    picked = list(board.picked())
    if picked:
        return picked, f"{len(picked)} picked"
    cards = [view for view in board.devices if is_card(view.device)]
    if cards:
        return cards, "all cards" if len(cards) > 1 else ""
    return list(board.devices), ""


def named(view: DeviceView, stands: Standing, glyphs: Glyphs, *, narrow: bool) -> Cell:
    """Number, sign and holder: `0  ● qwen3-lora`."""
    name = Piece(number_of(view.device), "strong", bold=True)
    if stands.sign == "stale":
        return (name,)
    sign = Piece(f" {glyphs.text(stands.sign)}", stands.sign_role or stands.role if stands.sign != "running" else "ok")
    words = Piece(f" {stands.words}", "muted" if stands.role == "text" else stands.role)
    return (name, sign) if narrow else (name, sign, words)


def tile(view: DeviceView, stands: Standing, drawn: Drawn, read: Reader, look: Look, *, narrow: bool) -> Tile:
    """One device as a small chart."""
    points = read(view.device.key, drawn.name)
    stopped = stopped_at(points, look.now, look.max_gap)
    return Tile(
        named(view, stands, look.glyphs, narrow=narrow),
        value(view, drawn, points, look),
        points,
        role(stands, drawn, look),
        drawn.scale(view, points),
        () if stopped is None else (stopped,),
    )


def detail(view: DeviceView, drawn: Drawn, read: Reader, look: Look) -> Tile:
    """One more reading of a device, named by both."""
    points = read(view.device.key, drawn.name)
    title = (Piece(number_of(view.device), "strong", bold=True), Piece(f" {drawn.word}", "muted"))
    scale = drawn.scale(view, points)
    return Tile(title, value(view, drawn, points, look), points, "muted" if look.past else drawn.role, scale)


def heat_row(view: DeviceView, stands: Standing, drawn: Drawn, read: Reader, look: Look) -> HeatRow:
    """One device as a row of a heat strip, as shares of its scale."""
    points = read(view.device.key, drawn.name)
    top = drawn.scale(view, points).high
    shares = tuple((time, None if number is None else 100 * number / top) for time, number in points)
    name = Piece(f"{number_of(view.device):<3}", "strong", bold=True)
    words = Piece(stands.words, "muted" if stands.role == "text" else stands.role)
    return HeatRow((name, words), shares, value(view, drawn, points, look, short=True))


def role(stands: Standing, drawn: Drawn, look: Look) -> str:
    """The colour of a chart: that of its quantity, or of somebody else's work."""
    if look.past:
        return "muted"
    return "foreign" if stands.sign == "other-user" and drawn.role == "util" else drawn.role


def value(view: DeviceView, drawn: Drawn, points: Sequence[Point], look: Look, *, short: bool = False) -> Cell:
    """The number at the cursor, else the newest one, else the word why there is none."""
    if look.moment is not None:
        there = at(points, look.moment, look.max_gap)
        return (Piece(look.glyphs.text("absent") if there is None else drawn.value(there), "accent"),)
    why = trouble(view, drawn)
    if why is not None:
        word = why[0].partition(" ")[0] if short else why[0]
        return (Piece(word or look.glyphs.text("absent"), why[1]),)
    last = next((number for _, number in reversed(points) if number is not None), None)
    reading = view.readings[drawn.name].value
    newest = float(reading) if isinstance(reading, (int, float)) else last
    if newest is None:
        return (Piece(look.glyphs.text("absent"), "faint"),)
    return (Piece(drawn.value(newest), "muted" if look.past or not newest else "text"),)


def at(points: Sequence[Point], moment: float, limit: float) -> float | None:
    """The last value not later than `moment`, unless that is older than `limit`."""
    found: Point | None = None
    for point in points:
        if point[0] > moment:
            break
        found = point
    return None if found is None or moment - found[0] > limit else found[1]
