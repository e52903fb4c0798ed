"""Where panes stand: three layouts by the size of the screen. Pure, but for the classes that tell Textual."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from textual.containers import Container
from textual.geometry import Offset, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

LEAST = Size(60, 20)
"""Below this nothing useful fits."""
WIDE_COLUMNS, MIDDLE_COLUMNS, TALL_ROWS = 180, 110, 32
DEVICES_SHARE = 0.45
"""Most of the screen's height that the devices take before they scroll."""
_LOG_STRIP, _RUNS_STRIP = 3, 4


class Mode(enum.Enum):
    """Which layout a size gets."""

    WIDE = "wide"
    MIDDLE = "middle"
    TABS = "tabs"
    TINY = "tiny"


def mode_of(screen: Size) -> Mode:
    """The layout for the whole terminal's size."""
    if screen.width < LEAST.width or screen.height < LEAST.height:
        return Mode.TINY
    if screen.height < TALL_ROWS or screen.width < MIDDLE_COLUMNS:
        return Mode.TABS
    return Mode.WIDE if screen.width >= WIDE_COLUMNS else Mode.MIDDLE


@dataclass(frozen=True)
class Wish:
    """What decides the places besides the size."""

    shown: str
    """The pane with the focus: the visible one where there are tabs."""
    maximised: bool = False
    wider: int = 0
    """Columns that the left side was made wider by."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows each pane needs to show everything, border included."""
    start: bool = False
    """Nothing has run yet: the start card takes the middle."""


@dataclass(frozen=True)
class Place:
    """Where a pane stands, and how it is drawn there."""

    region: Region
    strip: bool = False
    """Without a border, in few rows below another one."""
    tab: bool = False
    """Without a border: the tab line is its title."""


def places(mode: Mode, size: Size, present: Collection[str], wish: Wish) -> dict[str, Place]:
    """The places of the visible panes inside `size`, which is the screen without its head and foot.

    Args:
        present: Names of the panes that there are: devices, job, runs, utilization, log, metrics, start.
    """
    if mode is Mode.TINY:
        return {}
    if mode is Mode.TABS:
        return _tabs(size, present, wish)
    if wish.maximised:
        return {wish.shown: Place(Region(0, 0, size.width, size.height))}
    usual = _wide(size, wish) if mode is Mode.WIDE else _middle(size, wish)
    start = _start(size, wish)
    regions = start if wish.start and wish.shown in start else usual  # who asks for another pane gets to see it
    return {name: Place(region) for name, region in _without_holes(regions, present).items()}


def _tabs(size: Size, present: Collection[str], wish: Wish) -> dict[str, Place]:
    """One pane; the devices leave room for the newest runs and the end of the log."""
    whole = {wish.shown: Place(Region(0, 0, size.width, size.height), tab=True)}
    if wish.start and "start" in present and wish.shown in ("devices", "start"):
        rows = min(wish.rows.get("devices", 8) - 2, size.height // 3)
        return {
            "devices": Place(Region(0, 0, size.width, rows), tab=True),
            "start": Place(Region(0, rows, size.width, size.height - rows)),
        }
    if wish.shown != "devices" or wish.maximised:
        return whole
    wanted = max(6, wish.rows.get("devices", 10) - 1)  # its border's two rows, and the rule that replaces a blank
    spare = size.height - wanted - (_RUNS_STRIP if "runs" in present else 0)
    strips = [("runs", _RUNS_STRIP), ("log", max(_LOG_STRIP, spare))]
    strips = [(name, rows) for name, rows in strips if name in present]
    while strips and size.height - sum(rows for _, rows in strips) < min(wanted, 8):
        strips.pop(0)
    y = size.height - sum(rows for _, rows in strips)
    found = {"devices": Place(Region(0, 0, size.width, y), tab=True)}
    for name, rows in strips:
        found[name] = Place(Region(0, y, size.width, rows), strip=True)
        y += rows
    return found


def _devices_rows(size: Size, wish: Wish) -> int:
    return max(6, min(wish.rows.get("devices", 8), int((size.height + 2) * DEVICES_SHARE)))


def _middle(size: Size, wish: Wish) -> dict[str, Region]:
    """Devices over the full width; left Utilization and Log, right Runs and Job. Metrics, when asked for, stands where
    Utilization does otherwise."""
    charts = "metrics" if wish.shown == "metrics" else "utilization"
    devices = _devices_rows(size, wish)
    rest = size.height - devices
    left = _split(size.width, 0.53, wish)
    utilization = min(max(8, rest * 2 // 5), 12)
    runs = max(5, min(wish.rows.get("runs", 8), rest // 3, 12))
    return {
        "devices": Region(0, 0, size.width, devices),
        **_stack(0, devices, left, [(charts, utilization), ("log", rest - utilization)]),
        **_stack(left, devices, size.width - left, [("runs", runs), ("job", rest - runs)]),
    }


def _wide(size: Size, wish: Wish) -> dict[str, Region]:
    """Left Devices, Utilization, Log; right Runs, Job, Metrics."""
    left = _split(size.width, 0.62, wish)
    devices = _devices_rows(size, wish)
    rest = size.height - devices
    utilization = min(max(8, rest * 3 // 7), 15)
    runs = max(6, min(wish.rows.get("runs", 9), size.height // 4))
    job = max(12, min(20, (size.height - runs) * 10 // 19))
    return {
        **_stack(0, 0, left, [("devices", devices), ("utilization", utilization), ("log", rest - utilization)]),
        **_stack(left, 0, size.width - left, [("runs", runs), ("job", job), ("metrics", size.height - runs - job)]),
    }


def _start(size: Size, wish: Wish) -> dict[str, Region]:
    """Nothing has run yet: devices, ways to begin, and the empty runs and log."""
    devices = _devices_rows(size, wish)
    start = min(13, size.height - devices)
    y, rest = devices + start, size.height - devices - start
    left = size.width // 2
    return {
        "devices": Region(0, 0, size.width, devices),
        "start": Region(0, devices, size.width, start),
        "runs": Region(0, y, left, rest),
        "log": Region(left, y, size.width - left, rest),
    }


def _split(width: int, share: float, wish: Wish) -> int:
    return max(40, min(width - 40, round(width * share) + wish.wider))


def _stack(x: int, y: int, width: int, parts: Sequence[tuple[str, int]]) -> dict[str, Region]:
    found = {}
    for name, rows in parts:
        found[name] = Region(x, y, width, rows)
        y += rows
    return found


def _without_holes(regions: Mapping[str, Region], present: Collection[str]) -> dict[str, Region]:
    """The regions of the panes that there are; the room of an absent one goes to a neighbour in its column."""
    found = {name: region for name, region in regions.items() if name in present}
    for name, region in regions.items():
        if name in present:
            continue
        for other, candidate in found.items():
            above = candidate.bottom == region.y or candidate.y == region.bottom
            if above and (candidate.x, candidate.width) == (region.x, region.width):
                found[other] = candidate.union(region)
                break
    return found


class Places(Layout):
    """Puts each child where the screen says; children without a place are not shown."""

    name = "places"

    def __init__(self, arrange: Callable[[Size], Mapping[Widget, Region]]) -> None:
        self._arrange = arrange

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        found = self._arrange(size)
        return [
            WidgetPlacement(found[child], Offset(0, 0), Spacing(0, 0, 0, 0), child)
            for child in children
            if child in found
        ]


class Panes(Container, can_focus=False):
    """What stands between head and foot, each child where `arrange` says."""

    def __init__(self, arrange: Callable[[Size], Mapping[Widget, Region]], *, id: str) -> None:
        super().__init__(id=id)
        self._places = Places(arrange)

    @property
    def layout(self) -> Layout:
        return self._places
