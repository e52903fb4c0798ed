"""What happened to a run, and when: its states, and what people did to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.keeper.locks import user_name
from accel_tui.store.documents import DamagedError, read_bytes, read_document, read_record

if TYPE_CHECKING:
    from collections.abc import Iterator

AUDIT_NAMES = ("audit.log.1", "audit.log")
_AUDIT_BYTES = 16 << 20
_SAID = ("name", "reason", "before", "now", "overrides", "yes", "of", "pid", "result", "secrets")
"""What of an audit line is told beside who and what."""


@dataclass(frozen=True)
class Moment:
    """One thing that happened; texts may be foreign."""

    time: str
    """RFC 3339, UTC, milliseconds."""
    what: str
    """A state, or what somebody did, such as `hold`."""
    by: str | None = None
    """Who did it, by the kernel's word; None for ourselves."""
    detail: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"time": self.time, "what": self.what, "by": self.by, "detail": self.detail}


def story(folder: Path, state_folder: Path) -> tuple[Moment, ...]:
    """The run's moments in their order, as far as its files and the audit tell; `state_folder` holds the audit."""
    told = [*_states(folder), *_audited(folder.name, state_folder)]
    ranks = {"queued": 0, "submit": 1, "finished": 3}
    return tuple(sorted(told, key=lambda moment: (moment.time, ranks.get(moment.what, 2))))


def _states(folder: Path) -> Iterator[Moment]:
    spec, state = _document(folder / "spec.json"), _document(folder / "state.json")
    yield from _moment(spec.get("created"), "queued")
    times = state.get("times")
    for name in ("preparing", "starting"):
        yield from _moment(times.get(name) if isinstance(times, dict) else None, name)
    yield from _moment(state.get("started"), "running")
    stop = _document(folder / "stop.json")
    yield from _moment(stop.get("requested"), "stopping", detail=_text(stop.get("cause")))
    try:
        record = read_record(folder / "exit.json") or {}
    except DamagedError:
        record = {}
    yield from _moment(record.get("ended"), "finished", detail=_text(record.get("cause")))


def _moment(time: object, what: str, detail: str | None = None) -> Iterator[Moment]:
    if isinstance(time, str):
        yield Moment(time, what, detail=detail)


def _audited(identifier: str, state_folder: Path) -> Iterator[Moment]:
    wanted = json.dumps(identifier).encode()
    for name in AUDIT_NAMES:
        try:
            data = read_bytes(state_folder / name, _AUDIT_BYTES)
        except (OSError, DamagedError):  # none yet, or not to be read: the states are told all the same
            continue
        for line in data.splitlines():
            if wanted in line and (moment := _line(line, identifier)) is not None:
                yield moment


def _line(line: bytes, identifier: str) -> Moment | None:
    try:
        entry = json.loads(line)
        if entry["run"] != identifier or entry["what"] == "end":  # `finished` tells the same
            return None
        who = None if entry["by"] is None else f"{user_name(int(entry['by']['uid']))} (pid {int(entry['by']['pid'])})"
        said = ", ".join(f"{name} {_words(entry[name])}" for name in _SAID if entry.get(name) not in (None, False, []))
        return Moment(str(entry["time"]), str(entry["what"]), who, said or None)
    except (ValueError, KeyError, TypeError):  # a line that was cut
        return None


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _document(path: Path) -> dict[str, Any]:
    try:
        return read_document(path)
    except (OSError, DamagedError):
        return {}
