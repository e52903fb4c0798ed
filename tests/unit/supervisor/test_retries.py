"""Which failed runs are tried again, and when."""

from __future__ import annotations

from typing import Any

import pytest

from accel_tui.model.runs import Cause, Run, RunResult, RunState
from accel_tui.model.times import time_seconds
from accel_tui.supervisor import retries

CREATED = "2026-11-30T12:00:00.000Z"


def ended(**changes: Any) -> Run:
    fields: dict[str, Any] = {"result": RunResult.FAILED, "cause": Cause.EXIT, "exit_code": 1, **changes}
    return Run("20261130-120000-aaaa", "job", "command", RunState.FINISHED, "/none", CREATED, **fields)


def spec(count: int = 3, **launch: Any) -> dict[str, Any]:
    return {"attempt": 1, "created": CREATED, "job": {"launch": {"retries": count, "resume": "none", **launch}}}


@pytest.mark.parametrize(
    ("run", "again"),
    [
        (ended(), True),
        (ended(exit_code=None, signal="SIGSEGV", cause=Cause.SIGNAL), True),
        (ended(result=RunResult.LOST, cause=Cause.REBOOT, exit_code=None), True),
        (ended(exit_code=2), False),
        (ended(exit_code=127), False),
        (ended(result=RunResult.NOT_STARTED, cause=Cause.LAUNCH_FAILED, exit_code=None), False),
        (ended(result=RunResult.NOT_STARTED, cause=Cause.CHECK_REFUSED, exit_code=None), False),
        (ended(result=RunResult.STOPPED, cause=Cause.STOPPED_BY_USER), False),
        (ended(cause=Cause.TIME_LIMIT), False),
        (ended(result=RunResult.SUCCEEDED, exit_code=0), False),
        (ended(attempt=4), False),
    ],
)
def test_what_another_attempt_could_mend_is_tried_again(run: Run, again: bool) -> None:
    assert retries.wanted(run, spec()) is again


def test_the_pause_doubles_and_has_an_end() -> None:
    assert [retries.pause(attempt, 1, 10) for attempt in (2, 3, 4, 5)] == [10, 20, 40, 80]
    assert retries.pause(99, 1, 10) == retries.LONGEST_PAUSE
    assert retries.pause(2, 1, 0) == 0


def test_an_attempt_waits_for_the_end_of_its_pause_and_no_clock_keeps_it_longer() -> None:
    following = {**spec(), **retries.next_spec(ended(), spec(), "20261130-120001-bbbb", 10), "created": CREATED}
    begin = time_seconds(CREATED)
    assert (following["pause_seconds"], following["first_attempt"], following["attempt"]) == (10, 1, 2)
    assert retries.is_early(following, begin + 9)
    assert not retries.is_early(following, begin + 10)
    assert not retries.is_early(following, begin - 3600), "the clock was put back"
    assert not retries.is_early(spec(), begin)
