"""Lines that belong together and are shown as one: a traceback, the same line again and again, frames of a bar.

A fold stands for consecutive lines; its last one is shown. They are found in one pass over whole lines and kept up
while the source grows; a fold at the end may still become longer.
"""

from __future__ import annotations

import enum
import operator
import re
from array import array
from typing import TYPE_CHECKING, NamedTuple

from accel_tui.logs.frames import may_hold_frames, only_frames
from accel_tui.logs.lines import LONGEST_LINE
from accel_tui.logs.ranks import split_rank
from accel_tui.logs.search import CHUNK, Finder, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.logs.source import ByteSource

MOST_FOLDS = 200_000
"""What is kept takes 33 bytes for each; a log with more is shown unfolded from there on."""
_TRACEBACK = b"Traceback (most recent call last):"
_DIGITS = re.compile(rb"\d+")
"""Ranks, devices and addresses differ where the exception is the same."""
_TAIL, _LONG = 16, 64
"""Of a line longer than the second, the last bytes of the first number are behind any prefix."""
_PREFIX = re.compile(rb"^(?:\[default\d{1,5}\]:)?(?:\[rank\d{1,5}\]:)*(?:(?<=\]:) )?", re.MULTILINE)


class Kind(enum.IntEnum):
    """Why lines are folded."""

    REPEAT = 0
    TRACEBACK = 1
    FRAMES = 2


class Fold(NamedTuple):
    """Lines that are shown as one."""

    number: int
    """Number of the first one, from 0."""
    lines: int
    offset: int
    """Where the first one begins."""
    last: int
    """Where the one begins that is shown."""
    kind: Kind


class Folds:
    """All folds of a source, in order; with a finder those of the lines that it finds, numbered by themselves."""

    def __init__(self, source: ByteSource, finder: Finder | None = None) -> None:
        self._source, self._finder = source, finder
        self._begin()

    def _begin(self) -> None:
        self.generation = self._source.generation
        self.position = 0
        """Bytes whose folds are known: whole lines."""
        self.numbers, self.counts = array("Q"), array("Q")
        self._offsets, self._lasts, self._kinds = array("Q"), array("Q"), array("B")
        self._line = 0  # number of the line at `position`
        self._blocks: Iterator[tuple[int, bytes]] | None = None
        self._first = (0, 0)  # number and place of the line that may begin a fold
        self._open: Kind | None = None
        self._stored = False  # the open fold has more than one line
        self._text = b""  # of the first line, for repeats
        self._ranks: set[int | None] = set()  # who is in the middle of the traceback that is open
        self._exception: bytes | None = None  # what it ended with, at the ranks whose lines are over
        self._blanks = 0
        """Blank lines since the last frame: they belong to the bar only when another frame follows."""

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: int) -> Fold:
        kind = Kind(self._kinds[place])
        return Fold(self.numbers[place], self.counts[place], self._offsets[place], self._lasts[place], kind)

    def step(self) -> bool:
        """Look at one piece more; True when all whole lines that are there now were looked at."""
        size = self._source.size()
        if self._source.generation != self.generation:
            self._begin()
        if len(self) >= MOST_FOLDS:
            return True
        if self._blocks is None:
            if self.position >= size:
                return True
            self._blocks = blocks(self._source, self.position, size, CHUNK)
        found = next(self._blocks, None)
        if found is None:
            self._blocks = None
            return True
        place, block = found
        if block.endswith(b"\n"):
            if place > self.position and self._source.hole_end(self.position) > self.position:
                self._close()
            if self._finder is None:
                self._take(place, block)
            else:
                self._take_some(place, block, self._finder)
        return False

    def _take(self, place: int, block: bytes) -> None:
        raw = block.split(b"\n")
        raw.pop()
        named = b"[rank" in block or b"[default" in block
        if self._is_plain(block, raw, named=named):
            self._line += len(raw)
            self.position = place + len(block)
            self._begin_repeat(_PREFIX.sub(b"", raw[-1]), self._line - 1, self.position - len(raw[-1]) - 1)
            return
        bare = _PREFIX.sub(b"", block).split(b"\n")[: len(raw)] if named else raw
        begin = self.position if len(raw[0]) >= LONGEST_LINE else place  # of a longer line the tail alone is here
        for line, said in zip(raw, bare, strict=True):
            self._look(line, said, begin)
            place += len(line) + 1
            begin = place
            self._line += 1
        self.position = place

    def _take_some(self, place: int, block: bytes, finder: Finder) -> None:
        """Of these whole lines those that are found; the others are as if they were not there."""
        starts = [block.rfind(b"\n", 0, begin) + 1 for begin, _ in finder.hits(block)]
        lines = [block[start : block.find(b"\n", start)] for start in starts]
        some = b"".join(line + b"\n" for line in lines)
        if lines and self._is_plain(some, lines, named=True):
            self._line += len(lines)
            self._begin_repeat(_PREFIX.sub(b"", lines[-1]), self._line - 1, place + starts[-1])
        else:
            for start, line in zip(starts, lines, strict=True):
                whole = start > 0 or len(line) < LONGEST_LINE
                self._look(line, _PREFIX.sub(b"", line), place + start if whole else self.position)
                self._line += 1
        self.position = place + len(block)

    def _is_plain(self, block: bytes, raw: list[bytes], *, named: bool) -> bool:
        """Nothing in this block can belong to a fold: true for most, and quickly known."""
        if _TRACEBACK in block or self._open in (Kind.TRACEBACK, Kind.FRAMES) or may_hold_frames(block):
            return False
        if _tail(raw[0]) == self._text[-_TAIL:]:
            return False
        # Where ranks stand in front, ends are compared: to take the prefixes away costs ten times as much.
        compared = [line[-_TAIL:] if len(line) > _LONG else _tail(line) for line in raw] if named else raw
        return not any(map(operator.eq, compared, compared[1:]))

    def _look(self, line: bytes, said: bytes, place: int) -> None:
        if self._goes_on(line, said, place):
            return
        self._close()
        if said.startswith(_TRACEBACK):
            self._start(Kind.TRACEBACK, place)
            self._ranks, self._exception = {_rank_of(line)}, None
        elif only_frames(line):
            self._start(Kind.FRAMES, place)
        else:
            self._begin_repeat(said, self._line, place)

    def _goes_on(self, line: bytes, said: bytes, place: int) -> bool:
        """Whether the line belongs to the fold that is open."""
        if self._open is Kind.REPEAT:
            same = said == self._text and bool(said.strip())
            if same:
                self._extend(place)
            return same
        if self._open is Kind.FRAMES:
            return self._frame_goes_on(line, said, place)
        return self._open is Kind.TRACEBACK and self._trace_goes_on(line, said, place)

    def _trace_goes_on(self, line: bytes, said: bytes, place: int) -> bool:
        """Tracebacks of several ranks that are mixed are one fold when all end with the same exception."""
        rank = _rank_of(line)
        begins = said.startswith(_TRACEBACK)
        if begins == (rank in self._ranks) or (begins and None in (rank, *self._ranks)):
            return False
        self._extend(place)
        if begins:
            self._ranks.add(rank)
        elif said.strip() and not said.startswith((b" ", b"\t")):
            self._name_exception(rank, _DIGITS.sub(b"", said))
        return True

    def _name_exception(self, rank: int | None, said: bytes) -> None:
        """The last line of one rank's traceback; where another rank's was another one, nothing may be hidden."""
        if self._exception not in (None, said):
            self._close()
            return
        self._exception = said
        self._ranks.discard(rank)
        if not self._ranks:
            self._open = None

    def _frame_goes_on(self, line: bytes, said: bytes, place: int) -> bool:
        if only_frames(line):
            self._extend(place)
            self._blanks = 0
            return True
        if not said.replace(b"\r", b"").strip():
            self._blanks += 1
            return True
        return False

    def _begin_repeat(self, said: bytes, number: int, place: int) -> None:
        self._open, self._stored, self._text, self._first = Kind.REPEAT, False, said, (number, place)

    def _start(self, kind: Kind, place: int) -> None:
        self._open, self._stored, self._first, self._blanks = kind, False, (self._line, place), 0

    def _extend(self, place: int) -> None:
        """The line at `place` belongs to the open fold."""
        if not self._stored:
            number, begin = self._first
            self.numbers.append(number)
            self.counts.append(0)
            self._offsets.append(begin)
            self._lasts.append(begin)
            self._kinds.append(self._open or 0)
            self._stored = True
        self.counts[-1] = self._line - self.numbers[-1] + 1
        self._lasts[-1] = place

    def _close(self) -> None:
        """The open fold ends here. A traceback that was cut short by others' lines has no last line to show."""
        if self._open is Kind.TRACEBACK and self._stored:
            for kept in (self.numbers, self.counts, self._offsets, self._lasts, self._kinds):
                kept.pop()
        self._open, self._stored, self._text = None, False, b""


def _tail(line: bytes) -> bytes:
    return _PREFIX.sub(b"", line, count=1)[-_TAIL:]


def _rank_of(line: bytes) -> int | None:
    return split_rank(line[:64].decode("utf-8", "replace"))[0]
