"""What a start of the draft would do: planned in a thread, by the same function as everywhere; nothing is executed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.client.submitter import split_environment
from accel_tui.config.settings import Settings
from accel_tui.config.state import demo_folder, state_folder
from accel_tui.model.devices import DeviceView, Inventory
from accel_tui.model.errors import AccelError
from accel_tui.model.plans import Check, Plan
from accel_tui.protocol.messages import Submission
from accel_tui.protocol.version import VERSION
from accel_tui.tui.board import Board, Draft
from accel_tui.tui.naming import selector

if TYPE_CHECKING:
    from accel_tui.jobs.forms.form import Form
    from accel_tui.jobs.spec import Job
    from accel_tui.tui.services import Services

RUN_ID = "RUN_ID"
"""Stands for the id that the run gets when it is queued."""


@dataclass(frozen=True)
class Question:
    """Everything that a plan depends on; an equal one needs no second answer."""

    job: Mapping[str, Any]
    select: str
    inventory: Inventory
    """Without readings: they change every second and decide nothing."""
    taken: frozenset[str]
    """Keys of devices that are not free."""
    meant_from: str
    """What relative paths are meant from."""
    cwd: str
    folder: str
    """The run folder, whose last part is `RUN_ID`."""
    environment: Mapping[str, str]
    settings: Settings


@dataclass(frozen=True)
class Outlook:
    """The answer."""

    question: Question
    plan: Plan | None = None
    fault: AccelError | None = None
    """Why there is no plan."""
    job: Job | None = None
    """With its paths absolute."""
    checks: tuple[Check, ...] | None = None
    """What files and folders say; None while they are looked at."""

    @property
    def findings(self) -> tuple[Check, ...]:
        """All checks so far."""
        return (*(() if self.plan is None else self.plan.checks), *(self.checks or ()))


def question(draft: Draft, board: Board, services: Services) -> Question | None:
    """What is to be planned now; None before the devices are known."""
    if board.inventory is None:
        return None
    views = tuple(DeviceView(view.device, {}, view.holders, view.reserved_by) for view in board.devices)
    state = state_folder(services.settings, board.host, services.environment)
    if board.demo is not None:
        state = demo_folder(state, board.demo)
    # A run that is run again keeps its working folder; what is new starts where the screen does.
    cwd = draft.cwd if draft.retry_of is not None and draft.cwd else services.cwd
    return Question(
        job=draft.job,
        select=select_of(draft, board),
        inventory=Inventory(board.host, "", views),
        taken=taken(board),
        meant_from=draft.cwd or services.cwd,
        cwd=cwd,
        folder=str(state / "runs" / RUN_ID),
        environment=services.environment,
        settings=services.settings,
    )


def taken(board: Board) -> frozenset[str]:
    """Accelerators that somebody has: reserved, open in a process, or given to a run that lives."""
    given = {key for run in board.live for key in run.devices}
    views = (view for view in board.devices if view.device.vendor != "cpu")
    return frozenset(
        view.device.key for view in views if view.reserved_by is not None or view.holders or view.device.key in given
    )


def select_of(draft: Draft, board: Board) -> str:
    """The selector in force: the picks, what was typed into the form, the session's or the run's, `auto`."""
    picked = selector(view.device for view in board.picked())
    if picked:
        return picked
    typed = draft.job.get("devices")
    if draft.saved is not None and typed != draft.saved.get("devices"):
        session = board.session.select if board.session is not None and draft.retry_of is None else None
        return str(typed or session or "auto")
    return str(draft.select or typed or "auto")


def planned(asked: Question) -> Outlook:
    """Plan; for a thread, since a look at PATH may meet a slow disk. Raises nothing."""
    from accel_tui.jobs.paths import resolve_paths
    from accel_tui.jobs.planning import plan
    from accel_tui.jobs.spec import parse_job

    try:
        job = resolve_paths(parse_job(asked.job), Path(asked.meant_from))
        base, secrets = split_environment(asked.environment, _named(job, asked.environment))
        made = plan(
            job, select=asked.select, inventory=asked.inventory, base=base, cwd=asked.cwd, folder=asked.folder,
            identifier=RUN_ID, settings=asked.settings, secrets=frozenset(secrets),
            free=lambda device: device.key.partition("#")[0] not in asked.taken,
        )  # fmt: skip
    except AccelError as fault:
        return Outlook(asked, fault=fault)
    return Outlook(asked, made, job=job)


def examined(outlook: Outlook) -> Outlook:
    """The same with what files and folders say; for a thread. Executes nothing."""
    from accel_tui.jobs.checks import examine

    if outlook.plan is None or outlook.job is None:
        return outlook
    base, _ = split_environment(outlook.question.environment, _named(outlook.job, outlook.question.environment))
    return dataclasses.replace(outlook, checks=examine(outlook.job, outlook.plan, base, execute=False))


def form_of(job: Mapping[str, Any]) -> Form:
    """The form of a job; the first call loads what is slow to load."""
    from accel_tui.jobs.forms.form import Form

    form = Form(job)
    _ = form.fields  # raises where there is no such kind
    return form


def submission(outlook: Outlook, draft: Draft, *, yes: bool = False, overrides: tuple[str, ...] = ()) -> Submission:
    """The request that queues what was planned.

    Raises:
        UsageError: a variable that the job takes from the shell is not set.
    """
    if outlook.job is None:
        raise ValueError("there is no plan")
    asked = outlook.question
    base, secrets = split_environment(asked.environment, outlook.job.launch.env_from)
    return Submission(
        job=outlook.job.model_dump(mode="json"), select=asked.select, base=base, secrets=secrets, cwd=asked.cwd,
        yes=yes, overrides=overrides, retry_of=draft.retry_of, client={"version": VERSION},
    )  # fmt: skip


def shell_script(outlook: Outlook, folder: str, identifier: str) -> str:
    """The plan as a bash script that works in `folder`; secrets are asked for by name.

    Raises:
        AccelError: it cannot be planned.
    """
    from accel_tui.jobs.shell import script

    moved = planned(dataclasses.replace(outlook.question, folder=folder))
    if moved.plan is None or moved.job is None:
        raise moved.fault or ValueError("there is no plan")
    base, secrets = split_environment(outlook.question.environment, _named(moved.job, outlook.question.environment))
    changes = tuple(
        dataclasses.replace(change, value=identifier) if change.value == RUN_ID else change
        for change in moved.plan.environment
    )
    argv = tuple(argument.replace(RUN_ID, identifier) for argument in moved.plan.argv)
    plan = dataclasses.replace(moved.plan, environment=changes, argv=argv)
    return script(plan, base, frozenset(secrets), job=moved.job)


def _named(job: Job, environment: Mapping[str, str]) -> list[str]:
    """The variables that the job takes from the shell and that are set; a check names the others."""
    return [name for name in job.launch.env_from if name in environment]
