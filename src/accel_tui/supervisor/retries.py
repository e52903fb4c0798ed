"""Whether a run that ended is tried again by itself, and what the next attempt is told."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.runs import Cause, RunResult
from accel_tui.model.times import time_seconds, time_text
from accel_tui.store.artefacts import newest_checkpoint, training_output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.runs import Run

_NEVER = frozenset({Cause.STOPPED_BY_USER, Cause.RECORD_DAMAGED})


USAGE_CODES = frozenset({2, 64, 126, 127})
"""Exit codes of programs that were called wrongly (argparse, sysexits) or not found by a shell: no attempt helps."""

LONGEST_PAUSE = 600.0


def pause(attempt: int, first: int, seconds: float) -> float:
    """How long attempt number `attempt` waits after the end of the one before: twice as long each time."""
    return float(min(LONGEST_PAUSE, seconds * 2 ** min(attempt - first - 1, 20)))


def is_early(spec: Mapping[str, Any], now: float) -> bool:
    """Whether the pause of an attempt is not over; a clock that was put back ends it."""
    seconds = float(spec.get("pause_seconds") or 0.0)
    return seconds > 0 and 0 <= now - time_seconds(str(spec["created"])) < seconds


def wanted(run: Run, spec: Mapping[str, Any]) -> bool:
    """Failed and lost runs are tried again while attempts are left; one that ran out of its time only to resume.

    One that was called wrongly never is, and one whose card was lost neither: the next attempt could only make it worse
    before somebody has looked at the card.
    """
    launch = spec["job"]["launch"]
    if run.exit_code in USAGE_CODES:
        return False
    if run.result not in (RunResult.FAILED, RunResult.LOST) or run.cause in _NEVER:
        return False
    if run.diagnosis is not None and not run.diagnosis.again:
        return False
    if run.cause is Cause.TIME_LIMIT and launch["resume"] != "last":
        return False
    first = int(spec.get("first_attempt", spec["attempt"]))
    return run.attempt - first < int(launch["retries"])


def next_spec(run: Run, spec: Mapping[str, Any], identifier: str, seconds: float = 0.0) -> dict[str, Any]:
    """The specification of the next attempt; `seconds` is the pause before the first one."""
    first = int(spec.get("first_attempt", spec["attempt"]))
    following = copy.deepcopy(dict(spec))
    following.update(
        id=identifier,
        created=time_text(time.time()),
        attempt=run.attempt + 1,
        retry_of=run.id,
        automatic=True,
        first_attempt=first,
        pause_seconds=pause(run.attempt + 1, first, seconds),
        after=[],
    )
    following["job"] = resumed(following["job"], run)
    return following


def resumed(job: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """The job, going on from the last checkpoint where it asks for that and there is one."""
    changed = copy.deepcopy(dict(job))
    train = changed.get("train")
    if changed["launch"]["resume"] != "last" or not isinstance(train, dict):
        return changed
    output = training_output(Path(run.folder), changed)
    if newest_checkpoint(output) is not None:
        train["resume_from"] = str(output)
    return changed
