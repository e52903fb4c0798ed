"""The tables of known failures: TOML files of `[[failure]]` entries, shipped ones and the user's own."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.config.toml import read_toml
from accel_tui.diagnosis import patterns
from accel_tui.model.errors import FileError
from accel_tui.model.runs import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accel_tui.diagnosis.patterns import Pattern

FOLDER = "failures"
"""Below the configuration folder: the user's own tables, `*.toml`."""
WHERES = ("error", "launcher", "end", "anywhere", "files")
MOST_ENTRIES = 1000

_PACKAGE = Path(__file__).resolve().parent.parent
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PLACE = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_KEYS = frozenset({
    "id", "summary", "next_step", "any", "all", "where", "vendors", "kinds", "causes", "signals", "silent_seconds",
    "priority", "processes", "retry", "near",
})  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One failure that is known, how to recognise it, and what to say of it."""

    id: str
    summary: str
    """One sentence without its full stop; `{name}` stands for what a pattern captured, `{id}` for the run's id."""
    next_step: str
    any: tuple[Pattern, ...] = ()
    """One of them stands in a line; empty for an entry that the way of ending decides."""
    all: tuple[Pattern, ...] = ()
    """Each of them stands in that line, or within `near` lines of it."""
    where: tuple[str, ...] = ("error",)
    """`error`: what the worker told, the exception at the end of the log, or its last lines where there is neither;
    `launcher`: the root cause that torchrun names; `end`: the last lines in any case; `anywhere`; `files`: the logs
    that a vendor's software wrote into the run folder."""
    vendors: frozenset[str] = frozenset()
    """Only for runs on devices of one of these; empty for all. So the next two."""
    kinds: frozenset[str] = frozenset()
    signals: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()
    """Only for runs that ended by one of these causes; empty for `exit`, `signal`, `out-of-memory`, `keeper-lost`.
    `running` is for an entry without patterns: a remark on a run that goes on."""
    silent_seconds: float | None = None
    """Only for runs that wrote nothing for so long before their end."""
    processes: int = 1
    """Only for runs of at least so many."""
    priority: int = 50
    """Of several that fit, the highest is told; of equal ones the earliest in the log."""
    retry: bool = True
    """False: such a run is never tried again by itself."""
    near: int = 20


@dataclass(frozen=True)
class Tables:
    """All entries, the user's first, and what was wrong with the user's files."""

    entries: tuple[Entry, ...]
    faults: tuple[str, ...] = ()


@functools.lru_cache(maxsize=1)
def shipped() -> tuple[Entry, ...]:
    """The entries of this package and of every vendor package.

    Raises:
        FileError: a shipped file is missing or broken.
    """
    files = [*sorted((_PACKAGE / "diagnosis" / "tables").glob("*.toml")),
             *sorted((_PACKAGE / "vendors").glob("*/failures.toml"))]  # fmt: skip
    return _unique(entry for file in files for entry in read(file))


def tables(config_dir: str | None) -> Tables:
    """The shipped entries and those of `config_dir`/failures/*.toml; one of the same id takes the shipped one's place.

    A broken file of the user costs its own entries alone and is named among the faults.
    """
    own: list[Entry] = []
    faults = []
    for file in sorted((Path(config_dir) / FOLDER).glob("*.toml")) if config_dir else ():
        try:
            own += read(file)
        except FileError as fault:
            faults.append(fault.message)
    return Tables(_unique([*own, *shipped()]), tuple(faults))


def read(file: Path) -> tuple[Entry, ...]:
    """The entries of one file.

    Raises:
        FileError: it is no TOML, or an entry is wrong; the message names file, entry and field.
    """
    document = read_toml(file)
    rows = document.pop("failure", [])
    if document or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        found = next(iter(document), "failure")
        raise FileError(f"{file}: {found}: only [[failure]] tables stand here", remedy="see docs/failures.md")
    if len(rows) > MOST_ENTRIES:
        raise FileError(f"{file}: more than {MOST_ENTRIES} entries", remedy="split it, or leave some out")
    return tuple(_entry(row, file, number) for number, row in enumerate(rows, 1))


def _unique(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    found: dict[str, Entry] = {}
    for entry in entries:
        found.setdefault(entry.id, entry)
    return tuple(found.values())


class _Row:
    """One table of a file, with faults that name it."""

    def __init__(self, row: dict[str, Any], place: str) -> None:
        self.row, self.place = row, place

    def fault(self, key: str, what: str) -> FileError:
        return FileError(f"{self.place}: {key}: {what}", remedy="see docs/failures.md")

    def value(self, key: str, kind: type, words: str, default: Any) -> Any:
        value = self.row.get(key, default)
        if value is not default and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
            raise self.fault(key, f"{words} is expected")
        return value

    def text(self, key: str) -> str:
        value = self.value(key, str, "a text", None)
        if not value or "\n" in value:
            raise self.fault(key, "one line of text is expected")
        return str(value)

    def words(self, key: str, allowed: Sequence[str] = ()) -> tuple[str, ...]:
        value = self.row.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise self.fault(key, "a text or a list of texts is expected")
        for one in listed:
            if allowed and one not in allowed:
                raise self.fault(key, f"{one!r} is none of {', '.join(allowed)}")
        return tuple(listed)

    def patterns(self, key: str) -> tuple[Pattern, ...]:
        value = self.row.get(key, [])
        listed = value if isinstance(value, list) else [value]
        return tuple(self._pattern(key, one) for one in listed)

    def _pattern(self, key: str, value: Any) -> Pattern:
        if isinstance(value, str) and len(value) >= 3:
            return patterns.text(value)
        if isinstance(value, dict) and set(value) == {"regex"} and isinstance(value["regex"], str):
            try:
                return patterns.expression(value["regex"])
            except patterns.UnsafePatternError as fault:
                raise self.fault(key, str(fault)) from None
        raise self.fault(key, "texts of at least 3 characters, or { regex = 'EXPRESSION' }, are expected")


def _entry(row: dict[str, Any], file: Path, number: int) -> Entry:
    name = row.get("id")
    reader = _Row(row, f"{file}: failure {name if isinstance(name, str) else number}")
    for key in row:
        if key not in _KEYS:
            raise reader.fault(key, f"unknown; there are: {', '.join(sorted(_KEYS))}")
    identifier = reader.text("id")
    if not _ID.fullmatch(identifier):
        raise reader.fault("id", "small letters, digits and hyphens are expected")
    silent = reader.value("silent_seconds", (int, float), "a number", None)  # type: ignore[arg-type] # isinstance takes both
    entry = Entry(
        id=identifier,
        summary=reader.text("summary"),
        next_step=reader.text("next_step"),
        any=reader.patterns("any"),
        all=reader.patterns("all"),
        where=reader.words("where", WHERES) or ("error",),
        vendors=frozenset(reader.words("vendors")),
        kinds=frozenset(reader.words("kinds")),
        signals=frozenset(reader.words("signals")),
        causes=frozenset(reader.words("causes", [*(cause.value for cause in Cause), "running"])),
        silent_seconds=None if silent is None else float(silent),
        processes=reader.value("processes", int, "a whole number", 1),
        priority=reader.value("priority", int, "a whole number", 50),
        retry=reader.value("retry", bool, "true or false", True),
        near=reader.value("near", int, "a whole number", 20),
    )
    if not entry.any and (entry.all or not (entry.causes or entry.signals)):
        raise reader.fault("any", "what to look for, or causes or signals, must be named")
    captured = {"id"}.union(*(pattern.names for pattern in (*entry.any, *entry.all)))
    for key, text in (("summary", entry.summary), ("next_step", entry.next_step)):
        for wanted in _PLACE.findall(text):
            if wanted not in captured:
                raise reader.fault(key, f"{{{wanted}}} is captured by no pattern")
    return entry


def filled(text: str, captured: dict[str, str]) -> str:
    """`text` with what was captured in its places; what an expression left out is `?`."""
    return _PLACE.sub(lambda match: captured.get(match[1], "?"), text)
