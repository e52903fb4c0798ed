"""How the room of the Utilization pane is shared by loss, heat strip and small charts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from textual.geometry import Size

from accel_tui.tui.widgets.axis import LEFT_GUTTER, RIGHT_GUTTER
from accel_tui.tui.widgets.multiples import Tiling

_LEAST_LOSS, _MOST_LOSS = 4, 12
_LEAST_CHART = 3
_LEAST_COLUMNS = 24
"""A time axis with fewer columns says nothing."""
_LEAST_DETAILS = 9


@dataclass(frozen=True)
class Arrangement:
    """Rows of each part; 0 leaves it out."""

    loss: int = 0
    """The figures of the run and their chart, on the axis of what stands below."""
    single: int = 0
    """One chart with a y axis, for one device."""
    strip: int = 0
    """A heat row per device, and the times below."""
    tiles: int = 0
    """Small charts: of each device, or below a strip more readings of those that matter."""
    details: bool = False
    """The small charts are such further readings."""


def arrange(size: Size, devices: int, *, loss: bool) -> Arrangement:
    """What stands where.

    Args:
        devices: How many are shown.
        loss: A run has curves, and no other pane shows them.
    """
    height, columns = size.height, size.width - LEFT_GUTTER - RIGHT_GUTTER
    if devices == 0 or height < 1:
        return Arrangement()
    wide = columns >= _LEAST_COLUMNS
    if devices == 1:
        return _one(height, loss=loss and wide, wide=wide)
    strip = devices + 1
    if loss and wide and height >= strip + _LEAST_LOSS:
        rest = height - strip
        if rest >= _LEAST_LOSS + 2 + _LEAST_DETAILS:
            top = min(_MOST_LOSS, max(_LEAST_LOSS + 2, rest * 2 // 5))
            return Arrangement(top, strip=strip, tiles=rest - top, details=True)
        return Arrangement(rest, strip=strip)
    if Tiling.best(devices, size) is not None:
        return Arrangement(tiles=height)
    return Arrangement(strip=min(strip, height)) if wide else Arrangement(tiles=height)


def _one(height: int, *, loss: bool, wide: bool) -> Arrangement:
    if not wide:
        return Arrangement(tiles=height)
    if loss and height >= _LEAST_LOSS + _LEAST_CHART:
        top = max(_LEAST_LOSS, height // 2)
        return Arrangement(top, single=height - top)
    return Arrangement(single=height)
