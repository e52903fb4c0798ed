"""Runs: their states, results and causes, and the one table of legal moves."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunState(str, enum.Enum):
    """Where a run stands. Hold is a flag of a queued run, not a state."""

    QUEUED = "queued"
    PREPARING = "preparing"
    """Taken from the queue: planned again, checked, its keeper is being started."""
    STARTING = "starting"
    """Its keeper lives; the main process is not executed yet."""
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"


MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.PREPARING, RunState.FINISHED}),
    RunState.PREPARING: frozenset({RunState.QUEUED, RunState.STARTING, RunState.FINISHED}),
    RunState.STARTING: frozenset({RunState.QUEUED, RunState.RUNNING, RunState.STOPPING, RunState.FINISHED}),
    RunState.RUNNING: frozenset({RunState.STOPPING, RunState.FINISHED}),
    RunState.STOPPING: frozenset({RunState.FINISHED}),
    RunState.FINISHED: frozenset(),
}
"""The legal moves. Back to queued: the devices were taken by another before the keeper had their locks."""


class RunResult(str, enum.Enum):
    """How a finished run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_STARTED = "not-started"
    LOST = "lost"


class Cause(str, enum.Enum):
    """Why a run ended as it did."""

    EXIT = "exit"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out-of-memory"
    TIME_LIMIT = "time-limit"
    STOPPED_BY_USER = "stopped-by-user"
    KEEPER_LOST = "keeper-lost"
    REBOOT = "reboot"
    LAUNCH_FAILED = "launch-failed"
    CHECK_REFUSED = "check-refused"
    DEPENDENCY_FAILED = "dependency-failed"
    RECORD_DAMAGED = "record-damaged"


@dataclass(frozen=True)
class Diagnosis:
    """What the log or the events show about a failure, in plain words."""

    id: str
    summary: str
    next_step: str | None = None
    rank: int | None = None
    line: int | None = None
    """Line of the log, counted from 1."""
    again: bool = True
    """False: the run is not tried again by itself. Kept in its folder, no part of the public document."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "summary": self.summary,
            "next_step": self.next_step,
            "rank": self.rank,
            "line": self.line,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Diagnosis:
        return cls(document["id"], document["summary"], document["next_step"], document["rank"], document["line"])


@dataclass(frozen=True)
class Progress:
    """How far a run is, from its newest events; figures are None until the worker tells them."""

    phase: str | None = None
    step: int | None = None
    total: int | None = None
    loss: float | None = None
    learning_rate: float | None = None
    tokens_per_second: float | None = None
    eta_seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Progress:
        return cls(**{name: document.get(name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Run:
    """One execution of a job, as every face shows it."""

    id: str
    name: str
    kind: str
    state: RunState
    folder: str
    """Absolute path of the run folder."""
    created: str
    """RFC 3339, UTC, milliseconds, as all times here."""
    started: str | None = None
    ended: str | None = None
    result: RunResult | None = None
    exit_code: int | None = None
    """None when a signal ended it, or before the end."""
    signal: str | None = None
    """Such as `SIGKILL`; None unless a signal ended it."""
    cause: Cause | None = None
    diagnosis: Diagnosis | None = None
    devices: tuple[str, ...] = ()
    attempt: int = 1
    retry_of: str | None = None
    held: str | None = None
    """Why a queued run is held; None when it is not."""
    waiting_for: str | None = None
    """What a queued run waits for."""
    priority: int = 0
    after: tuple[str, ...] = ()
    simulated: bool = False
    progress: Progress = field(default_factory=Progress)
    notes: tuple[str, ...] = ()
    """Remarks such as `the keeper was killed; the run goes on without it`."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "state": self.state.value,
            "result": None if self.result is None else self.result.value,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "cause": None if self.cause is None else self.cause.value,
            "diagnosis": None if self.diagnosis is None else self.diagnosis.to_json(),
            "devices": list(self.devices),
            "created": self.created,
            "started": self.started,
            "ended": self.ended,
            "folder": self.folder,
            "attempt": self.attempt,
            "retry_of": self.retry_of,
            "held": self.held,
            "waiting_for": self.waiting_for,
            "priority": self.priority,
            "after": list(self.after),
            "simulated": self.simulated,
            "progress": self.progress.to_json(),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Run:
        result, cause, diagnosis = document["result"], document["cause"], document["diagnosis"]
        return cls(
            id=document["id"],
            name=document["name"],
            kind=document["kind"],
            state=RunState(document["state"]),
            folder=document["folder"],
            created=document["created"],
            started=document["started"],
            ended=document["ended"],
            result=None if result is None else RunResult(result),
            exit_code=document["exit_code"],
            signal=document["signal"],
            cause=None if cause is None else Cause(cause),
            diagnosis=None if diagnosis is None else Diagnosis.from_json(diagnosis),
            devices=tuple(document["devices"]),
            attempt=document["attempt"],
            retry_of=document["retry_of"],
            held=document.get("held"),
            waiting_for=document.get("waiting_for"),
            priority=document.get("priority", 0),
            after=tuple(document.get("after", ())),
            simulated=bool(document.get("simulated")),
            progress=Progress.from_json(document.get("progress", {})),
            notes=tuple(document.get("notes", ())),
        )
