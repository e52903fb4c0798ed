"""A log narrowed to some of its lines, such as those of one rank: numbered like a log of its own. No drawing."""

from __future__ import annotations

from accel_tui.logs.lines import Line, line_start
from accel_tui.logs.matches import Matches
from accel_tui.logs.search import CHUNK, Finder
from accel_tui.logs.source import ByteSource
from accel_tui.tui.widgets.logwindow import STEP, LogWindow


class NarrowWindow:
    """The lines of another window that a finder finds. Until all were looked at there are only those found so far."""

    def __init__(self, base: LogWindow, finder: Finder) -> None:
        self.base, self.finder = base, finder
        self._matches = Matches(base.source, finder)

    @property
    def source(self) -> ByteSource:
        """As of `LogWindow`, like all that follows."""
        return self.base.source

    @property
    def end(self) -> int:
        return self.base.end

    @property
    def generation(self) -> int:
        return self.base.generation

    @property
    def counted(self) -> bool:
        return self.base.counted and self._matches.done

    @property
    def total(self) -> int:
        return self._matches.count

    @property
    def exact(self) -> bool:
        return self.counted

    @property
    def all_lines(self) -> int:
        return self.total

    def below(self, row: int) -> int:
        return self.total - row

    def look(self) -> bool:
        news = self.base.look()
        if news or not self._matches.position:
            self._step()
        return news

    def count(self) -> bool:
        counted = self.base.counted or self.base.count()
        return self._step() and counted

    def _step(self) -> bool:
        return any(self._matches.step() for _ in range(STEP // CHUNK))

    def lines(self, first: int, count: int) -> list[Line]:
        hits = self._matches.hits(max(0, first), count)
        return [line for hit in hits for line in self.base.take(line_start(self.source, hit.start), 1)]

    def take(self, offset: int, count: int) -> list[Line]:
        """Lines of the whole log."""
        return self.base.take(offset, count)

    def offset_of(self, number: int) -> int:
        hit = self._matches.hit(number)
        return self.end if hit is None else line_start(self.source, hit.start)

    def number_at(self, offset: int) -> int:
        """The number of the line, or of the next one where the byte stands in a line that is left out."""
        return self._matches.number_at(line_start(self.source, offset))

    def label(self, number: int, line: Line) -> int | None:
        return self.base.number_at(line.offset) if self.base.counted else None
