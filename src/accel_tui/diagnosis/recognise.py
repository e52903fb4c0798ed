"""From what a run left behind to the failure that the tables know; pure."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from accel_tui.diagnosis.scan import Line
from accel_tui.diagnosis.table import filled
from accel_tui.diagnosis.traces import final_exception, root_cause
from accel_tui.model.runs import Cause, Diagnosis
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accel_tui.diagnosis.patterns import Pattern
    from accel_tui.diagnosis.table import Entry
    from accel_tui.diagnosis.traces import Blamed, Raised

SECONDS = 3.0
"""After so long the search ends with what was found."""
END_LINES = 200
LAST_LINES = 25
"""Where neither worker nor Python named an error, it is looked for in so many lines at the end."""
QUOTED = 300
CAPTURED = 120

WORDS_ALONE = frozenset({
    "WorkerError", "InvalidJobError", "UnknownArgumentError", "BadInputError", "UnsupportedStackError",
    "DeviceMismatchError", "WrongCardError", "OutputInUseError",
})  # fmt: skip
"""The worker's own findings are whole sentences for the owner of the job; their class says nothing to a person."""

_RANK_INSIDE = re.compile(r"\[Rank:(\d{1,6})\]")

RUNNING = "running"
"""Stands for the cause of a run that has not ended, see `standstill`."""

_ORDINARY = frozenset({cause.value for cause in (Cause.EXIT, Cause.SIGNAL, Cause.OUT_OF_MEMORY, Cause.KEEPER_LOST)})


@dataclass(frozen=True)
class Told:
    """An error that a worker told in an event."""

    rank: int
    kind: str
    message: str

    @property
    def lines(self) -> tuple[Line, ...]:
        """Its words as lines of a log."""
        words = f"{self.kind}: {self.message}" if self.message else self.kind
        return tuple(Line(sanitise(text), None, self.rank) for text in words.split("\n")[:60])


@dataclass(frozen=True)
class Ending:
    """How the run ended, for entries that ask."""

    cause: str = "exit"
    signal: str | None = None
    kind: str = ""
    vendors: frozenset[str] = frozenset()
    silent_seconds: float | None = None
    """How long before its end it wrote nothing; None where that is not known."""
    processes: int = 1


@dataclass(frozen=True)
class Evidence:
    """Everything that is looked at."""

    id: str
    log: tuple[Line, ...] = ()
    told: Told | None = None
    """The first error of any rank."""
    ending: Ending = field(default_factory=Ending)
    beside: tuple[Line, ...] = ()
    """Lines of the logs that a vendor's software wrote beside it."""

    @cached_property
    def raised(self) -> Raised | None:
        """The exception that ended the program, from the log."""
        return final_exception(self.log)

    @cached_property
    def blamed(self) -> Blamed | None:
        """The rank that torchrun names."""
        return root_cause(self.log)

    def lines(self, where: str) -> Sequence[Line]:
        """The lines of one of the places that entries name."""
        return self._places[where]

    @cached_property
    def _places(self) -> dict[str, tuple[Line, ...]]:
        errors = (*(self.told.lines if self.told else ()), *(self.raised.said if self.raised else ()))
        if not errors:
            errors = tuple(line for line in self.log if line.text.strip())[-LAST_LINES:]
        blamed = self.blamed.lines if self.blamed else ()
        return {"error": errors, "launcher": blamed, "end": self.log[-END_LINES:], "anywhere": self.log,
                "files": self.beside}  # fmt: skip

    @cached_property
    def joined(self) -> dict[str, str]:
        """The same as one text each, for a first look."""
        return {where: "\n".join(line.text for line in lines) for where, lines in self._places.items()}

    def place_of(self, words: str) -> Line | None:
        """The first line of the log that has these words in it."""
        wanted = words.split("\n", 1)[0].strip()[:200]
        return next((line for line in self.log if wanted in line.text), None) if len(wanted) > 8 else None


@dataclass(frozen=True)
class _Hit:
    entry: Entry
    line: Line | None
    captured: dict[str, str]
    place: int

    @property
    def order(self) -> tuple[int, int]:
        """Smaller is better: the higher priority, then the earlier line."""
        return -self.entry.priority, self.place


def recognise(evidence: Evidence, entries: Sequence[Entry], *, seconds: float = SECONDS) -> Diagnosis | None:
    """The failure that fits best; None where no entry does."""
    give_up = time.monotonic() + seconds
    best: _Hit | None = None
    for entry in sorted(entries, key=lambda entry: -entry.priority):  # stable: the user's own come first
        if time.monotonic() > give_up or (best is not None and entry.priority < best.entry.priority):
            break
        if not _applies(entry, evidence.ending):
            continue
        hit = _hit(entry, evidence, give_up)
        if hit is not None and (best is None or hit.order < best.order):
            best = hit
    return None if best is None else _diagnosis(best, evidence)


def standstill(ending: Ending, entries: Sequence[Entry]) -> str | None:
    """What a run that goes on and has been silent may stand still from, in words; None where no entry says so."""
    found = [entry for entry in entries if RUNNING in entry.causes and not entry.any and _applies(entry, ending)]
    best = min(found, key=lambda entry: -entry.priority, default=None)
    return None if best is None else f"{best.summary}: {best.next_step}"


def _applies(entry: Entry, ending: Ending) -> bool:
    silent = ending.silent_seconds
    return (
        ending.cause in (entry.causes or _ORDINARY)
        and (not entry.signals or ending.signal in entry.signals)
        and (not entry.kinds or ending.kind in entry.kinds)
        and (not entry.vendors or bool(entry.vendors & ending.vendors))
        and ending.processes >= entry.processes
        and (entry.silent_seconds is None or (silent is not None and silent >= entry.silent_seconds))
    )


def _hit(entry: Entry, evidence: Evidence, give_up: float) -> _Hit | None:
    if not entry.any:
        return _Hit(entry, None, {}, -1)
    hits = [hit for where in entry.where if (hit := _hit_in(entry, where, evidence, give_up)) is not None]
    return min(hits, key=lambda hit: hit.order, default=None)


def _hit_in(entry: Entry, where: str, evidence: Evidence, give_up: float) -> _Hit | None:
    whole = evidence.joined[where]
    wanted = [pattern for pattern in entry.any if pattern.literal in whole]
    if not wanted or any(pattern.literal not in whole for pattern in entry.all):
        return None
    lines = evidence.lines(where)
    for place, line in enumerate(lines):
        captured = _captured(wanted, line)
        if captured is None:
            continue
        further = _nearby(entry, lines, place)
        if further is not None:
            # Places of different parts are compared by line number where there is one.
            return _Hit(entry, line, {**further, **captured}, line.number if line.number is not None else place)
        if time.monotonic() > give_up:
            return None
    return None


def _captured(wanted: Sequence[Pattern], line: Line) -> dict[str, str] | None:
    return next((found for pattern in wanted if (found := pattern.search(line.text)) is not None), None)


def _nearby(entry: Entry, lines: Sequence[Line], place: int) -> dict[str, str] | None:
    """What the patterns of `all` capture around a line; None where one of them is missing."""
    captured: dict[str, str] = {}
    around = [lines[place], *lines[place + 1 : place + 1 + entry.near], *lines[max(0, place - entry.near) : place]]
    for pattern in entry.all:
        found = next((found for line in around if (found := pattern.search(line.text)) is not None), None)
        if found is None:
            return None
        captured |= found
    return captured


def _diagnosis(hit: _Hit, evidence: Evidence) -> Diagnosis:
    captured = {name: sanitise(text, limit=CAPTURED) for name, text in hit.captured.items()} | {"id": evidence.id}
    summary = filled(hit.entry.summary, captured)
    line, rank = hit.line, None if hit.line is None else _rank_of(hit.line)
    if line is not None and line.number is None:
        line = evidence.place_of(line.text) or line
    if rank is None and evidence.blamed is not None:
        rank = evidence.blamed.rank
    quote = _quote(hit)
    return Diagnosis(
        hit.entry.id,
        f"{summary}: {quote}" if quote else summary,
        filled(hit.entry.next_step, captured),
        rank=rank,
        line=None if line is None else line.number,
        again=hit.entry.retry,
    )


def _rank_of(line: Line) -> int | None:
    """The rank in front of the line, else the one that bridges such as Gaudi's write into their own messages."""
    match = _RANK_INSIDE.search(line.text)
    return line.rank if line.rank is not None or match is None else int(match[1])


def _quote(hit: _Hit) -> str:
    """The untouched words beside our own: an exception with its kind, else the line."""
    if hit.line is None or "launcher" in hit.entry.where:
        return ""
    return sanitise(short(hit.line.text.strip()), limit=QUOTED)


def short(words: str) -> str:
    """An exception line without the modules of its class."""
    head, colon, rest = words.partition(": ")
    name = head.rpartition(".")[2]
    if name in WORDS_ALONE and rest:
        return rest
    return f"{name}: {rest}" if colon and " " not in head and name[:1].isupper() else words
