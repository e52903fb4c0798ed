"""What a run's folder says beyond the run itself: what was submitted, and when its stop was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import NotPossibleError
from accel_tui.model.times import time_seconds

if TYPE_CHECKING:
    from accel_tui.model.runs import Run


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
