"""Whether a run that ended is tried again by itself, and what the next attempt is told."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.runs import Cause, RunResult
from accel_tui.model.times import time_text
from accel_tui.store.artefacts import newest_checkpoint, training_output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.runs import Run

_NEVER = frozenset({Cause.STOPPED_BY_USER, Cause.RECORD_DAMAGED})


def wanted(run: Run, spec: Mapping[str, Any]) -> bool:
    """Failed and lost runs are tried again while attempts are left; one that ran out of its time only to resume.

    One whose card was lost never is: the next attempt could only make it worse before somebody has looked at the card.
    """
    launch = spec["job"]["launch"]
    if run.result not in (RunResult.FAILED, RunResult.LOST) or run.cause in _NEVER:
        return False
    if run.diagnosis is not None and not run.diagnosis.again:
        return False
    if run.cause is Cause.TIME_LIMIT and launch["resume"] != "last":
        return False
    first = int(spec.get("first_attempt", spec["attempt"]))
    return run.attempt - first < int(launch["retries"])


def next_spec(run: Run, spec: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    """The specification of the next attempt."""
    following = copy.deepcopy(dict(spec))
    following.update(
        id=identifier,
        created=time_text(time.time()),
        attempt=run.attempt + 1,
        retry_of=run.id,
        automatic=True,
        first_attempt=int(spec.get("first_attempt", spec["attempt"])),
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
