"""The lines of a log that are looked at: of a large one its head and its tail, numbered as in the whole."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.text import sanitise

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 128 * 1024
TAIL_BYTES = 512 * 1024
MOST_FILES, FILE_BYTES = 64, 64 * 1024
"""Of logs beside the run's own so many are looked at, and so much of the end of each."""
COUNTED_BYTES = 4 << 30
"""Lines before the tail are counted, for their numbers, up to this size and `COUNT_SECONDS`; else they have none."""
COUNT_SECONDS = 2.0
LONGEST = 4000
"""Characters of a line that are looked at."""
_FRAMES = 3
"""Of a line of progress frames the last ones are looked at: an error message may have been written between them."""
_CHUNK = 1 << 20
_RANK = re.compile(r"\[[a-z]*(\d{1,6})\]:? ?")


@dataclass(frozen=True)
class Line:
    """One line of a log, without escape sequences."""

    text: str
    """Without the prefix of its rank."""
    number: int | None = None
    """Counted from 1; None where it was not counted."""
    rank: int | None = None
    """As the launcher wrote it in front."""


def of_text(text: str | bytes, first: int | None = 1) -> tuple[Line, ...]:
    """The lines of a text whose first has the number `first`."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return tuple(
        line
        for place, raw in enumerate(data.split(b"\n"))
        for line in _frames(raw, None if first is None else first + place)
    )


def of_log(path: Path) -> tuple[Line, ...]:
    """Head and tail of a log; empty where it is missing, no file, or not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return _of_file(file.fileno())
    except OSError:  # the end is told without it
        return ()


def of_folder(folder: Path) -> tuple[Line, ...]:
    """The ends of the files below a folder of logs that a vendor's software wrote; their lines have no numbers."""
    found: list[Path] = []
    for place, _, names in os.walk(folder):
        found += [folder / place / name for name in names]
        if len(found) >= MOST_FILES:
            break
    return tuple(line for path in sorted(found)[:MOST_FILES] for line in _end_of(path))


def _end_of(path: Path) -> tuple[Line, ...]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return of_text(os.pread(file.fileno(), FILE_BYTES, max(0, size - FILE_BYTES)), None)
    except OSError:  # gone, no file, or not readable
        return ()


def _of_file(descriptor: int) -> tuple[Line, ...]:
    size = os.fstat(descriptor).st_size
    if size <= HEAD_BYTES + TAIL_BYTES:
        return of_text(os.pread(descriptor, size, 0))
    head = os.pread(descriptor, HEAD_BYTES, 0)
    start = size - TAIL_BYTES
    tail = os.pread(descriptor, TAIL_BYTES, start)
    count = _newlines(descriptor, start)
    return (
        *of_text(head.rpartition(b"\n")[0]),
        # The first line of the tail is cut, which does no harm: patterns fit or they do not.
        *of_text(tail, None if count is None else count + 1),
    )


def _newlines(descriptor: int, end: int) -> int | None:
    if end > COUNTED_BYTES:
        return None
    give_up = time.monotonic() + COUNT_SECONDS
    count = position = 0
    while position < end:
        data = os.pread(descriptor, min(_CHUNK, end - position), position)
        if not data or time.monotonic() > give_up:
            return None
        count += data.count(b"\n")
        position += len(data)
    return count


def _frames(raw: bytes, number: int | None) -> list[Line]:
    """What is looked at of one line: the frames that a terminal showed last."""
    frames = [frame for frame in raw[-_FRAMES * LONGEST * 4 :].split(b"\r") if frame] if b"\r" in raw else [raw]
    return [_line(frame, number) for frame in frames[-_FRAMES:] or [b""]]


def _line(frame: bytes, number: int | None) -> Line:
    text = sanitise(frame, limit=LONGEST)
    rank = None
    while match := _RANK.match(text):
        rank, text = int(match[1]), text[match.end() :]
    return Line(text, number, rank)
