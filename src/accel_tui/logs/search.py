"""Looking for a text or a regular expression in a log of any size, forward and back, a piece at a time.

Lines are looked at one by one, as grep does, and of a line what a terminal shows of it in the end: frames that a
carriage return overwrote do not count. There is one hit per line, its first. Of a line longer than `LONGEST_LINE` the
tail counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from accel_tui.logs.lines import LONGEST_LINE, line_start
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.logs.source import ByteSource

CHUNK = 64 * 1024
"""Bytes that are read at a time: they stay in the cache of the core. Between two of them others may get their turn.

From 128 KiB on the C library may take every piece from the kernel and give it back, whose page faults cost as much as
the search itself (measured: 0.5 in place of 1 GB in a second of CPU).
"""

_BEYOND_LINE = re.compile(r"\(\?|\\[AZz]|[*+?}]\+")
"""What may fit a line and not the same line among others: each line is then tried by itself, which is slower."""
_EXPLODING = re.compile(r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)(?:[*+]|\{\d*,\d*\})")
"""A repeat of a group that holds a repeat: it can take longer than the universe lasts, and `re` cannot be stopped."""


_CODE = re.compile(r"\\[xuUN0-7]")
"""A letter by its number: it must not be taken for a small one."""


class Hit(NamedTuple):
    """Where a line matches: its first match, as offsets of the source."""

    start: int
    end: int


class Finder(Protocol):
    """Says which lines are meant."""

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Begin and end of the first match of each line of `block`, in order; `block` begins with a line's beginning.

        The last line may lack its line end. At most one pair per line.
        """


class Needle:
    """A text or a regular expression to look for. Letters that are all small stand for capitals as well."""

    def __init__(self, text: str, *, regex: bool = False) -> None:
        """
        Raises:
            UsageError: the expression is broken, or of a kind that may never come to an end.
        """
        self.text = text
        self.regex = regex
        small = text == text.lower()
        flags = re.IGNORECASE | re.ASCII if small else re.ASCII
        # Lower case first and then an exact search is several times faster than a search that ignores case.
        self._fold = small and not (regex and _CODE.search(text))
        self._wanted = text.encode().lower() if self._fold else text.encode()
        source = text if regex else re.escape(text)
        if regex and _EXPLODING.search(text):
            raise UsageError("a repeated group with a repeat inside may never end", remedy="leave one of the two out")
        try:
            self.pattern = re.compile(source, flags)
            """For lines as text, such as those on the screen."""
            exact = re.ASCII if self._fold else flags
            self._bytes = re.compile(source.encode(), exact | re.MULTILINE)
            self._of_line = re.compile(source.encode(), exact)
        except (re.error, OverflowError, RecursionError) as fault:
            raise UsageError(f"not a regular expression: {fault}", remedy="search for the plain text instead") from None
        self._by_line = bool(regex and _BEYOND_LINE.search(text))
        self._anchored = bool(regex and re.search(r"[\^$]", text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needle) and (self.text, self.regex) == (other.text, other.regex)

    def __hash__(self) -> int:
        return hash((self.text, self.regex))

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """As `Finder` says."""
        if not self.text:
            return
        frames = b"\r" in block or b"\0" in block
        folded = block.lower() if self._fold else block
        if self._by_line or (self._anchored and frames):
            yield from self._every_line(folded)
            return
        position = 0
        while (place := self._next(folded, position)) >= 0:
            begin = block.rfind(b"\n", position, place) + 1 or position
            end = block.find(b"\n", place)
            end = len(block) if end < 0 else end
            found = self._in_line(folded, begin, end, frames=frames)
            if found is not None:
                yield found
            position = end + 1

    def _next(self, block: bytes, position: int) -> int:
        """Where something matches from `position` on, perhaps beyond the end of its line; -1 when nothing does."""
        if not self.regex:
            return block.find(self._wanted, position)
        match = self._bytes.search(block, position)
        return -1 if match is None or match.start() >= len(block) else match.start()

    def _every_line(self, block: bytes) -> Iterator[tuple[int, int]]:
        begin = 0
        while begin < len(block):
            end = block.find(b"\n", begin)
            end = len(block) if end < 0 else end
            found = self._in_line(block, begin, end, frames=True)
            if found is not None:
                yield found
            begin = end + 1

    def _in_line(self, block: bytes, begin: int, end: int, *, frames: bool) -> tuple[int, int] | None:
        """The first match in what is seen in the end of the line between `begin` and `end`."""
        if frames:
            while end > begin and block[end - 1] == 0x0D:
                end -= 1
            begin = block.rfind(b"\r", begin, end) + 1 or begin
            begin = end - len(block[begin:end].lstrip(b"\0"))  # zeros are what an abandoned write leaves
        if not self.regex:
            place = block.find(self._wanted, begin, end)
            return None if place < 0 else (place, place + len(self._wanted))
        for match in self._of_line.finditer(block[begin:end]):
            if match.end() > match.start():
                return (begin + match.start(), begin + match.end())
        return None


class Both:
    """Finds what one finder finds in the lines that another one finds."""

    def __init__(self, within: Finder, finder: Finder) -> None:
        self._within, self._finder = within, finder

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """As `Finder` says."""
        lines = (block.rfind(b"\n", 0, begin) + 1 for begin, _ in self._within.hits(block))
        line = next(lines, None)
        for begin, end in self._finder.hits(block):
            start = block.rfind(b"\n", 0, begin) + 1
            while line is not None and line < start:
                line = next(lines, None)
            if line is None:
                return
            if line == start:
                yield begin, end


def forward(source: ByteSource, finder: Finder, after: int, end: int, *, chunk: int = CHUNK) -> Iterator[Hit | None]:
    """Hits that begin behind the byte `after`, in order, up to the byte `end`.

    None after every piece that was read: whoever asks may do something else, or stop asking.

    Args:
        after: -1 for all from the beginning; the start of a hit for those in later lines.
    """
    for place, block in blocks(source, line_start(source, max(0, after)), end, chunk):
        for begin, stop in finder.hits(block):
            if place + begin > after:
                yield Hit(place + begin, place + stop)
        yield None


def backward(source: ByteSource, finder: Finder, end: int, *, chunk: int = CHUNK) -> Iterator[Hit | None]:
    """Hits in the lines before `end` (a line's beginning, or the size), from the last to the first.

    None after every piece that was read, as `forward` does.
    """
    for place, block in _blocks_back(source, end, chunk):
        for begin, stop in reversed(list(finder.hits(block))):
            yield Hit(place + begin, place + stop)
        yield None


def blocks(source: ByteSource, start: int, end: int, chunk: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """Whole lines from `start` (a line's beginning) on, with their place; the last one may lack its line end.

    A block may be empty, where a long line is still being read.
    """
    position, kept = start, b""
    while position < end:
        data_begin = min(source.hole_end(position), end)
        if data_begin > position:
            yield position - len(kept), kept
            position, kept = data_begin, b""
            continue
        data = source.read(position, min(chunk, end - position))
        if not data:
            break  # it was cut while being read
        position += len(data)
        first, last = data.find(b"\n"), data.rfind(b"\n") + 1
        kept = kept[max(0, len(kept) + (first if last else len(data)) - LONGEST_LINE) :]
        if last:
            yield position - len(data) - len(kept), kept + data[:last]
            kept = data[last:]
        else:
            kept = (kept + data)[-LONGEST_LINE:]
            yield position, b""
    if kept:
        yield position - len(kept), kept


def _blocks_back(source: ByteSource, end: int, chunk: int) -> Iterator[tuple[int, bytes]]:
    """The same from `end` to the beginning."""
    position, kept, kept_end = end, b"", end
    while position > 0:
        begin = max(0, position - chunk)
        data_begin = min(source.hole_end(begin), position)
        data = source.read(data_begin, position - data_begin)
        if len(data) < position - data_begin:
            return  # it was cut while being read
        position = begin
        whole = begin == 0 or data_begin > begin  # nothing stands before it that belongs to its first line
        first, last = 0 if whole else data.find(b"\n") + 1, data.rfind(b"\n") + 1
        if not whole and not last:
            kept = _tail(data + kept)
            yield begin, b""
            continue
        kept = _tail(data[last:] + kept)
        yield kept_end - len(kept), kept
        yield data_begin + first, data[first:last]
        kept, kept_end = data[:first], data_begin + first


def _tail(line: bytes) -> bytes:
    """What counts of a line, with its line end if it has one."""
    return line[-LONGEST_LINE - line.endswith(b"\n") :]
