"""What is passed around about one line of a log and the place in it, and the map of hits beside it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from accel_tui.tui.widgets.pieces import Cell, Piece


class LogLine(NamedTuple):
    """One line, cleaned, for whoever gives it its looks."""

    number: int | None
    """From 0; None until the lines before it were counted."""
    offset: int
    text: str
    head: str = ""
    """How the line began before a carriage return, where one stands in it: prefixes such as a rank are there."""
    folded: str = ""
    """What it stands for where several lines are shown as one: `14 lines`."""


class Dressed(NamedTuple):
    """A line with its looks."""

    gutter: Cell
    """What stands before it and stays when the view goes sideways; the same width in all lines."""
    text: Cell
    """The line itself: hits are marked in it alone."""


class Status(NamedTuple):
    """What there is to say about the place in the log."""

    total: int = 0
    exact: bool = True
    """False while `total` is an estimate."""
    behind: int = 0
    """Lines below the last visible one."""
    following: bool = True
    replaced: int = 0
    """How often the source was cut or replaced since it was opened."""


def spread(marks: Iterable[tuple[int, str]], size: int, height: int) -> dict[int, str]:
    """The rows of a map of `height` rows in which marks stand, with their role; of several in a row the last counts.

    Args:
        marks: Bytes of a log of `size` bytes, each with the role that it is drawn in.
    """
    if size <= 0 or height <= 0:
        return {}
    return {min(height - 1, max(0, place * height // size)): role for place, role in marks}


def cropped(strips: tuple[Strip, Strip], left: int, width: int, blank: Style, cut: Segment) -> Strip:
    """A gutter and the line from column `left` on, `width` columns together; `cut` ends a line that is longer."""
    gutter, strip = strips
    room = max(0, width - gutter.cell_length)
    end = left + room
    if strip.cell_length <= end:
        text = strip.crop(left, end).adjust_cell_length(room, blank)
    else:
        kept = strip.crop(left, max(left, end - len(cut.text)))
        text = Strip([*kept.adjust_cell_length(max(0, room - len(cut.text)), blank), cut])
    return Strip([*gutter, *text]).adjust_cell_length(width, blank)


def plain(line: LogLine) -> Dressed:
    """A line without any looks."""
    return Dressed((), (Piece(line.text),))


Map: TypeAlias = "Mapping[int, str]"
"""Row to role."""
