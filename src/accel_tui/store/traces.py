"""The exception that ended a Python program, found in what it wrote into its log."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TAIL_BYTES = 64 * 1024
"""How much of a log's end is looked at; what a launcher writes after its ranks failed fits many times."""
LINES_AFTER = 20
"""So many lines of one process may follow its last traceback: the rest of a long message, a farewell."""

_RANK = re.compile(r"\[[a-z]*(\d+)\]:? ?")
_BEGIN = "Traceback (most recent call last):"
_END = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?$")
_LAUNCHERS = frozenset({"ChildFailedError", "SignalException", "CalledProcessError"})
"""What a launcher raises because a process of it failed: never the root."""


@dataclass(frozen=True)
class Raised:
    """One exception that was printed."""

    kind: str
    message: str
    rank: int | None = None


def log_end(path: Path) -> str:
    """The last part of a log as text; empty where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode("utf-8", "replace")
    except OSError:  # not there, no file, not readable: the end is told without it
        return ""


def final_exception(text: str) -> Raised | None:
    """The one that ended the program: each rank's last traceback, and of several ranks the one that came first.

    A rank that wrote on long after its traceback did not end by it.
    """
    open_ones: set[int | None] = set()
    found: dict[int | None, Raised] = {}
    after: dict[int | None, int] = {}
    for line in text.split("\n"):
        rank, said = _split(line.rstrip("\r"))
        if said == _BEGIN:
            open_ones.add(rank)
        elif rank not in open_ones:
            after[rank] = after.get(rank, 0) + bool(said)
        elif said and not said[0].isspace():
            open_ones.discard(rank)
            match = _END.fullmatch(said)
            kind = match[1].rpartition(".")[2] if match else ""
            if match and kind not in _LAUNCHERS:
                found.pop(rank, None)  # the order is that of the last tracebacks
                found[rank] = Raised(kind, (match[2] or "").strip(), rank)
                after[rank] = 0
    return next((one for rank, one in found.items() if after[rank] <= LINES_AFTER), None)


def _split(line: str) -> tuple[int | None, str]:
    """The rank that torchrun wrote in front, and the rest; torch repeats it on some lines."""
    rank = None
    while match := _RANK.match(line):
        rank, line = int(match[1]), line[match.end() :]
    return rank, line
