"""The one framework of checks: what a plan needs of the host, and of the job's interpreter.

A check is a function that takes a `Scene` and yields findings; one that has nothing to say yields none. Those in
`plan_checks` need the plan's inputs alone and are part of every plan; those here look at files, and with `execute`
run the job's interpreter.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from accel_tui.jobs import file_checks, gaudi_preflight, stack_checks, xpu_checks
from accel_tui.jobs.scene import Scene
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accel_tui.jobs.spec import Job
    from accel_tui.model.plans import Plan


def examine(
    job: Job, plan: Plan, base: Mapping[str, str], *, execute: bool = True, deep: bool = True
) -> tuple[Check, ...]:
    """What the host says about `plan`, besides `plan.checks`. Blocking: files are read, and with `execute` the job's
    interpreter is asked about its packages (at most 20 s, the answer is remembered); with `deep` too torch is imported
    there and asked what devices it sees (at most 90 s), which takes longer than a client waits for a supervisor.
    """
    scene = Scene(job, plan, base, deep)
    findings: list[Check] = []
    for check in (
        *file_checks.CHECKS,
        *((*stack_checks.CHECKS, *gaudi_preflight.CHECKS, *xpu_checks.CHECKS) if execute else ()),
    ):
        findings += _timed(check, scene)
    return tuple(findings)


def _timed(check: Callable[[Scene], Iterator[Check]], scene: Scene) -> list[Check]:
    begin = time.monotonic()
    try:
        found = list(check(scene))
    except OSError as error:
        name = check.__name__.replace("_", "-")
        found = [Check(name, CheckLevel.UNKNOWN, f"could not be examined: {error.strerror or error}")]
    seconds = time.monotonic() - begin
    return [dataclasses.replace(finding, seconds=seconds) for finding in found]
