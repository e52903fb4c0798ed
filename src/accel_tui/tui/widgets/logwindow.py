"""Lines of a growing log by number: at once at its end, and exactly everywhere once they were counted. No drawing."""

from __future__ import annotations

from accel_tui.logs.lines import Line, LineIndex, iterate, line_start, start_of_last
from accel_tui.logs.source import ByteSource

STEP = 2 * 1024 * 1024
"""Bytes that are counted before others get their turn: a key takes several turns, so one must be short."""

_STEPS_OF_A_LOOK = 4
"""Several times what the fastest job writes between two looks."""
_CATCH_UP = 32 * 1024 * 1024
"""When so much came at once the numbers of lines are estimated until they are counted."""
_SAMPLE = 64 * 1024
_NEAR = 20_000  # lines that are looked for backwards from the end, before they were counted
_WINDOWS = (64 * 1024, 4 * 1024 * 1024)  # read for a screen of lines; the second when the lines are long


class LogWindow:
    """What is known of a source. The bytes stay where they are; only places are kept."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self.end = 0
        """Bytes that are shown; those written since the last look are not."""
        self._counted = False
        self._index = LineIndex(source)
        self.generation = source.generation
        """Counts replacements of the source; offsets hold within one."""
        self._line_bytes = 1.0  # of one line, by the sample at the end

    @property
    def base(self) -> LogWindow:
        """The window of all lines: this one."""
        return self

    def look(self) -> bool:
        """Ask for the size of now; True when something was written, cut or replaced."""
        size = self.source.size()
        replaced = self.source.generation != self.generation
        if size == self.end and not replaced:
            return False
        if replaced or not self.end:
            self.generation, self._index = self.source.generation, LineIndex(self.source)
            self._counted = False
            self._sample(size)
        self.end = size
        behind = size - self._index.indexed
        if self._counted and behind <= _CATCH_UP:
            self._go_on()
        elif behind <= STEP:
            self.count()
        else:
            self._counted = False
        return True

    def _go_on(self) -> None:
        """Count what was written since the last look; of very much the rest is shown at the next one."""
        if not any(self.count() for _ in range(_STEPS_OF_A_LOOK)):
            self._counted, self.end = True, self._index.indexed

    def count(self) -> bool:
        """Count one step further; True when all is counted."""
        self._counted = self._index.extend(STEP)
        if self._counted:
            self.end = self._index.indexed
        return self._counted

    @property
    def counted(self) -> bool:
        """Whether every line before `end` has its exact number."""
        return self._counted

    @property
    def total(self) -> int:
        """Lines, an unfinished one at the end included; an estimate until all are counted."""
        if not self.end:
            return 0
        if not self._counted:
            return max(1, round(self.end / self._line_bytes))
        unfinished = self.source.read(self.end - 1, 1) != b"\n"
        return self._index.line_ends + unfinished

    @property
    def exact(self) -> bool:
        """Whether the number of lines is known, and not estimated."""
        return self._counted

    @property
    def all_lines(self) -> int:
        """Lines that the rows stand for."""
        return self.total

    def below(self, row: int) -> int:
        """Lines from a row on."""
        return self.total - row

    def lines(self, first: int, count: int) -> list[Line]:
        """Up to `count` lines from number `first` (from 0) on; before they are counted the place is approximate."""
        if count <= 0 or not self.end:
            return []
        return self.take(self.offset_of(max(0, first)), count)

    def offset_of(self, number: int) -> int:
        """Where a line begins."""
        if self._counted:
            return self._index.offset_of(number)
        total = self.total
        if total - number <= _NEAR:
            return start_of_last(self.source, max(0, total - number), self.end)
        return line_start(self.source, self.end * number // total)

    def number_at(self, offset: int) -> int:
        """The number of the line that holds a byte; approximate until all are counted."""
        if self._counted:
            return self._index.line_at(offset)
        return min(self.total - 1, round(offset / self._line_bytes))

    def label(self, number: int, line: Line) -> int | None:
        """The number in the whole log of the line that is shown as number `number`; None until it is known."""
        return number if self._counted else None

    def take(self, offset: int, count: int) -> list[Line]:
        """Up to `count` lines from the one that begins at `offset` on."""
        for window in (*_WINDOWS, None):
            end = self.end if window is None else min(self.end, offset + window)
            lines: list[Line] = []
            for line in iterate(self.source, offset, end):
                if not line.complete and not line.discarded and end < self.end:
                    break  # the window ends here, not the line
                lines.append(line)
                if len(lines) == count:
                    return lines
            if end == self.end:
                return lines
        return []

    def _sample(self, size: int) -> None:
        data = self.source.read(max(0, size - _SAMPLE), _SAMPLE)
        self._line_bytes = max(1.0, len(data) / max(1, data.count(b"\n")))
