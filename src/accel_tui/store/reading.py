"""What a run folder says about its run; the order of `docs/architecture.md`, and nothing else decides it."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from accel_tui.diagnosis import scan
from accel_tui.keeper.processes import boot_id, remains
from accel_tui.model.runs import Cause, Diagnosis, Progress, Run, RunResult, RunState
from accel_tui.model.times import time_seconds, time_text
from accel_tui.store import events
from accel_tui.store.documents import OURS, DamagedError, optional, read_document, read_record, required, texts
from accel_tui.store.identifiers import created_seconds
from accel_tui.store.kept import kept
from accel_tui.store.outcome import Facts, Outcome, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from accel_tui.diagnosis.table import Entry

KEEPER_KILLED = "its keeper was killed; it goes on without one, and its exit code will not be known"
MOST_RANKS = 100_000
"""More than any host starts; a damaged figure must not cost memory."""
VENDOR_LOGS = "habana_logs"
"""Where plans send what the Gaudi software logs."""
_CHOOSING = {"HABANA_VISIBLE_MODULES": "gaudi", "ZE_AFFINITY_MASK": "xpu"}
_WAITING = {RunState.QUEUED, RunState.PREPARING}


@dataclass(frozen=True)
class _Standing:
    """What the folder's records say: where the run stands, and the end where there is one."""

    state: RunState
    record: dict[str, Any] | None = None
    """`exit.json`, or what stands for it when the keeper is gone."""
    note: str | None = None


def read_run(folder: Path, known: Callable[[], Sequence[Entry]] | None = None) -> Run:
    """The run of a folder that exists. Never raises for what stands in it: a damaged one is told as lost.

    `known` gives the failures that a run without a diagnosis may have had; without it those of the product count.

    Raises:
        OSError: this process lacks descriptors or memory to look.
    """
    spec, spec_fault = _spec(folder)
    state, state_fault = _state(folder)
    base = _base(folder, spec, state or {})
    try:
        if spec_fault and not held(folder / "lock"):
            raise spec_fault
        standing = _standing(folder, state)
        run = (
            _with_end(folder, base, standing, known) if standing.record else _going(folder, base, standing, state or {})
        )
    except DamagedError as fault:
        return _damaged(base, folder, str(fault))
    notes = (spec_fault, state_fault, standing.note)
    return replace(run, notes=tuple(str(note) for note in notes if note))


def queued_run(folder: Path, spec: dict[str, Any], devices: tuple[str, ...], held: str | None) -> Run:
    """The run of a folder that was made this moment from `spec`: what `read_run` would say of it."""
    return replace(_base(folder, spec, {}), devices=devices, held=held)


def _spec(folder: Path) -> tuple[dict[str, Any] | None, DamagedError | None]:
    try:
        spec = _required_file(folder / "spec.json")
        required(spec, "name", str, "spec.json")
        required(spec, "kind", str, "spec.json")
    except DamagedError as fault:
        return None, fault
    return spec, None


def _state(folder: Path) -> tuple[dict[str, Any] | None, DamagedError | None]:
    try:
        state = _required_file(folder / "state.json")
        RunState(state.get("state"))
    except DamagedError as fault:
        return None, fault
    except ValueError as fault:
        return None, DamagedError(f"state.json: {fault}")
    return state, None


def last_change(folder: Path) -> float:
    """When the run last wrote its log or an event, in seconds since the epoch: the best guess at an unseen end."""
    paths = [folder / "log", *events.rank_files(folder).values()]
    times = []
    for path in paths:
        try:
            times.append(path.lstat().st_mtime)
        except OSError:
            continue
    return max(times, default=folder.lstat().st_mtime)


def _standing(folder: Path, state: dict[str, Any] | None) -> _Standing:
    """The numbered order of the architecture page.

    Raises:
        DamagedError: a file that had to be read is damaged.
    """
    if record := read_record(folder / "exit.json"):
        return _Standing(RunState.FINISHED, record)
    if state is None:
        if held(folder / "lock"):  # its keeper lives, so it runs, whatever became of the file
            return _Standing(RunState.STOPPING if (folder / "stop.json").exists() else RunState.RUNNING)
        raise DamagedError("state.json is damaged or missing")
    written = RunState(state["state"])
    if written in _WAITING:
        required(_required_file(folder / "environment.json"), "base", dict, "environment.json")  # it could not start
        return _Standing(written)
    if not begun(folder, state) and not held(folder / "lock"):
        return _Standing(RunState.PREPARING)
    if state.get("boot_id") != boot_id():
        return _Standing(RunState.FINISHED, _unseen(Cause.REBOOT, folder))
    if held(folder / "lock"):
        return _Standing(RunState.STOPPING if (folder / "stop.json").exists() else written)
    if record := read_record(folder / "exit.json"):  # it may have ended between the two looks
        return _Standing(RunState.FINISHED, record)
    if left_over(folder, state):
        return _Standing(RunState.RUNNING, note=KEEPER_KILLED)
    return _Standing(RunState.FINISHED, _unseen(Cause.KEEPER_LOST, folder))


def begun(folder: Path, state: dict[str, Any]) -> bool:
    """Whether a keeper may have executed the program; before it does, it makes the log."""
    return state.get("state") != RunState.STARTING.value or (folder / "log").exists()


def left_over(folder: Path, state: dict[str, Any]) -> list[tuple[int, int]]:
    """Pid and start time of what still lives of a run whose keeper is gone."""
    return remains(folder.name, process_of(state, "main"), [str(folder / "log"), *texts(state, "locks")])


def process_of(state: dict[str, Any], name: str) -> tuple[int, int] | None:
    """Pid and start time, as state files hold them."""
    value = state.get(name)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return value[0], value[1]
    return None


def _unseen(cause: Cause, folder: Path) -> dict[str, Any]:
    return {"cause": cause.value, "exit_code": None, "signal": None, "ended": time_text(last_change(folder))}


def held(path: Path) -> bool:
    """Whether somebody holds the lock. Asked with a shared lock, so that two who ask do not see each other."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        if fault.errno in OURS:
            raise  # who cannot look must not say that the keeper is gone
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _required_file(path: Path) -> dict[str, Any]:
    try:
        return read_document(path)
    except FileNotFoundError as fault:
        raise DamagedError(f"{path.name} is missing") from fault


def _base(folder: Path, spec: dict[str, Any] | None, state: dict[str, Any]) -> Run:
    """The run without where it stands: everything that specification and state file tell."""
    spec = spec or {}
    created = _time(spec, "created") or _time(state, "created") or time_text(created_seconds(folder.name) or 0.0)
    return Run(
        id=folder.name,
        name=optional(spec, "name", str) or folder.name,
        kind=optional(spec, "kind", str) or "unknown",
        state=RunState.QUEUED,
        folder=str(folder),
        created=created,
        started=_time(state, "started"),
        attempt=optional(spec, "attempt", int) or 1,
        retry_of=optional(spec, "retry_of", str),
        priority=optional(spec, "priority", int) or 0,
        after=texts(spec, "after"),
        simulated=spec.get("simulated") is True,
    )


def plan_facts(folder: Path) -> tuple[tuple[str, ...], int, frozenset[str]]:
    """Devices, expected ranks and whose cards it ran on; a damaged plan costs no more than these."""
    try:
        plan = read_document(folder / "plan.json")
    except (FileNotFoundError, DamagedError):
        return (), 1, frozenset()
    processes = optional(plan, "processes", int) or 1
    return texts(plan, "devices"), min(max(processes, 1), MOST_RANKS), _vendors(plan)


def _vendors(plan: dict[str, Any]) -> frozenset[str]:
    """The vendors whose variables the plan sets to give the run its cards."""
    if not any(key != "cpu" for key in texts(plan, "devices")):
        return frozenset()
    changes = plan.get("environment")
    names = (
        {change.get("name") for change in changes if isinstance(change, dict) and change.get("action") == "set"}
        if isinstance(changes, list)
        else set()
    )
    return frozenset(vendor for name, vendor in _CHOOSING.items() if name in names)


def _going(folder: Path, base: Run, standing: _Standing, state: dict[str, Any]) -> Run:
    devices, _, _ = plan_facts(folder)
    waiting = standing.state in _WAITING
    return replace(
        base,
        state=standing.state,
        devices=devices,
        held=optional(state, "held", str) if standing.state is RunState.QUEUED else None,
        waiting_for=optional(state, "waiting_for", str) if waiting else None,
        progress=Progress() if waiting else events.progress_of(folder),
    )


def _with_end(folder: Path, base: Run, standing: _Standing, known: Callable[[], Sequence[Entry]] | None = None) -> Run:
    record = standing.record or {}
    devices, processes, vendors = plan_facts(folder)
    told = events.tails(folder)
    ended = _time(record, "ended")
    facts = Facts(
        base.id,
        (folder / "worker.pyz").exists(),
        processes,
        told,
        log=lambda: scan.of_log(folder / "log"),
        beside=lambda: scan.of_folder(folder / VENDOR_LOGS),
        kind=base.kind,
        vendors=vendors,
        silent_seconds=None if ended is None else time_seconds(ended) - last_change(folder),
        known=known,
        kept=kept(folder),
    )
    outcome: Outcome = outcome_of(record, facts)
    return replace(
        base,
        state=RunState.FINISHED,
        started=_time(record, "started") or base.started,
        ended=ended,
        result=outcome.result,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        cause=outcome.cause,
        diagnosis=outcome.diagnosis,
        devices=devices,
        progress=events.progress_from(next(iter(told.values()), [])),
    )


def _damaged(base: Run, folder: Path, reason: str) -> Run:
    diagnosis = Diagnosis("record-damaged", f"its record is damaged: {reason}", f"look into {folder}")
    return replace(
        base,
        state=RunState.FINISHED,
        result=RunResult.LOST,
        cause=Cause.RECORD_DAMAGED,
        diagnosis=diagnosis,
        ended=time_text(last_change(folder)),
    )


def _time(document: dict[str, Any], name: str) -> str | None:
    """A time of a record, rewritten as ours; one that is none is left out."""
    value = optional(document, name, str)
    if value is None:
        return None
    try:
        return time_text(time_seconds(value))
    except (ValueError, OverflowError):
        return None
