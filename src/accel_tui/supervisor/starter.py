"""Starting a run: plan again with the devices of this moment, check, write what will run, hand it to a keeper."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import secrets
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.executors.local import KeeperError, NoKeeperError
from accel_tui.jobs import checks as job_checks
from accel_tui.jobs import plan_checks, planning, selectors, space
from accel_tui.jobs.spec import parse_job
from accel_tui.keeper.locks import LockFolderError
from accel_tui.model.errors import AccelError, RunNotFoundError
from accel_tui.model.plans import CheckLevel
from accel_tui.model.runs import Cause, RunState
from accel_tui.protocol.paths import LOCK_NAME
from accel_tui.supervisor import wants
from accel_tui.supervisor.replies import write_report
from accel_tui.supervisor.submitter import Where, refusal, start_script, unanswered

if TYPE_CHECKING:
    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import Inventory
    from accel_tui.model.plans import Check, Plan
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

log = logging.getLogger(__name__)

_PLAN_SECONDS = 0.5
"""How old a plan may be to be taken for what planning again would give: nothing that it looks at changes by then."""

_MOST_STARTS = 5
"""How often a start is tried while no keeper answers."""


@dataclass(frozen=True)
class _Ready:
    """A run that is written down and may be handed to a keeper."""

    job: Job
    plan: Plan
    locks: list[str]
    secret_arguments: dict[int, str]
    changed: bool
    """Whether it is written down otherwise than at the submit."""
    start: str
    """Names this start to the folder and to the keeper."""


class _WaitsError(Exception):
    """The devices are not to be had after all."""


class _AskedError(Exception):
    """A question arose that the submitter has not answered."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.message)
        self.check = check


def _told_once(check: Check) -> Check:
    """A doubt that was put to the submitter is no new question at the start.

    The card's lock is ours then, and the last figures may be those of the run before: a night's queue must not stop.
    """
    if check.id in plan_checks.DOUBTS and check.level is CheckLevel.ASK:
        return dataclasses.replace(check, level=CheckLevel.WARNING)
    return check


def _free_port() -> int:
    """A loopback port that nobody has now; the keeper binds it, and finding it taken puts the run back."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Starter:
    """One task for each run that is being started."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, entry: Entry) -> None:
        """Take a queued run, whose cards and slots are noted in the entry, out of the queue."""
        self._service.book.update(entry, state=RunState.PREPARING)
        task = asyncio.get_running_loop().create_task(self._start(entry))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float = 5.0) -> None:
        """Wait for the starts that are under way: none is left half done."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    async def _start(self, entry: Entry) -> None:
        service = self._service
        try:
            await self._try(entry)
        except RunNotFoundError:
            service.vanished(entry)
        except Exception as error:  # the border of a task: the run must end with a record, the queue must go on
            path = write_report(service.state, error, f"start of run {entry.id}")
            await self._not_started(entry, Cause.LAUNCH_FAILED, f"a fault of accel-tui; the report is {path}")

    async def _try(self, entry: Entry) -> None:
        service = self._service
        try:
            inventory = service.sampler.snapshot()
            ready = await asyncio.to_thread(self._prepare, entry, inventory)
            answer = await service.keepers.start(self._instruction(entry, ready))
        except _WaitsError as error:
            await self._back(entry, str(error))
        except _AskedError as error:
            held = f"check {error.check.id} asks: {error.check.message}; `release` answers yes"
            await self._back(entry, held, held=held)
        except NoKeeperError as error:
            await self._back(entry, f"a keeper: {error.message}")
        except KeeperError as error:
            await self._unsure(entry, error)
        except LockFolderError as error:
            await self._not_started(entry, Cause.LAUNCH_FAILED, str(error))
        except RunNotFoundError:
            raise
        except AccelError as error:
            await self._not_started(entry, Cause.CHECK_REFUSED, error.message)
        except OSError as error:  # a full disk, no descriptor left: the run can wait for better times
            await self._back(entry, f"the host: it cannot be started now ({error.strerror or error})")
        else:
            await self._answered(entry, ready, answer)

    def _prepare(self, entry: Entry, inventory: Inventory) -> _Ready:
        """Everything up to the keeper; blocks, so it runs in a thread."""
        folders = self._service.folders
        job = parse_job(entry.job)
        start = secrets.token_hex(8)
        planned = self._still_planned(entry, job)
        if planned is not None:
            locks = self._service.reservations.paths(entry.cards)
            folders.write_state(entry.id, state=RunState.PREPARING, held=None, start=start, sync=False)
            arguments = planning.secret_arguments(planned, entry.secret_arguments)
            return _Ready(job, planned, locks, arguments, changed=False, start=start)
        environment = folders.environment(entry.id)
        base: dict[str, str] = environment["base"]
        port = _free_port() if planning.needs_port(job) else None
        plan = self._plan(entry, job, base, inventory, port)
        # A worker proves its devices itself, in the same words and without importing torch twice.
        found = job_checks.examine(job, plan, {**base, **entry.secrets}, deep=not job.worker)
        plan = dataclasses.replace(plan, checks=tuple(_told_once(check) for check in (*plan.checks, *found)))
        self._judge(entry, plan)
        locks = self._service.reservations.paths(entry.cards)
        run = planning.environment_for(plan, base, {})
        script = functools.partial(start_script, plan, base, entry.secret_names)
        changed = folders.write_start(entry.id, {**environment, "run": run}, plan, script, start)
        arguments = planning.secret_arguments(plan, entry.secret_arguments)
        return _Ready(job, plan, locks, arguments, changed, start)

    def _still_planned(self, entry: Entry, job: Job) -> Plan | None:
        """The plan of the submit, where that was this moment, left nothing to decide, and found nothing to ask."""
        made, entry.planned = entry.planned, None
        if made is None or time.monotonic() - made[0] > _PLAN_SECONDS or entry.cards:
            return None
        plan = made[1]
        if plan.waiting_for is not None or not plan.verified or planning.needs_port(job):
            return None
        if selectors.parse(str(entry.spec["select"])).auto or unanswered(plan.checks, yes=False, overrides=()):
            return None
        return plan

    def _plan(self, entry: Entry, job: Job, base: dict[str, str], inventory: Inventory, port: int | None) -> Plan:
        select = str(entry.spec["select"])
        free = None
        if selectors.parse(select).auto:
            free = wants.devices_of(entry.cards, inventory)
        cwd = str(entry.spec["submitted_by"]["cwd"])
        where = Where(select, inventory, base, cwd, frozenset(entry.secret_names), free)
        plan = self._service.submitter.plan(job, entry.id, where, port=port)
        if plan.waiting_for is not None:
            raise _WaitsError(plan.waiting_for)
        if not plan.verified or not wants.lock_keys(plan.devices, inventory) <= entry.cards:
            raise _WaitsError(f"{select}: a device is not usable now")
        return plan

    def _judge(self, entry: Entry, plan: Plan) -> None:
        yes = bool(entry.spec["yes"]) or entry.answered
        overrides = tuple(entry.spec["overrides"])
        open_ones = unanswered(plan.checks, yes=yes, overrides=overrides)
        refused = unanswered(plan.checks, yes=True, overrides=overrides)
        if refused and {check.id for check in refused} <= space.CHECKS:
            raise _WaitsError(f"room: {refused[0].message}")
        if refused:
            raise refusal(refused, plan.checks)
        if open_ones:
            raise _AskedError(open_ones[0])

    def _instruction(self, entry: Entry, ready: _Ready) -> dict[str, Any]:
        service = self._service
        settings = service.settings
        return {
            "folder": entry.run.folder,
            "start": ready.start,
            "secrets": dict(entry.secrets),
            "secret_arguments": {str(index): text for index, text in ready.secret_arguments.items()},
            "locks": ready.locks,
            "grace_seconds": settings.grace_seconds,
            "save_seconds": settings.save_seconds,
            "linger_seconds": settings.linger_seconds,
            "time_limit": ready.job.launch.time_limit,
            "runs": str(service.folders.root),
            "supervisor_lock": str(service.state / LOCK_NAME),
            "revive": service.revive,
            "revive_environment": dict(service.environment),
            "tag": entry.id,
            "limits": entry.spec["submitted_by"].get("limits"),
            "umask": entry.spec["submitted_by"].get("umask"),
            "worker": ready.job.worker,
        }

    async def _answered(self, entry: Entry, ready: _Ready, answer: dict[str, Any]) -> None:
        if answer.get("started") is True:
            self._service.watch.started(entry, ready.plan.devices, answer)
            if not ready.changed:
                return
            with contextlib.suppress(OSError, AccelError):  # a full disk, or a run that is over and removed already
                await asyncio.to_thread(self._service.folders.sync_start, entry.id)
            return
        reason, message = answer.get("reason"), str(answer.get("message", ""))
        if reason == "busy":
            self._mark(entry, answer)
            await self._back(entry, message)
            return
        if not await self._taken(entry):
            await self._not_started(entry, Cause.LAUNCH_FAILED, message)

    async def _unsure(self, entry: Entry, error: KeeperError) -> None:
        """No answer came from a keeper: the folder alone tells what became of the run."""
        if await self._taken(entry):
            return
        if entry.failed_starts < _MOST_STARTS:
            entry.failed_starts += 1
            await self._back(entry, f"another start: {error.message}")
        else:
            await self._not_started(entry, Cause.LAUNCH_FAILED, error.message)

    async def _taken(self, entry: Entry) -> bool:
        """Whether the folder says that a keeper took the run; then it is followed, or filed."""
        service = self._service
        run = await asyncio.to_thread(service.folders.read_run, entry.id)
        if run.state is RunState.FINISHED:
            await service.ended(entry, run)
        elif run.state not in (RunState.QUEUED, RunState.PREPARING):
            service.book.update(entry, run)
            await service.watch.follow(entry)
        else:
            return False
        return True

    def _mark(self, entry: Entry, answer: dict[str, Any]) -> None:
        """Note who has the card, so that the queue does not try the same again at once."""
        lock, holder = answer.get("lock"), answer.get("holder")
        paths = self._service.reservations.paths(entry.cards)
        for key, path in zip(sorted(entry.cards), paths, strict=True):
            if path == lock:
                self._service.reservations.mark(key, holder if isinstance(holder, str) else None)

    async def _back(self, entry: Entry, reason: str, held: str | None = None) -> None:
        if not await self.back(entry, reason, held):
            await self._service.watch.follow(entry)

    async def back(self, entry: Entry, reason: str, held: str | None = None) -> bool:
        """Put the run back to its place in the queue; False when a keeper has it after all: it must be followed."""
        service = self._service
        try:
            free = await asyncio.to_thread(service.folders.requeue, entry.id, held)
        except OSError:  # a full disk: what stands there is taken for queued by the next supervisor, too
            free = True
        if not free:
            return False
        entry.leave_devices()
        entry.held, entry.waiting_for = held, reason
        service.book.update(entry, state=RunState.QUEUED)
        cause = await asyncio.to_thread(service.folders.stop_cause, entry.id)
        if cause is not None:
            service.end_unstarted(entry, cause, None)
        asyncio.get_running_loop().call_later(1.0, service.scheduler.wake)
        return True

    async def _not_started(self, entry: Entry, cause: Cause, message: str) -> None:
        log.warning("run %s does not start: %s", entry.id, cause.value)
        await self._service.file(entry, cause, message)
