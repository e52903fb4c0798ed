"""Bars of box-drawing lines, in half-cell steps. A number always stands beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.widgets.pieces import Cell, Piece, joined


def bar(share: float | None, width: int, role: str, glyphs: Glyphs) -> Cell:
    """A bar of `width` columns.

    Args:
        share: 0 to 1, clamped; None (no value) is blank, not empty: nothing is known.
        role: The quantity's role, or `warn` at its limit.

    Anything above nothing shows at least half a cell, and only the whole fills the last half.
    """
    if share is None or width <= 0 or math.isnan(share):
        return (Piece(" " * max(0, width)),)
    halves = _halves(share, 2 * width)
    full, half = divmod(halves, 2)
    return joined(
        (
            Piece(glyphs.text("bar-full") * full + glyphs.text("bar-half") * half, role),
            Piece(glyphs.text("bar-rest") * (width - full - half), "track"),
        )
    )


def parts_bar(parts: Sequence[tuple[float, str]], total: float, width: int, glyphs: Glyphs) -> Cell:
    """One bar of several (amount, role) in whole cells that add up as their amounts do; the rest is the track."""
    if total <= 0 or width <= 0:
        return (Piece(" " * max(0, width)),)
    pieces, reached, amount = [], 0, 0.0
    for value, role in parts:
        amount += max(0.0, value)
        end = round(min(1.0, amount / total) * width)
        pieces.append(Piece(glyphs.text("bar-full") * (end - reached), role))
        reached = end
    return joined((*pieces, Piece(glyphs.text("bar-rest") * (width - reached), "track")))


def _halves(share: float, most: int) -> int:
    if share <= 0:
        return 0
    if share >= 1:
        return most
    return min(most - 1, max(1, round(share * most)))
