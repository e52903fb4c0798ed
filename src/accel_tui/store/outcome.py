"""From a record and the worker's events to result, cause and diagnosis; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.diagnosis.recognise import WORDS_ALONE, Ending, Evidence, Told, recognise
from accel_tui.diagnosis.table import shipped
from accel_tui.model.runs import Cause, Diagnosis, RunResult
from accel_tui.store.documents import DamagedError, optional
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accel_tui.diagnosis.scan import Line
    from accel_tui.diagnosis.table import Entry

    Event = dict[str, Any]

_NOT_STARTED = {Cause.LAUNCH_FAILED, Cause.CHECK_REFUSED, Cause.DEPENDENCY_FAILED}
_UNSEEN_END = {Cause.KEEPER_LOST, Cause.REBOOT}
_QUOTED = 500
_READ_LOG = "read the end of its log: accel-tui logs {id} --errors"


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    result: RunResult
    cause: Cause
    exit_code: int | None = None
    signal: str | None = None
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class Facts:
    """What is known of an ended run beside its record."""

    id: str
    worker: bool
    """Whether its kind uses the worker, so that events decide."""
    processes: int
    """Ranks that were expected to report, at least 1."""
    events: Mapping[int, Sequence[Event]]
    """The last events of each rank."""
    log: Callable[[], tuple[Line, ...]] = tuple
    """Reads what is looked at of the log, where the program itself said why it failed; called after a failure alone."""
    kind: str = ""
    vendors: frozenset[str] = frozenset()
    """Whose cards it ran on."""
    silent_seconds: float | None = None
    """How long before its end it wrote nothing."""
    beside: Callable[[], tuple[Line, ...]] = tuple
    """Reads the logs that a vendor's software wrote into the run folder."""
    known: Callable[[], Sequence[Entry]] | None = None
    """Gives the failures that are known; None for those that come with the product."""
    kept: Diagnosis | None = None
    """The diagnosis that was made before."""


def outcome_of(record: Mapping[str, Any], facts: Facts) -> Outcome:
    """How the run of this record ended.

    Raises:
        DamagedError: the record names no cause that there is.
    """
    try:
        cause = Cause(str(record.get("cause")))
    except ValueError:
        raise DamagedError(f"exit.json: unknown cause {record.get('cause')!r}") from None
    document = dict(record)
    exit_code, signal = optional(document, "exit_code", int), optional(document, "signal", str)
    result = _result(document, cause, exit_code, signal, facts)
    if result is RunResult.STOPPED and cause is not Cause.STOPPED_BY_USER and cause not in _UNSEEN_END:
        cause = Cause.SIGNAL
    diagnosis = None
    if result in (RunResult.FAILED, RunResult.NOT_STARTED, RunResult.LOST):
        diagnosis = facts.kept or diagnose(cause, exit_code, signal, optional(document, "message", str), facts)
    return Outcome(result, cause, exit_code, signal, diagnosis)


def _result(record: dict[str, Any], cause: Cause, exit_code: int | None, signal: str | None, facts: Facts) -> RunResult:
    if cause in _NOT_STARTED:
        return RunResult.NOT_STARTED
    if cause is Cause.STOPPED_BY_USER:
        return RunResult.STOPPED if record.get("stopped") is True else RunResult.FAILED
    if cause is Cause.TIME_LIMIT:
        return RunResult.FAILED
    if cause is Cause.RECORD_DAMAGED:
        return RunResult.LOST
    told = told_result(facts) if facts.worker else None
    if cause in _UNSEEN_END:
        return told or RunResult.LOST
    if facts.worker:
        return told or RunResult.FAILED
    return RunResult.SUCCEEDED if exit_code == 0 and signal is None else RunResult.FAILED


def told_result(facts: Facts) -> RunResult | None:
    """What the workers themselves say of the end; None while an expected rank has not told its result.

    One rank that failed makes it failed. One that a signal ended early makes it stopped, however well it ended.
    """
    results = [events[-1] for events in facts.events.values() if events and events[-1]["event"] == "result"]
    if any(result.get("ok") is not True for result in results):
        return RunResult.FAILED
    ranks = {rank for rank, events in facts.events.items() if events and events[-1]["event"] == "result"}
    if not ranks.issuperset(range(facts.processes)):
        return None
    return RunResult.STOPPED if any(result.get("stopped") is True for result in results) else RunResult.SUCCEEDED


def diagnose(
    cause: Cause, exit_code: int | None, signal: str | None, message: str | None, facts: Facts
) -> Diagnosis | None:
    """What went wrong, in plain words, from the clearest witness: the cause, a failure that the tables know in what
    workers and log say, any other error in there, the way it ended."""
    plain = _of_cause(cause, message, facts.id)
    if plain and cause not in (Cause.OUT_OF_MEMORY, Cause.TIME_LIMIT):
        return plain
    ending = Ending(cause.value, signal, facts.kind, facts.vendors, facts.silent_seconds, facts.processes)
    evidence = Evidence(facts.id, facts.log(), _first_error(facts), ending, facts.beside())
    known = recognise(evidence, (facts.known or shipped)())
    if cause is Cause.TIME_LIMIT:
        return known or plain
    return known or _of_error(evidence) or plain or _of_end(exit_code, signal, evidence, facts)


def _of_cause(cause: Cause, message: str | None, identifier: str) -> Diagnosis | None:
    said = f": {message}" if message else ""
    start = message.removeprefix("cannot start: ") if message else "its program"
    memory = "lower batch size, block size or context, use a smaller dtype, or take more devices"
    table: dict[Cause, tuple[str, str | None]] = {
        Cause.LAUNCH_FAILED: (
            f"cannot start {start}",
            _start_step(message or "", identifier),
        ),
        Cause.CHECK_REFUSED: (f"a check refused it{said}", "follow the remedy, then: accel-tui rerun " + identifier),
        Cause.DEPENDENCY_FAILED: (f"a run that it waited for did not succeed{said}", "run that one again first"),
        Cause.TIME_LIMIT: (f"its time limit was over{said}", "raise time_limit, or resume from its last checkpoint"),
        Cause.OUT_OF_MEMORY: (f"the host ran out of memory and the kernel ended it{said}", memory),
        Cause.REBOOT: ("the host was restarted while it ran", "run it again, from its last checkpoint if there is one"),
        Cause.RECORD_DAMAGED: (f"its record is damaged{said}", "accel-tui doctor names the file"),
    }
    if cause not in table:
        return None
    summary, next_step = table[cause]
    return Diagnosis(cause.value, summary, next_step)


def _start_step(message: str, identifier: str) -> str:
    if message.endswith("Permission denied"):
        return "a script needs its interpreter in front (python train.py), or chmod +x and a first line with #!"
    if message.endswith("no program of that name in PATH"):
        return "a script needs its interpreter in front (python train.py); a program of this folder, ./ in front"
    return "see what would run: accel-tui show " + identifier


def _first_error(facts: Facts) -> Told | None:
    """The first error that any rank told: later ones are most often its consequence on other ranks."""
    errors = [
        (event.get("t") if isinstance(event.get("t"), (int, float)) else float("inf"), rank, event)
        for rank, events in facts.events.items()
        for event in events
        if event["event"] == "error"
    ]
    if not errors:
        return None
    _, rank, event = min(errors, key=lambda error: error[:2])
    return Told(rank, str(event.get("type") or "error"), str(event.get("message") or "").strip())


def _of_error(evidence: Evidence) -> Diagnosis | None:
    """The worker's own words of an error that no table knows."""
    told = evidence.told
    if told is None:
        return None
    said = sanitise(told.message.split("\n", 1)[0], limit=_QUOTED)
    if told.kind in WORDS_ALONE and said:
        place = _number(evidence, said)
        return _unknown(said, told.rank, place, evidence)
    place = _number(evidence, f"{told.kind}: {said}" if said else "")
    kind = sanitise(told.kind, limit=_QUOTED)
    return _unknown(f"{kind}: {said}" if said else kind, told.rank, place, evidence)


def _number(evidence: Evidence, words: str) -> int | None:
    """The line of the log where these words stand."""
    line = evidence.place_of(words)
    return None if line is None else line.number


def _of_log(evidence: Evidence) -> Diagnosis | None:
    """The exception that ended the program, as Python wrote it into the log."""
    found = evidence.raised
    if found is None:
        return None
    said = sanitise(found.message, limit=_QUOTED)
    return _unknown(f"{found.kind}: {said}" if said else found.kind, found.rank, found.line, evidence)


def _unknown(summary: str, rank: int | None, line: int | None, evidence: Evidence) -> Diagnosis:
    if rank is None and evidence.blamed is not None:
        rank = evidence.blamed.rank
    return Diagnosis("python-exception", summary, _READ_LOG.format(id=evidence.id), rank=rank, line=line)


def _of_end(exit_code: int | None, signal: str | None, evidence: Evidence, facts: Facts) -> Diagnosis | None:
    step = _READ_LOG.format(id=facts.id)
    if signal == "SIGKILL":
        summary = "it was killed from outside (SIGKILL), possibly because the host ran out of memory"
        return Diagnosis("killed", summary, "look for the kernel's out-of-memory killer: journalctl -k")
    if signal in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE"):
        return Diagnosis("crashed", f"it crashed ({signal}), in compiled code most likely", step)
    if signal:
        return Diagnosis("signal", f"it was ended by {signal}, sent from outside", step)
    if exit_code is not None and (told := _of_log(evidence)) is not None:
        return told
    if facts.worker:
        return _of_silence(exit_code, step, facts)
    if exit_code is None:
        return Diagnosis("end-unseen", "its keeper was killed, so how it ended is not known", step)
    if exit_code in (126, 127):
        reason = "could not be executed" if exit_code == 126 else "was not found"
        return Diagnosis("command", f"a program {reason} (exit code {exit_code})", step)
    return Diagnosis("exit-code", f"it ended with exit code {exit_code}", step)


def _of_silence(exit_code: int | None, step: str, facts: Facts) -> Diagnosis:
    """Which ranks told no result; the first of them is the one to look at."""
    code = "its keeper was killed, so its exit code is not known" if exit_code is None else f"exit code {exit_code}"
    if not any(facts.events.values()):
        return Diagnosis("worker-silent", f"the worker ended before it reported anything ({code})", step)
    finished = {rank for rank, events in facts.events.items() if events and events[-1]["event"] == "result"}
    silent = sorted(set(range(facts.processes)) - finished)
    if not silent:
        return Diagnosis("worker-failed", f"the worker reported a failure ({code})", step)
    names = ", ".join(map(str, silent[:8])) + (", …" if len(silent) > 8 else "")
    which = "the worker" if facts.processes <= 1 else f"rank {names}"
    return Diagnosis("no-result", f"{which} ended without a result ({code})", step, rank=silent[0])
