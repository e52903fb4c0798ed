"""Columns of a table: declared once, laid out for a width, never moved by what stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accel_tui.tui.widgets.pieces import Align, Cell, Piece


@dataclass(frozen=True)
class Column:
    """One column; its width is that of the largest value it can ever hold."""

    key: str
    title: str
    width: int
    align: Align = "left"
    drop: int = 0
    """Columns are left out in rising order of this when the table is too narrow; 0 is never left out."""
    gap: int = 1
    """Blank columns before it."""
    grow: bool = False
    """Takes spare width; `width` is then its least."""


@dataclass(frozen=True)
class Row:
    """One row; `cells` in the order of the columns."""

    key: str
    cells: tuple[Cell, ...]
    mark: Piece | None = None
    """What stands in the mark column: picked, can be picked, cannot, or a letter."""


@dataclass(frozen=True)
class Place:
    """A visible column: which one, where it begins, how wide it is."""

    number: int
    column: Column
    x: int
    width: int


def lay_out(columns: Sequence[Column], width: int, lead: int) -> tuple[Place, ...]:
    """The columns that fit into `width` behind `lead` columns of cursor and marks, and their places."""
    kept = list(range(len(columns)))
    for number in sorted(kept, key=lambda number: columns[number].drop):
        if lead + _total(columns, kept) <= width:
            break
        if columns[number].drop:
            kept.remove(number)
    spare = max(0, width - lead - _total(columns, kept))
    growing = [number for number in kept if columns[number].grow]
    places, x = [], lead
    for number in kept:
        column = columns[number]
        x += column.gap
        extra = 0
        if number in growing:
            extra = spare // len(growing) + (growing.index(number) < spare % len(growing))
        places.append(Place(number, column, x, column.width + extra))
        x += column.width + extra
    return tuple(places)


def _total(columns: Sequence[Column], kept: Sequence[int]) -> int:
    return sum(columns[number].gap + columns[number].width for number in kept)
