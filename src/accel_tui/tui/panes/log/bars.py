"""The live rows below a log: one for each progress bar and rank, from what the log says of them."""

from __future__ import annotations

from collections.abc import Iterator

from accel_tui.logs.frames import Bar, Bars
from accel_tui.logs.source import ByteSource
from accel_tui.model.runs import Run
from accel_tui.tui.glyphs import Glyphs, thousands
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_READ = 256 * 1024
"""Bytes at the end that are looked at: whatever came before was overwritten by newer frames."""
_BAR_COLUMNS = 24


class LiveBars:
    """The bars of one log, kept up while it grows."""

    def __init__(self) -> None:
        self._bars = Bars()
        self._position = 0
        self._generation: int | None = None

    def look(self, source: ByteSource) -> None:
        """Take in what was written since the last look."""
        size = source.size()
        if source.generation != self._generation:
            self._bars, self._position, self._generation = Bars(), 0, source.generation
        if size <= self._position:
            return
        begin = max(self._position, size - _READ)
        data = source.read(begin, size - begin)
        if begin > self._position:
            self._bars = self._bars if self._position else Bars()
            data = data[max(0, min(place for place in (data.find(b"\r"), data.find(b"\n"), len(data)) if place >= 0)) :]
        self._position = begin + len(data) if begin <= self._position else size
        self._bars.feed(data)

    def rows(self, width: int, glyphs: Glyphs, most: int, run: Run | None) -> Iterator[Ends]:
        """A row for each bar; that of the run's own steps is left out, as its progress stands below with more."""
        total = None if run is None else run.progress.total
        bars = [one for one in self._bars.live() if total is None or one.frame.label or one.frame.total != total]
        for one in bars[: max(1, most)]:
            yield _row(one, width, glyphs)
        if len(bars) > max(1, most):
            yield Ends((Piece(f"{len(bars) - most} more bars", "muted"),), ())


def _row(one: Bar, width: int, glyphs: Glyphs) -> Ends:
    frame = one.frame
    who = f"rank {frame.rank} " if frame.rank is not None else f"process {one.number} " if one.number else ""
    label = f"{frame.label} " if frame.label else ""
    left: Cell = (Piece(f"{who:<10}" if who else "", "muted"), Piece(label))
    if frame.total is None:  # how far it is nobody knows
        return Ends((*left, Piece(_count(frame.done))), (Piece(frame.rest, "muted"),))
    share = frame.done / frame.total if frame.total else 0.0
    left = (
        *left,
        *bar(min(1.0, share), min(_BAR_COLUMNS, max(6, width // 4)), "muted" if one.complete else "ok", glyphs),
        Piece(f" {int(100 * min(1.0, share)):3} %  "), Piece(_count(frame.done)),
        Piece(f"/{_count(frame.total)}", "faint"),
    )  # fmt: skip
    return Ends(left, (Piece(frame.rest, "muted"),))


def _count(number: float) -> str:
    return thousands(int(number)) if number == int(number) else f"{number:g}"
