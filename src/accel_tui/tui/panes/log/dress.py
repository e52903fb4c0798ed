"""What a line of a log looks like: number, arrival, rank, severity, text. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from accel_tui.logs.ranks import split_rank
from accel_tui.logs.severity import Severity, severity_of
from accel_tui.tui.glyphs import Glyphs, clock
from accel_tui.tui.widgets.logline import Dressed, LogLine
from accel_tui.tui.widgets.pieces import Piece

TIME_WIDTH, NUMBER_WIDTH = 70, 136
"""From these widths on there is room for arrival times, and for line numbers."""
LAUNCHER = "L"
"""Stands for a rank where a log has ranks and a line names none."""
_SIGNS = {Severity.ERROR: ("failed", "error"), Severity.WARNING: ("warning", "warn")}


@dataclass(frozen=True)
class Columns:
    """What stands before the text; equal columns are the same width in all lines."""

    numbers: int = 0
    """Digits of line numbers; 0 leaves them out."""
    times: bool = False
    ranks: int = 0
    """Digits of ranks; 0 leaves them out."""

    @classmethod
    def fitting(cls, width: int, total: int, ranks: frozenset[int], *, timed: bool) -> Columns:
        """The columns that `width` has room for.

        Args:
            total: How many lines there are.
            ranks: The ranks that were seen.
            timed: When lines arrived is known.
        """
        numbers = max(5, len(str(total))) if width >= NUMBER_WIDTH else 0
        return cls(numbers, timed and width >= TIME_WIDTH, len(str(max(ranks))) if ranks else 0)


def dressed(
    line: LogLine,
    columns: Columns,
    arrived: Callable[[int], float | None],
    glyphs: Glyphs,
    zone: datetime.tzinfo | None,
    *,
    marked: bool = False,
    first: int | None = None,
) -> Dressed:
    """The looks of one line.

    Args:
        arrived: Says when the byte at an offset was there.
        marked: A person marked it.
        first: The rank that failed first: it is pointed at.
    """
    said, text = split_rank(line.text)
    rank = said if said is not None else split_rank(line.head)[0]
    severity = severity_of(line.text)
    gutter: list[Piece] = []
    if columns.numbers:
        number = "" if line.number is None else str(line.number + 1)
        gutter.append(Piece(f"{number:>{columns.numbers}} ", "faint"))
    if columns.times:
        moment = arrived(line.offset)
        gutter.append(Piece(f"{'' if moment is None else clock(moment, zone):8} ", "faint"))
    if columns.ranks:
        failed = rank is not None and rank == first
        number = f"{LAUNCHER if rank is None else rank:>{columns.ranks}}"
        gutter.append(Piece(number, "error" if failed else "muted", bold=failed))
    if gutter:
        gutter.append(Piece(glyphs.text("upright"), "line"))
    fold = (Piece(f"{glyphs.text('folded')} ", "accent"), Piece(f"{line.folded}  ", "muted")) if line.folded else ()
    mark = Piece(glyphs.text("event"), "accent", bold=True) if marked else Piece(" ")
    if severity is None:
        return Dressed((*gutter, Piece(" "), mark), (*fold, Piece(text)))
    sign, role = _SIGNS[severity]
    return Dressed((*gutter, Piece(glyphs.text(sign), role), mark), (*fold, Piece(text, role)))
