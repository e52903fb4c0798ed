"""Running a run's job again: what was submitted, read from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.client.submitter import split_environment
from accel_tui.model.errors import NotPossibleError
from accel_tui.protocol.messages import Submission
from accel_tui.protocol.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.runs import Run


def specification(run: Run) -> dict[str, Any]:
    """The run's `spec.json`.

    Raises:
        NotPossibleError: it is missing or damaged.
    """
    try:
        spec = json.loads((Path(run.folder) / "spec.json").read_bytes())
    except (OSError, ValueError):
        spec = None
    if isinstance(spec, dict) and isinstance(spec.get("job"), dict) and isinstance(spec.get("select"), str):
        return spec
    raise NotPossibleError(
        "the record of this run is damaged, so it cannot be run again", remedy="run the session file itself"
    )


def resubmission(run: Run, environment: Mapping[str, str]) -> Submission:
    """The same job with the same selector, planned anew for the environment of now.

    Relative paths mean what they meant: the folder it was first submitted from.
    """
    spec = specification(run)
    base, secrets = split_environment(environment, spec["job"].get("launch", {}).get("env_from") or ())
    return Submission(
        job=spec["job"],
        select=spec["select"],
        base=base,
        secrets=secrets,
        cwd=str(spec.get("submitted_by", {}).get("cwd") or "/"),
        retry_of=run.id,
        client={"version": VERSION},
    )
