"""A log in which folds are one row each: rows and lines, and the way from one to the other. No drawing."""

from __future__ import annotations

import bisect
from array import array
from dataclasses import replace

from accel_tui.logs.folds import Fold, Folds, Kind
from accel_tui.logs.lines import Line
from accel_tui.logs.source import ByteSource
from accel_tui.tui.widgets.logwindow import LogWindow
from accel_tui.tui.widgets.narrow import NarrowWindow

_STEPS = 8
"""Pieces that are looked at before others get their turn."""
_STEPS_OF_A_LOOK = 64
"""Several times what a job writes between two looks."""


class FoldedWindow:
    """The lines of a window, all or those of one rank, folds as one row. Until all was looked at nothing is folded."""

    def __init__(self, inner: LogWindow | NarrowWindow) -> None:
        self.inner, self.base = inner, inner.base
        self.folds = Folds(inner.source, inner.finder if isinstance(inner, NarrowWindow) else None)
        self._ready = False
        self._opened: set[int] = set()
        """Where folds begin that a person opened."""
        self._all_open = False
        self._seen = (0, 0)  # folds that the arrays know, and lines of the last of them
        self._numbers = array("Q")
        self._rows = array("Q")
        self._hidden = array("Q", [0])
        """Lines hidden before the fold of the same number."""
        self._places = array("Q")
        """Which of `folds` it is."""

    @property
    def source(self) -> ByteSource:
        """As of `LogWindow`, like all that follows."""
        return self.inner.source

    @property
    def end(self) -> int:
        return self.inner.end

    @property
    def generation(self) -> int:
        return self.inner.generation

    @property
    def counted(self) -> bool:
        return self.inner.counted and self._ready

    @property
    def total(self) -> int:
        return self.inner.total - self._hidden[-1] if self._folding else self.inner.total

    @property
    def exact(self) -> bool:
        return self.inner.counted

    @property
    def all_lines(self) -> int:
        return self.inner.total

    def below(self, row: int) -> int:
        return self.inner.total - (self._line_of(row) if self._folding else row)

    @property
    def _folding(self) -> bool:
        return self._ready and self.base.counted

    def look(self) -> bool:
        news = self.inner.look()
        if news and self.folds.generation != self.inner.generation:
            self._ready, self._opened = False, set()
        if news and self._ready:
            self._step(_STEPS_OF_A_LOOK)
        return news

    def count(self) -> bool:
        if not self.inner.counted:
            self.inner.count()
            return False
        return self._step()

    def _step(self, steps: int = _STEPS) -> bool:
        done = any(self.folds.step() for _ in range(steps))
        self._ready = self._ready or done
        if self._ready:
            self._arrange()
        return done

    # Opening and closing

    def toggle(self, offset: int) -> bool:
        """Open the fold that holds a byte, or close it again; False where there is none."""
        place = self._fold_at(offset)
        if place is None:
            return False
        self._opened ^= {self.folds[place].offset}
        self._arrange(anew=True)
        return True

    def reveal(self, offset: int) -> bool:
        """Open the fold that hides a byte; False where none does: the line that a fold shows is seen."""
        place = self._fold_at(offset)
        if place is None or place not in self._places or offset >= self.folds[place].last:
            return False
        return self.toggle(offset)

    def toggle_all(self) -> bool:
        """Open all folds, or close all; whether they are open now."""
        self._all_open, self._opened = not self._all_open, set()
        self._arrange(anew=True)
        return self._all_open

    def _fold_at(self, offset: int) -> int | None:
        if not self.inner.counted:
            return None
        number = self.inner.number_at(offset)
        place = bisect.bisect_right(self.folds.numbers, number) - 1
        inside = place >= 0 and number < self.folds.numbers[place] + self.folds.counts[place]
        return place if inside else None

    def _arrange(self, *, anew: bool = False) -> None:
        """Bring the arrays in line with the folds; only what came since is looked at."""
        count = len(self.folds)
        seen = (count, self.folds.counts[-1] if count else 0)
        if seen == self._seen and not anew:
            return
        if anew or count < self._seen[0]:
            self._numbers, self._rows, self._places = array("Q"), array("Q"), array("Q")
            self._hidden, start = array("Q", [0]), 0
        else:
            start = max(0, self._seen[0] - 1)  # the last one may have become longer, or may be gone
            while self._places and self._places[-1] >= start:
                for kept in (self._places, self._numbers, self._rows, self._hidden):
                    kept.pop()
        self._seen = seen
        for place in range(start, count):
            if (self.folds[place].offset in self._opened) != self._all_open:
                continue
            number = self.folds.numbers[place]
            self._places.append(place)
            self._numbers.append(number)
            self._rows.append(number - self._hidden[-1])
            self._hidden.append(self._hidden[-1] + self.folds.counts[place] - 1)

    # Rows and lines

    def lines(self, first: int, count: int) -> list[Line]:
        if not self._folding:
            return self.inner.lines(first, count)
        found: list[Line] = []
        row, end = max(0, first), min(max(0, first) + count, self.total)
        while row < end:
            at = bisect.bisect_left(self._rows, row)
            if at < len(self._rows) and self._rows[at] == row:
                found += self._fold_row(self.folds[self._places[at]])
                row += 1
                continue
            stop = min(end, self._rows[at]) if at < len(self._rows) else end
            some = self.inner.lines(row + self._hidden[at], stop - row)
            if not some:
                break
            found += some
            row += len(some)
        return found

    def _fold_row(self, fold: Fold) -> list[Line]:
        shown = self.inner.take(fold.last, 1)
        return [replace(line, offset=fold.offset, folded=fold.lines, kind=fold.kind) for line in shown]

    def _line_of(self, row: int) -> int:
        at = bisect.bisect_left(self._rows, row)
        return row + self._hidden[at]

    def offset_of(self, number: int) -> int:
        return self.inner.offset_of(self._line_of(number) if self._folding else number)

    def number_at(self, offset: int) -> int:
        number = self.inner.number_at(offset)
        if not self._folding:
            return number
        at = bisect.bisect_right(self._numbers, number) - 1
        if at < 0:
            return number
        inside = number - self._numbers[at] < self.folds.counts[self._places[at]]
        return self._rows[at] if inside else number - self._hidden[at + 1]

    def label(self, number: int, line: Line) -> int | None:
        return self.base.number_at(line.offset) if self.base.counted else None


def what(kind: Kind, lines: int, number: str) -> str:
    """What a fold says before its line: `14 lines`, `3 times`; `number` is `lines` as it is written."""
    return (
        f"{number} {'times' if kind is Kind.REPEAT else 'frames' if kind is Kind.FRAMES else 'lines'}" if lines else ""
    )
