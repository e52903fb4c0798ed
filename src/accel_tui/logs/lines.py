"""Lines of a log of any size: iterating them, finding the last ones, and a sparse index from number to place."""

from __future__ import annotations

import bisect
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.logs.source import ByteSource

BLOCK = 64 * 1024
"""Distance of the index's entries, and the unit of reading backwards."""

LONGEST_LINE = 1024 * 1024
"""Of a longer line the tail is kept: progress bars put their newest frame there."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Line:
    """One line, or one stretch that was discarded."""

    offset: int
    """Where it starts."""
    end: int
    """Where the next one starts."""
    data: bytes
    """Its bytes without the line end; carriage returns are still in it, see `last_frame`."""
    complete: bool = True
    """False for the last line while its line end is missing."""
    cut: bool = False
    """Whether its beginning was left out because it was too long."""
    discarded: bool = False
    """A hole: these bytes were given back to the disk. `data` is empty."""
    folded: int = 0
    """How many lines it stands for where several are shown as one: `data` is the last of them."""
    kind: int = 0
    """Why they are one: a `logs.folds.Kind`."""


def last_frame(data: bytes) -> bytes:
    """What a terminal shows of a line in the end: the text after its last carriage return."""
    data = data.rstrip(b"\r")
    return data[data.rfind(b"\r") + 1 :]


def iterate(source: ByteSource, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """The lines from `start` (a line's beginning) to `end` (default: the size at the call), one at a time.

    Memory stays below a few MiB for any content. Zero bytes at the beginning of a line, as an abandoned write leaves
    them, are dropped.
    """
    end = source.size() if end is None else end
    position = begin = start
    kept, cut = b"", False
    while position < end:
        data_begin = min(source.hole_end(position), end)
        if data_begin > position:
            if begin < position:
                yield _line(begin, position, kept, cut, complete=False)
            yield Line(position, data_begin, b"", discarded=True)
            position = begin = data_begin
            kept, cut = b"", False
            continue
        chunk = source.read(position, min(_CHUNK, end - position))
        if not chunk:
            break  # it was cut while being read
        *whole, rest = chunk.split(b"\n")
        place = position
        for piece in whole:
            place += len(piece) + 1
            yield _line(begin, place, kept + piece if kept else piece, cut)
            begin, kept, cut = place, b"", False
        kept += rest
        if len(kept) > LONGEST_LINE:
            kept, cut = kept[-LONGEST_LINE:], True
        position += len(chunk)
    if begin < position:
        yield _line(begin, position, kept, cut, complete=False)


def _line(begin: int, end: int, data: bytes, cut: bool, *, complete: bool = True) -> Line:
    if len(data) > LONGEST_LINE:
        data, cut = data[-LONGEST_LINE:], True
    return Line(begin, end, data.lstrip(b"\0"), complete=complete, cut=cut)


def start_of_last(source: ByteSource, count: int, end: int | None = None) -> int:
    """Where the last `count` lines before `end` (default: the size) begin; an unfinished last line counts as one.

    Reads backwards, no more than it has to, and stops at a hole.
    """
    end = source.size() if end is None else end
    if count <= 0:
        return end
    position, wanted = end, count
    if end > 0 and source.read(end - 1, 1) == b"\n":
        wanted += 1  # this line end belongs to the last line
    while position > 0:
        begin = max(0, position - BLOCK)
        if source.hole_end(begin) >= position:
            return position  # what stands before it was discarded
        block = source.read(begin, position - begin)
        place = len(block)
        while (place := block.rfind(b"\n", 0, place)) >= 0:
            wanted -= 1
            if wanted == 0:
                return begin + place + 1
        position = begin
    return 0


def line_start(source: ByteSource, offset: int) -> int:
    """The beginning of the line that holds the byte at `offset`."""
    return start_of_last(source, 1, offset) if offset > 0 and source.read(offset - 1, 1) != b"\n" else max(offset, 0)


class LineIndex:
    """How many lines end before each block: from it any line is found by reading one or two blocks.

    It takes 8 bytes for every 64 KiB. Build it in steps by `extend`; cut or replaced sources start it again.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._generation = source.generation
        self._counts = array("Q", [0])
        """Line ends before the block of the same number."""
        self.indexed = 0
        """Bytes that were counted."""
        self._in_last = 0
        """Line ends in the last block, the one that is not full."""

    @property
    def line_ends(self) -> int:
        """Line ends among the bytes that were counted."""
        return self._counts[-1] + self._in_last

    def extend(self, budget: int = 8 * 1024 * 1024) -> bool:
        """Count up to `budget` more bytes; True when everything that is there now was counted."""
        size = self._source.size()
        if self._source.generation != self._generation:
            self.__init__(self._source)  # type: ignore[misc] # everything known is void
        stop = min(size, self.indexed + budget)
        while self.indexed < stop:
            room = BLOCK - self.indexed % BLOCK
            data_begin = self._source.hole_end(self.indexed)
            if data_begin >= self.indexed + room:
                length = room  # zeros: nothing to count
            else:
                data = self._source.read(self.indexed, min(room, stop - self.indexed))
                if not data:
                    break
                self._in_last += data.count(b"\n")
                length = len(data)
            self._advance(min(length, stop - self.indexed))
        return self.indexed >= size

    def _advance(self, length: int) -> None:
        self.indexed += length
        if self.indexed % BLOCK == 0:
            self._counts.append(self._counts[-1] + self._in_last)
            self._in_last = 0

    def offset_of(self, line: int) -> int:
        """Where the line of that number (from 0) begins; the end of what was counted when there are fewer."""
        if line <= 0:
            return 0
        if line > self.line_ends:
            return self.indexed
        block = bisect.bisect_left(self._counts, line) - 1
        missing = line - self._counts[block]
        place = block * BLOCK
        data = self._source.read(place, min(BLOCK, self.indexed - place))
        position = -1
        for _ in range(missing):
            position = data.find(b"\n", position + 1)
            if position < 0:  # it was changed under us: given back to the disk, or cut
                return place if self._source.hole_end(place) > place else self.indexed
        return place + position + 1

    def line_at(self, offset: int) -> int:
        """The number (from 0) of the line that holds the byte at `offset`."""
        offset = min(max(offset, 0), self.indexed)
        block = min(offset // BLOCK, len(self._counts) - 1)
        place = block * BLOCK
        return self._counts[block] + self._source.read(place, offset - place).count(b"\n")
