"""Counting and numbering the lines that are meant: how many hits there are, and a log narrowed to some of its lines."""

from __future__ import annotations

import bisect
from array import array
from typing import TYPE_CHECKING

from accel_tui.logs.lines import BLOCK, line_start
from accel_tui.logs.search import CHUNK, Finder, Hit, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accel_tui.logs.source import ByteSource


class Matches:
    """The hits of one finder in one source, by number, found in steps and kept up while the source grows.

    Kept is the first hit of every stretch of `reach` bytes that has one, 16 bytes each, so memory stays small however
    many hits there are; others are found again by looking at one stretch.
    """

    def __init__(self, source: ByteSource, finder: Finder, *, chunk: int = CHUNK, reach: int = BLOCK) -> None:
        self._source, self._finder, self._chunk, self._reach = source, finder, chunk, reach
        self._begin()

    def _begin(self) -> None:
        self._generation = self._source.generation
        self.count = 0
        """Hits so far."""
        self.seen = 0
        """Bytes that were looked at, or are being looked at."""
        self.done = False
        """Whether all that was there at the last step was looked at."""
        self.position = 0
        """How far the looking is, for a figure of progress."""
        self._numbers = array("Q")
        """Number of the first hit of each stretch."""
        self._places = array("Q")
        """Where it begins."""
        self._blocks: Iterator[tuple[int, bytes]] | None = None
        self._resume = 0
        self._unfinished = False  # the last hit stands in a line without its end

    @property
    def places(self) -> Sequence[int]:
        """Where hits begin, in order; of each stretch with hits the first."""
        return self._places

    def step(self) -> bool:
        """Look at one piece more; True when everything that is there now was looked at."""
        size = self._source.size()
        if self._source.generation != self._generation:
            self._begin()
        if self._blocks is None:
            if size == self.seen:
                self.done = True
                return True
            self._forget_unfinished()
            self._blocks, self.seen, self.done = blocks(self._source, self._resume, size, self._chunk), size, False
        found = next(self._blocks, None)
        if found is None:
            self._blocks, self.position, self.done = None, self.seen, self.seen == size
            return self.done
        self._take(*found)
        return False

    def _take(self, place: int, block: bytes) -> None:
        for begin, _ in self._finder.hits(block):
            if not self._places or place + begin >= self._places[-1] + self._reach:
                self._numbers.append(self.count)
                self._places.append(place + begin)
            self.count += 1
            self._unfinished = not block.endswith(b"\n") and block.find(b"\n", begin) < 0
        self.position = place + len(block)
        if block.endswith(b"\n"):
            self._resume = self.position
        elif block:
            self._resume = place + block.rfind(b"\n") + 1

    def _forget_unfinished(self) -> None:
        if self._unfinished:
            self.count -= 1
            if self._numbers[-1] == self.count:
                self._numbers.pop()
                self._places.pop()
            self._unfinished = False

    def hit(self, number: int) -> Hit | None:
        """The hit of that number, from 0; None when there are fewer."""
        return next(iter(self.hits(number, 1)), None)

    def hits(self, first: int, count: int) -> list[Hit]:
        """Up to `count` hits from number `first` on."""
        found: list[Hit] = []
        if first >= self.count or first < 0:
            return found
        stretch = bisect.bisect_right(self._numbers, first) - 1
        skipped = first - self._numbers[stretch]
        while stretch < len(self._numbers) and len(found) < count:
            found += self._stretch(stretch)[skipped:]
            stretch, skipped = stretch + 1, 0
        return found[:count]

    def number_at(self, offset: int) -> int:
        """How many hits begin before `offset`: the number of the hit that begins there, if one does."""
        stretch = bisect.bisect_left(self._places, offset) - 1
        if stretch < 0:
            return 0
        return self._numbers[stretch] + sum(hit.start < offset for hit in self._stretch(stretch))

    def _stretch(self, stretch: int) -> list[Hit]:
        """All hits from one that was kept up to the next."""
        last = stretch + 1 == len(self._numbers)
        wanted = (self.count if last else self._numbers[stretch + 1]) - self._numbers[stretch]
        begin = self._places[stretch]
        found: list[Hit] = []
        for place, block in blocks(self._source, line_start(self._source, begin), self.seen, self._reach):
            for start, end in self._finder.hits(block):
                if place + start >= begin:
                    found.append(Hit(place + start, place + end))
                if len(found) == wanted:
                    return found
        return found
