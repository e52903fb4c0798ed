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


def _start(label: Label, axis: Axis, columns: int) -> tuple[int, str]:
    """Where a label begins, and its clean text; the first column of a sliding axis begins within a slot of its edge."""
    text = clean((Piece(label.text),))[0].text
    column = axis.column(label.x, columns)
    return min(0 if column == -1 else column, columns - len(text)), text


def axis_line(labels: Sequence[Label], axis: Axis, left: int, columns: int) -> Cell:
    """Labels in faint, each beginning at its column or ending with the axis.

    Where two would touch, the last one stays, since it is the newest, then those from the left.
    """
    places = [place for place in (_start(label, axis, columns) for label in sorted(labels)) if place[0] >= 0]
    line = ""
    for start, text in places[:-1]:
        touches_left = bool(line) and start <= len(line)
        if not touches_left and start + len(text) < places[-1][0]:
            line = line.ljust(start) + text
    for start, text in places[-1:]:
        line = line.ljust(start) + text
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
