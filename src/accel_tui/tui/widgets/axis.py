"""What charts and heat strips of one view share: equal gutters, and labels below their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from accel_tui.tui.widgets.decimate import Axis
from accel_tui.tui.widgets.pieces import Cell, Piece, clean

LEFT_GUTTER = 14
"""Columns before every chart of a view, so that all share x to the column."""
RIGHT_GUTTER = 6
"""Columns behind it, for the last value."""


class Label(NamedTuple):
    """A text below the place of an x."""

    x: float
    text: str


def axis_line(labels: Sequence[Label], axis: Axis, left: int, columns: int) -> Cell:
    """Labels in faint, each beginning at its column or ending with the axis; what would overlap is left out."""
    line, reached = "", -1
    for x, foreign in sorted(labels):
        text = clean((Piece(foreign),))[0].text
        start = min(axis.column(x, columns), columns - len(text))
        if start == -1:
            start = 0  # an x at the edge: the first column of a sliding axis begins within one slot of it
        if start > reached and start >= 0:
            line = line.ljust(start) + text
            reached = start + len(text)
    return (Piece(" " * left), Piece(line.ljust(columns), "faint"))


def with_column(content: Cell, column: int, sign: Piece) -> Cell:
    """`content` with one column replaced; every character of it must be one column wide."""
    pieces: list[Piece] = []
    start = 0
    for piece in content:
        place = column - start
        start += len(piece.text)
        if 0 <= place < len(piece.text):
            text = piece.text
            pieces += [piece._replace(text=text[:place]), sign, piece._replace(text=text[place + 1 :])]
        else:
            pieces.append(piece)
    return tuple(pieces)
