"""From a submission to a run folder: parse, plan, check, and put it on the disk before the reply."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.executors.logout import Fate
from accel_tui.jobs import checks as job_checks
from accel_tui.jobs import planning, shell
from accel_tui.jobs.containers import RUNS_NOT
from accel_tui.jobs.environment import limits
from accel_tui.jobs.spec import parse_job
from accel_tui.keeper.locks import LockFolderError
from accel_tui.model.errors import CheckRefusedError, DeviceAbsentError, StateFolderError
from accel_tui.model.plans import CheckLevel, PlanWarning
from accel_tui.model.runs import RunState
from accel_tui.model.secrets import is_secret
from accel_tui.model.times import time_text
from accel_tui.store.identifiers import is_id
from accel_tui.store.reading import queued_run
from accel_tui.supervisor import wants
from accel_tui.supervisor.book import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import Inventory
    from accel_tui.model.plans import Check, Plan
    from accel_tui.model.runs import Run
    from accel_tui.protocol.messages import Submission
    from accel_tui.store.making import Fresh
    from accel_tui.supervisor.audit import Peer
    from accel_tui.supervisor.service import Service


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """A submission that was understood."""

    id: str
    job: Job
    plan: Plan
    base: Mapping[str, str]
    secrets: Mapping[str, str]
    secret_arguments: tuple[str, ...] = ()
    """Masked in `job`; they go to the keeper by pipe."""


@dataclass(frozen=True)
class Where:
    """What a plan is made against, beside the job."""

    select: str
    inventory: Inventory
    base: Mapping[str, str]
    cwd: str
    secrets: frozenset[str]
    """Names alone."""
    free: frozenset[str] | None = None
    """Devices that `auto` may take; None lets planning judge."""


LOOK = "`accel-tui devices` lists what is here; `--demo server8` has invented cards to try things on"


class Submitter:
    """Takes submissions; what may block runs in a thread."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def prepare(self, submission: Submission, *, execute: bool) -> Prepared:
        """Plan a submission against the devices that are here now, and examine it; a preview must not `execute`.

        Raises:
            UsageError, FileError: the job or the selector is wrong.
        """
        inventory = await self._service.inventory_for(submission.select)
        return await asyncio.to_thread(self._prepare, submission, inventory, execute)

    async def submit(self, submission: Submission, received: float, by: Peer) -> tuple[Run, tuple[PlanWarning, ...]]:
        """Queue a run; its folder is on the disk when this returns. With it comes what its submitter should know.

        Raises:
            CheckRefusedError: a check refused it, or asked a question that nobody answered.
            DeviceAbsentError: a selected device is not here.
            RunNotFoundError: `after`, `retry_of` or `exact` names no run.
        """
        service = self._service
        earlier = await self._made_before(submission, by)
        if earlier is not None:
            return earlier, ()
        if submission.retry_of is not None:
            await service.book.ready(submission.retry_of)
        original = None if submission.retry_of is None else service.book.run(submission.retry_of)
        prepared = await self.prepare(submission, execute=True)
        self._judge(prepared, submission)
        wished = dict.fromkeys([*submission.after, *map(_after, prepared.job.launch.after)])
        await service.book.ready(*(ref for ref, _ in wished))
        after = dict.fromkeys((service.book.find(ref), how) for ref, how in wished)
        spec = self._spec(prepared, submission, received)
        spec["after"] = [list(pair) for pair in after]
        if original is not None:
            spec["retry_of"] = original.id
            spec["attempt"] = original.attempt + 1
        entry = await self.file(spec, prepared, by=by)
        return entry.run, (*worth_telling(prepared.plan), *await self._at_logout())

    async def _at_logout(self) -> tuple[PlanWarning, ...]:
        """That a logout ends the run, or may: said where it is not sure to live on."""
        found = await self._service.survival()
        if found.fate is Fate.SURVIVE:
            return ()
        return (PlanWarning("logout", f"{found.message}; remedy: {found.remedy}"),)

    async def _made_before(self, submission: Submission, by: Peer) -> Run | None:
        """The run of a submission that is sent again, as nobody answered; secrets that died meanwhile come with it."""
        service = self._service
        if submission.id is None or not is_id(submission.id):
            return None
        await service.book.ready(submission.id)
        run = service.book.known(submission.id)
        if run is None:
            return None
        spec = await asyncio.to_thread(service.folders.spec, run.id)
        if (spec["select"], spec["kind"]) != (submission.select, submission.job.get("kind")):
            return None  # the same letters by chance
        entry = service.book.live.get(run.id)
        if entry is not None and entry.state is RunState.QUEUED and entry.lacks() is not None:
            _, entry.secret_arguments = planning.mask_arguments(parse_job(submission.job))
            await service.changes.release(run.id, self._environment(submission)[1], by=by)
        return run

    async def file(
        self, spec: dict[str, Any], prepared: Prepared, held: str | None = None, *, by: Peer | None = None
    ) -> Entry:
        """Make the folder and take the run into the book and the queue; `by` None is a retry of our own."""
        service = self._service
        position = service.next_position()
        environment = {"base": dict(prepared.base), "secret_names": sorted(prepared.secrets)}
        run, fresh = await asyncio.to_thread(self._create, spec, environment, prepared, position, held)
        entry = Entry(
            run=run,
            spec=spec,
            position=position,
            priority=int(spec["priority"]),
            after=tuple((one, how) for one, how in spec["after"]),
            limits=limits(prepared.base),
            secret_names=tuple(environment["secret_names"]),
            secrets=dict(prepared.secrets),
            secret_arguments=prepared.secret_arguments,
            held=held,
            planned=(time.monotonic(), prepared.plan),
        )
        service.book.add(entry)
        if by is None:
            service.audit.write("retry", entry.id, None, of=spec["retry_of"])
        else:
            answers = {"overrides": spec["overrides"], "yes": spec["yes"]}
            service.audit.write("submit", entry.id, by, name=entry.run.name, **answers)
        service.scheduler.wake()
        # The start does not wait for the disk; whoever is told that the run is queued does.
        try:
            await asyncio.to_thread(fresh.settle)
        except OSError:
            if entry.state is RunState.QUEUED:  # it can still be as if it had never been
                await asyncio.to_thread(service.folders.discard, entry.id)
                service.book.forget(entry.id)
                raise
            log.exception("run %s goes on, although the disk did not take its folder", entry.id)
        return entry

    def _create(
        self, spec: dict[str, Any], environment: dict[str, Any], prepared: Prepared, position: float, held: str | None
    ) -> tuple[Run, Fresh]:
        folders = self._service.folders
        worker = self._service.worker_archive() if prepared.job.worker else None
        plan, script = prepared.plan, None
        if plan.waiting_for is None and not planning.needs_port(prepared.job):
            # Most often nothing changes until the start, which then finds all of it on the disk.
            environment = {**environment, "run": planning.environment_for(plan, prepared.base, {})}
            script = start_script(plan, prepared.base, environment["secret_names"])
        fresh = folders.begin(spec, environment, plan, worker, position=position, held=held, script=script)
        return queued_run(folders.path(prepared.id), spec, plan.devices, held), fresh

    def _prepare(self, submission: Submission, inventory: Inventory, execute: bool) -> Prepared:
        base, secrets = self._environment(submission)
        job, arguments = planning.mask_arguments(parse_job(submission.job))
        identifier = self._service.folders.new_id(submission.id)
        where = Where(submission.select, inventory, base, submission.cwd, frozenset(secrets))
        plan = self.plan(job, identifier, where)
        # The client waits: what torch says of devices is asked at the start.
        found = job_checks.examine(job, plan, {**base, **secrets}, execute=execute, deep=False)
        plan = dataclasses.replace(plan, checks=(*plan.checks, *found))
        return Prepared(identifier, job, plan, base, secrets, arguments)

    def plan(self, job: Job, identifier: str, where: Where, *, port: int | None = None) -> Plan:
        """The one call of planning, at submit and again at the start."""
        return planning.plan(
            job,
            select=where.select,
            inventory=where.inventory,
            base=where.base,
            cwd=where.cwd,
            folder=str(self._service.folders.path(identifier)),
            identifier=identifier,
            settings=self._service.settings,
            free=where.free,
            secrets=where.secrets,
            port=port,
        )

    def _environment(self, submission: Submission) -> tuple[dict[str, str], dict[str, str]]:
        """Base and secrets. What a careless client left in the base is taken out of it."""
        given: Mapping[str, str] = submission.base
        if submission.exact is not None:
            given = self._service.folders.environment(submission.exact)["base"]
        secrets = dict(submission.secrets)
        base = {}
        for name, value in given.items():
            if is_secret(name, value):
                secrets.setdefault(name, value)
            elif name not in secrets:
                base[name] = value
        return base, secrets

    def _spec(self, prepared: Prepared, submission: Submission, received: float) -> dict[str, Any]:
        mask = submission.client.get("umask", "")
        return {
            "schema": 1,
            "id": prepared.id,
            "name": prepared.job.name,
            "kind": prepared.job.kind,
            "job": prepared.job.model_dump(mode="json"),
            "select": submission.select,
            "created": time_text(received),
            "submitted_by": {
                "version": submission.client.get("version"),
                "host": socket.gethostname(),
                "cwd": submission.cwd,
                "limits": submission.client.get("limits", "")[:1000] or None,
                "umask": mask if re.fullmatch("[0-7]{1,4}", mask) else None,
            },
            "priority": submission.priority,
            "after": [],
            "attempt": 1,
            "retry_of": None,
            "overrides": list(submission.overrides),
            "yes": submission.yes,
            "simulated": self._service.demo is not None,
        }

    def _judge(self, prepared: Prepared, submission: Submission) -> None:
        plan = prepared.plan
        open_ones = unanswered(plan.checks, yes=submission.yes, overrides=submission.overrides)
        if not plan.verified and plan.waiting_for is None:
            raise DeviceAbsentError(f"{submission.select!r} names a device that is not on this host", remedy=LOOK)
        if not plan.verified:
            message = f"this host can never give {submission.select!r}: {plan.waiting_for}"
            raise DeviceAbsentError(message, remedy=LOOK)
        if open_ones:
            raise refusal(open_ones, plan.checks)
        try:
            self._service.reservations.paths(set(plan.devices) - {wants.CPU})
        except LockFolderError as error:
            remedy = "set ACCEL_TUI_LOCK_DIR to a folder that you and the other users of this host share"
            raise StateFolderError(str(error), remedy=remedy) from None


def start_script(plan: Plan, base: Mapping[str, str], secret_names: Sequence[str]) -> str:
    """`run.sh`: the same command without accel-tui, in a folder of its own."""
    return shell.script(plan, base, secret_names, folder=f"{plan.folder}/by-hand", complete=True)


def worth_telling(plan: Plan) -> tuple[PlanWarning, ...]:
    """The warnings of a plan, those of its checks among them."""
    checks = (PlanWarning(one.id, one.message) for one in plan.checks if one.level is CheckLevel.WARNING)
    return (*plan.warnings, *checks)


def _after(text: str) -> tuple[str, str]:
    """`RUN` or `RUN:ok`, as a job writes it."""
    return (text[:-3], "ok") if text.endswith(":ok") else (text, "any")


def unanswered(checks: Iterable[Check], *, yes: bool, overrides: Iterable[str]) -> list[Check]:
    """Refusals that are not overridden, or cannot be, and questions that are not answered."""
    waived = set(overrides) - {RUNS_NOT}
    stopping = {CheckLevel.REFUSAL} if yes else {CheckLevel.REFUSAL, CheckLevel.ASK}
    return [check for check in checks if check.level in stopping and check.id not in waived]


def refusal(open_ones: Sequence[Check], checks: Iterable[Check]) -> CheckRefusedError:
    """The exception for these findings; refusals speak first."""
    first = min(open_ones, key=lambda check: check.level is not CheckLevel.REFUSAL)
    more = f" (and {len(open_ones) - 1} more)" if len(open_ones) > 1 else ""
    if first.level is CheckLevel.REFUSAL:
        message, answer = f"check {first.id} refused: {first.message}{more}", f"--override {first.id}"
        if first.id == RUNS_NOT:
            return CheckRefusedError(message, checks=tuple(checks), remedy=first.remedy)
    else:
        message, answer = f"check {first.id} asks: {first.message}{more}", "--yes"
    remedy = f"{first.remedy}\n(or {answer})" if first.remedy else f"answer with {answer}"
    return CheckRefusedError(message, checks=tuple(checks), remedy=remedy)
