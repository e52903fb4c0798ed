"""Running a run's job again, planned anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.client.records import specification
from accel_tui.client.submitter import about_us, split_environment
from accel_tui.protocol.messages import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.runs import Run


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
        client=about_us(),
    )
