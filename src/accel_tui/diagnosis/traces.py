"""The exception that ended a Python program, and the rank that a launcher blames, found in a log."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from accel_tui.diagnosis.scan import Line, of_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LINES_AFTER = 20
"""So many lines of one process may follow its last traceback: the rest of a long message, a farewell."""

_BEGIN = "Traceback (most recent call last):"
_END = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?$")
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_LAUNCHERS = frozenset({"ChildFailedError", "SignalException", "CalledProcessError"})
"""What a launcher raises because a process of it failed: never the root."""
_ROOT = "Root Cause (first observed failure):"
_ROOT_LINES = 60
_ROOT_RANK = re.compile(r" *rank +: (\d{1,6}) ")


@dataclass(frozen=True)
class Raised:
    """One exception that was printed."""

    kind: str
    message: str
    rank: int | None = None
    line: int | None = field(default=None, compare=False)
    said: tuple[Line, ...] = field(default=(), compare=False)
    """Its own lines, and before them those of the exceptions that it came from."""


@dataclass(frozen=True)
class Blamed:
    """What torchrun names as the first failure that it saw."""

    rank: int
    lines: tuple[Line, ...]


def final_exception(log: str | Sequence[Line]) -> Raised | None:
    """The one that ended the program: each rank's last traceback, and of several ranks the one that came first.

    A rank that wrote on long after its traceback did not end by it.
    """
    reader = _Reader()
    for line in of_text(log) if isinstance(log, str) else log:
        reader.take(line)
    return reader.result()


def root_cause(log: Iterable[Line]) -> Blamed | None:
    """The block of torchrun about the rank that failed first; the last one of the log."""
    lines: list[Line] | None = None
    for line in log:
        if line.text.strip() == _ROOT:
            lines = []
        elif lines is not None and len(lines) < _ROOT_LINES and not line.text.startswith("====="):
            lines.append(line)
        elif lines:
            found = _blamed(lines)
            if found is not None:
                return found
            lines = None
    return _blamed(lines or [])


def _blamed(lines: list[Line]) -> Blamed | None:
    match = next((match for line in lines if (match := _ROOT_RANK.match(line.text))), None)
    return None if match is None else Blamed(int(match[1]), tuple(lines))


class _Reader:
    """Reads line by line and keeps each rank's last traceback."""

    def __init__(self) -> None:
        self._open: set[int | None] = set()
        self._found: dict[int | None, Raised] = {}
        self._after: dict[int | None, int] = {}
        self._chained: set[int | None] = set()

    def take(self, line: Line) -> None:
        rank, said = line.rank, line.text
        if said.endswith(_BEGIN):  # a progress bar may stand in front of it
            self._open.add(rank)
        elif rank not in self._open:
            self._follow(line)
        elif said and not said[0].isspace():
            self._open.discard(rank)
            self._end(line)

    def _follow(self, line: Line) -> None:
        rank = line.rank
        self._after[rank] = self._after.get(rank, 0) + bool(line.text)
        found = self._found.get(rank)
        if found is None or self._after[rank] > LINES_AFTER:
            return
        if line.text.startswith(_CHAINED):
            self._chained.add(rank)
        elif line.text:
            self._found[rank] = replace(found, said=(*found.said, line))

    def _end(self, line: Line) -> None:
        match = _END.fullmatch(line.text)
        kind = match[1].rpartition(".")[2] if match else ""
        if match is None or kind in _LAUNCHERS:
            return
        before = self._found.pop(line.rank, None)  # the order is that of the last tracebacks
        roots = before.said if before is not None and line.rank in self._chained else ()
        self._chained.discard(line.rank)
        self._found[line.rank] = Raised(kind, (match[2] or "").strip(), line.rank, line.number, (*roots, line))
        self._after[line.rank] = 0

    def result(self) -> Raised | None:
        ended = (one for rank, one in self._found.items() if self._after[rank] <= LINES_AFTER)
        return next(ended, None)
