"""Result, cause and diagnosis from record and events."""

from __future__ import annotations

from typing import Any

import pytest

from accel_tui.diagnosis.scan import of_text
from accel_tui.model.runs import Cause, RunResult
from accel_tui.store.documents import DamagedError
from accel_tui.store.outcome import Facts, Outcome, outcome_of

OK: dict[str, Any] = {"event": "result", "ok": True}
BAD: dict[str, Any] = {"event": "result", "ok": False}
START: dict[str, Any] = {"event": "start", "pid": 1}


def decide(
    cause: str = "exit",
    exit_code: int | None = 0,
    *,
    worker: bool = False,
    processes: int = 1,
    events: dict[int, list[dict[str, Any]]] | None = None,
    log_end: str = "",
    **record: Any,
) -> Outcome:
    facts = Facts("20261130-120000-abcd", worker, processes, events or {}, log=lambda: of_text(log_end))
    return outcome_of({"cause": cause, "exit_code": exit_code, "signal": None, "stopped": False, **record}, facts)


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"exit_code": 0}, RunResult.SUCCEEDED),
        ({"exit_code": 1}, RunResult.FAILED),
        ({"cause": "signal", "exit_code": None, "signal": "SIGSEGV"}, RunResult.FAILED),
        ({"cause": "out-of-memory", "exit_code": None, "signal": "SIGKILL"}, RunResult.FAILED),
        ({"cause": "time-limit", "exit_code": 0, "stopped": True}, RunResult.FAILED),
        ({"cause": "stopped-by-user", "exit_code": 0, "stopped": True}, RunResult.STOPPED),
        ({"cause": "launch-failed", "exit_code": None}, RunResult.NOT_STARTED),
        ({"cause": "keeper-lost", "exit_code": None}, RunResult.LOST),
        ({"cause": "reboot", "exit_code": None}, RunResult.LOST),
    ],
)
def test_other_kinds_are_judged_by_how_they_ended(given: dict[str, Any], result: RunResult) -> None:
    outcome = decide(**given)
    assert outcome.result is result
    assert outcome.cause.value == given.get("cause", "exit")
    assert (outcome.diagnosis is None) == (result in (RunResult.SUCCEEDED, RunResult.STOPPED))


@pytest.mark.parametrize(
    ("events", "exit_code", "result"),
    [
        ({0: [START, OK], 1: [START, OK]}, 0, RunResult.SUCCEEDED),
        ({0: [START, OK], 1: [START, OK]}, 1, RunResult.SUCCEEDED),
        ({0: [START, OK], 1: [START]}, 0, RunResult.FAILED),
        ({0: [START, OK]}, 0, RunResult.FAILED),
        ({0: [START, OK], 1: [START, BAD]}, 0, RunResult.FAILED),
        ({0: [OK, START], 1: [OK]}, 0, RunResult.FAILED),
        ({0: [{"event": "result", "ok": "yes"}], 1: [OK]}, 0, RunResult.FAILED),
        ({}, 0, RunResult.FAILED),
        ({0: [START, OK], 1: [START, OK], 2: [START]}, 0, RunResult.SUCCEEDED),
    ],
)
def test_worker_kinds_are_judged_by_every_rank(
    events: dict[int, list[dict[str, Any]]], exit_code: int, result: RunResult
) -> None:
    assert decide(exit_code=exit_code, worker=True, processes=2, events=events).result is result


def test_worker_that_a_foreign_signal_ended_early_did_not_succeed() -> None:
    outcome = decide(worker=True, events={0: [{**OK, "stopped": True}]})
    assert (outcome.result, outcome.cause) == (RunResult.STOPPED, Cause.SIGNAL)


def error(kind: str, message: str, t: float = 1.0) -> dict[str, Any]:
    return {"event": "error", "t": t, "type": kind, "message": message, "traceback": "…"}


@pytest.mark.parametrize(
    ("kind", "message", "name"),
    [
        ("RuntimeError", "shape mismatch\nsecond line", "python-exception"),
        ("torch.OutOfMemoryError", "tried to allocate", "out-of-memory"),
        ("RuntimeError", "XPU out of memory. Tried to allocate 2 GiB", "out-of-memory"),
        ("RuntimeError", "UR_RESULT_ERROR_OUT_OF_MEMORY: out_of_memory", "out-of-memory"),
        ("ModuleNotFoundError", "No module named 'peft'", "missing-module"),
        ("OSError", "[Errno 28] No space left on device", "disk-full"),
        ("FileNotFoundError", "no such file: model", "file"),
        ("DistNetworkError", "The server socket has failed: EADDRINUSE", "port-in-use"),
        ("KeyboardInterrupt", "", "interrupted"),
    ],
)
def test_error_that_the_worker_told_is_the_diagnosis(kind: str, message: str, name: str) -> None:
    outcome = decide(exit_code=1, worker=True, events={0: [START, error(kind, message), BAD]})
    assert outcome.diagnosis
    assert (outcome.diagnosis.id, outcome.diagnosis.rank) == (name, 0)
    said = f"{kind.rpartition('.')[2]}: {message.splitlines()[0]}" if message else kind
    assert outcome.diagnosis.summary.endswith(said)
    assert outcome.diagnosis.next_step
    assert "{" not in outcome.diagnosis.next_step


def test_what_the_worker_found_is_told_without_the_name_of_a_class() -> None:
    outcome = decide(
        exit_code=3, worker=True, events={0: [START, error("BadInputError", "data.path: x is empty"), BAD]}
    )
    assert outcome.diagnosis
    assert outcome.diagnosis.summary == "data.path: x is empty"


def test_the_exception_of_a_program_is_read_from_its_log() -> None:
    trace = "begun\nTraceback (most recent call last):\n  File 'a.py', line 1\n"
    outcome = decide(exit_code=1, log_end=trace + "ModuleNotFoundError: No module named 'yaml'\n")
    assert outcome.diagnosis
    assert (outcome.diagnosis.id, outcome.diagnosis.rank) == ("missing-module", None)
    assert outcome.diagnosis.summary.endswith(": ModuleNotFoundError: No module named 'yaml'")
    assert outcome.diagnosis.line == 4
    said_so = decide(exit_code=1, log_end=trace + "ValueError: negative {rate}\n").diagnosis
    assert said_so
    assert (said_so.summary, said_so.id) == ("ValueError: negative {rate}", "python-exception")


@pytest.mark.parametrize(
    ("message", "summary", "step"),
    [
        (
            "cannot start: train.py: no program of that name in PATH",
            "cannot start train.py: no program",
            "python train.py",
        ),
        ("cannot start: ./train.py: Permission denied", "cannot start ./train.py: Permission denied", "chmod +x"),
    ],
)
def test_a_script_that_cannot_be_started_gets_a_way_out(message: str, summary: str, step: str) -> None:
    diagnosis = decide(cause="launch-failed", exit_code=None, message=message).diagnosis
    assert diagnosis
    assert diagnosis.summary.startswith(summary)
    assert step in (diagnosis.next_step or "")


def test_the_first_error_of_all_ranks_is_the_root() -> None:
    events = {
        0: [START, error("DistBackendError", "peer closed", 20.0)],
        1: [START, error("ValueError", "{curly} bad token", 10.0), BAD],
        2: [START, {**error("Odd", "without a time"), "t": None}],
    }
    diagnosis = decide(exit_code=1, worker=True, processes=3, events=events).diagnosis
    assert diagnosis
    assert (diagnosis.rank, diagnosis.summary) == (1, "ValueError: {curly} bad token")


@pytest.mark.parametrize(
    ("given", "name", "said"),
    [
        ({"exit_code": 3}, "exit-code", "exit code 3"),
        ({"exit_code": 127}, "command", "was not found"),
        ({"exit_code": 126}, "command", "could not be executed"),
        (
            {"cause": "signal", "exit_code": None, "signal": "SIGKILL"},
            "killed",
            "possibly because the host ran out of memory",
        ),
        ({"cause": "signal", "exit_code": None, "signal": "SIGSEGV"}, "crashed", "SIGSEGV"),
        ({"cause": "signal", "exit_code": None, "signal": "SIGTERM"}, "signal", "SIGTERM"),
        ({"cause": "out-of-memory", "exit_code": None, "signal": "SIGKILL"}, "out-of-memory", "ran out of memory"),
        ({"cause": "launch-failed", "message": "no such file: x"}, "launch-failed", "no such file: x"),
        ({"cause": "time-limit"}, "time-limit", "time limit"),
        ({"cause": "keeper-lost", "exit_code": None}, "end-unseen", "keeper was killed"),
        ({"worker": True, "exit_code": 1}, "worker-silent", "before it reported anything"),
        ({"worker": True, "exit_code": 1, "events": {0: [START]}}, "no-result", "the worker ended without a result"),
        ({"worker": True, "exit_code": 1, "events": {0: [START, BAD]}}, "worker-failed", "reported a failure"),
        (
            {"worker": True, "exit_code": 1, "processes": 3, "events": {0: [OK], 1: [START]}},
            "no-result",
            "rank 1, 2 ended without a result (exit code 1)",
        ),
    ],
)
def test_other_ends_are_told_in_plain_words(given: dict[str, Any], name: str, said: str) -> None:
    diagnosis = decide(**given).diagnosis
    assert diagnosis
    assert diagnosis.id == name
    assert said in diagnosis.summary
    assert diagnosis.next_step


@pytest.mark.parametrize("cause", [None, 7, "aliens"])
def test_record_without_a_known_cause_is_damaged(cause: Any) -> None:
    with pytest.raises(DamagedError):
        decide(cause=cause)
