"""What a run's folder says beyond the run itself: what was submitted, when its stop was asked for, how ranks stand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import NotPossibleError
from accel_tui.model.times import time_seconds

if TYPE_CHECKING:
    from accel_tui.model.runs import Run


@dataclass(frozen=True)
class Rank:
    """One process of a run of the worker's, by its own last word."""

    number: int
    phase: str
    """`saving` and the like; `started` before its first phase."""
    ended: bool = False
    good: bool = False
    """It ended as it should: it did its work, or saved because it was told to stop."""
    checkpoint: int | None = None
    """The step of the newest checkpoint that it told of lately."""


def ranks(run: Run) -> tuple[Rank, ...]:
    """How every rank stands that has said anything, in their order; none for kinds without the worker."""
    from accel_tui.store.events import tails

    return tuple(_rank(number, events) for number, events in tails(Path(run.folder)).items())


def _rank(number: int, events: list[dict[str, Any]]) -> Rank:
    phase, ended, good, checkpoint = "started", False, False, None
    for event in events:
        kind, step = event["event"], event.get("step")
        if kind == "phase":
            phase = str(event.get("phase"))
        elif kind == "checkpoint" and isinstance(step, int):
            checkpoint = step
        elif kind == "result":
            ended, good = True, event.get("ok") is True or event.get("stopped") is True
    return Rank(number, phase, ended, good, checkpoint)


def specification(run: Run) -> dict[str, Any]:
    """The run's `spec.json`.

    Raises:
        NotPossibleError: it is missing or damaged.
    """
    spec = _document(run, "spec.json")
    if spec is not None and isinstance(spec.get("job"), dict) and isinstance(spec.get("select"), str):
        return spec
    raise NotPossibleError(
        "the record of this run is damaged, so it cannot be run again", remedy="run the session file itself"
    )


def stop_requested(run: Run) -> tuple[float, bool] | None:
    """When its stop was asked for, in seconds since the epoch, and whether by force; None where nobody did."""
    request = _document(run, "stop.json")
    if request is None:
        return None
    try:
        return time_seconds(str(request["requested"])), request.get("now") is True
    except (KeyError, ValueError):
        return None


def _document(run: Run, name: str) -> dict[str, Any] | None:
    try:
        document = json.loads((Path(run.folder) / name).read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
