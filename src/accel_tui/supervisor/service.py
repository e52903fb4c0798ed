"""The supervisor's parts, put together: what the handlers talk to."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.devices.history import History
from accel_tui.devices.sampler import Sampler
from accel_tui.diagnosis.table import tables
from accel_tui.executors.local import Keepers, supervisor_argv
from accel_tui.executors.logout import Survival, survival
from accel_tui.jobs.spec import parse_job
from accel_tui.keeper import processes
from accel_tui.keeper.locks import user_name
from accel_tui.model.devices import DeviceState
from accel_tui.model.errors import NotPossibleError, RunNotFoundError
from accel_tui.model.places import Places
from accel_tui.model.runs import Cause, RunState
from accel_tui.model.times import time_seconds, time_text
from accel_tui.protocol import version
from accel_tui.protocol.messages import dump
from accel_tui.store.folders import RunFolders
from accel_tui.store.kept import keep
from accel_tui.supervisor import retries, wants
from accel_tui.supervisor.adoption import adopt, refill
from accel_tui.supervisor.audit import Audit
from accel_tui.supervisor.book import Book
from accel_tui.supervisor.changes import Changes
from accel_tui.supervisor.hub import Hub
from accel_tui.supervisor.index import Index
from accel_tui.supervisor.leftovers import Leftovers
from accel_tui.supervisor.logs import LogUpkeep
from accel_tui.supervisor.releasing import Releasing
from accel_tui.supervisor.replies import write_report
from accel_tui.supervisor.reservations import Reservations
from accel_tui.supervisor.scheduler import Scheduler
from accel_tui.supervisor.sessions import Sessions
from accel_tui.supervisor.starter import Starter
from accel_tui.supervisor.submitter import Prepared, Submitter, Where
from accel_tui.supervisor.thinning import thinned
from accel_tui.supervisor.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from accel_tui.config.settings import Settings
    from accel_tui.model.devices import DeviceView, Inventory, Problem
    from accel_tui.model.runs import Run
    from accel_tui.supervisor.book import Entry

log = logging.getLogger(__name__)

INDEX_NAME = "index.sqlite3"
HISTORY_NAME = "history.sqlite3"
AUDIT_NAME = "audit.log"
INDEXES_NAME = "indexes.json"

_SURVIVAL_SECONDS = 60.0
_RETRY_SECONDS = 2.0
"""How often an attempt that a full disk kept from being queued is tried again."""


def run_of(pid: int) -> str | None:
    """The run that a process of ours belongs to."""
    start = processes.start_time(pid)
    return None if start is None else _run_of(pid, start)


@functools.lru_cache(maxsize=512)
def _run_of(pid: int, _start: int) -> str | None:
    mark = f"{processes.TAG}=".encode()
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # another user's, or gone
        return None
    found = next((entry for entry in environment.split(b"\0") if entry.startswith(mark)), None)
    return None if found is None else found[len(mark) :].decode(errors="replace")


class Service:
    """One supervisor. Lives on one event loop; made before it, started and closed on it."""

    def __init__(
        self,
        state: Path,
        base: Path,
        settings: Settings,
        environment: Mapping[str, str],
        *,
        demo: str | None,
        problems: Iterable[Problem] = (),
    ) -> None:
        """`state` is the folder in force, `base` the one that a revived supervisor is told."""
        self.state = state
        self.settings = settings
        self.environment = dict(environment)
        self.demo = demo
        self.digest = version.settings_digest(settings.to_json())
        self.revive = supervisor_argv(str(base), demo)
        self.started = time.time()
        self.end: Callable[[], None] = lambda: None
        """Ends the supervisor alone; set by whoever serves."""
        self._problems = tuple(problems)
        self._position = 0.0
        self.devices_known = False
        """Whether the sources had the time of a first answer; before it no run chooses a card."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self.folders = RunFolders(
            state / "runs", settings.artefacts_root, lambda: tables(settings.config_dir or None).entries
        )
        self.hub = Hub()
        self.book = Book(Index(state / INDEX_NAME), self.hub)
        self.book.read_past = self.folders.read_run
        self.audit = Audit(state / AUDIT_NAME)
        self.history = History(state / HISTORY_NAME)
        lock_dir = str(state / "locks") if demo is not None else settings.lock_dir
        self.reservations = Reservations(lock_dir, self.book, user_name(os.getuid()))
        self.sampler = Sampler(
            dataclasses.replace(Places.of(settings, demo), demo_locks=None if demo is None else lock_dir),
            environment=self.environment,
            reserved_by=self.reservations.reserved_by,
            run_of=run_of,
            busy=lambda: bool(self.book.occupying() or self.book.queued()),
            record=self.history.append,
            index_file=None if demo is not None else state / INDEXES_NAME,
        )
        self.keepers = Keepers()
        self._survival: tuple[float, Survival] | None = None
        self.releasing = Releasing(self)
        self.sessions = Sessions(self)
        self.scheduler = Scheduler(self)
        self.submitter = Submitter(self)
        self.starter = Starter(self)
        self.watch = Watch(self)
        self.changes = Changes(self)
        self.leftovers = Leftovers(self, run_of)

    async def start(self) -> None:
        """Begin to sample and adopt; returns at once, requests may come in."""
        await self.sampler.start()
        self.keepers.prepare()
        loop = asyncio.get_running_loop()

        def again() -> None:
            loop.call_soon_threadsafe(lambda: self.spawn(refill(self), "reading all folders"))

        self.book.index.on_loss = again
        self.spawn(adopt(self), "adoption")
        self.spawn(self._first_look(), "the first look at the devices")
        self.spawn(self.scheduler.poll(), "polling locks")
        self.spawn(self.watch.poll(), "following runs")
        self.spawn(LogUpkeep(self).poll(), "looking after logs")
        self.spawn(self._tell_devices(), "telling of devices")

    async def close(self) -> None:
        """End everything of ours; runs go on."""
        self.scheduler.paused = True
        await self.starter.drain()
        for task in self._tasks:
            task.cancel()
        self.watch.close()
        await asyncio.to_thread(self.reservations.claims.close)
        await self.keepers.close()
        await self.sampler.stop()
        self.history.close()
        self.book.index.close()
        self.audit.close()

    async def survival(self) -> Survival:
        """What a logout does to runs that start now; asked of the host once a minute at most."""
        if self._survival is None or time.monotonic() - self._survival[0] > _SURVIVAL_SECONDS:
            managed, proc_root = self.keepers.logout_proof, self.settings.proc_root
            found = await asyncio.to_thread(survival, self.environment, managed=managed, proc_root=proc_root)
            self._survival = (time.monotonic(), found)
        return self._survival[1]

    def hello(self) -> dict[str, Any]:
        """The first exchange."""
        return {
            "schema": 1,
            "version": version.VERSION,
            "protocol": list(version.PROTOCOL),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "demo": self.demo,
            "settings": self.settings.to_json(),
            "queued": len(self.book.queued()),
            "running": len(self.book.occupying()),
            "started": time_text(self.started),
        }

    @property
    def idle(self) -> bool:
        """Nothing is queued or running, and all is known of what an earlier supervisor left."""
        return self.book.is_ready and not self.book.live and not self.book.unread

    def next_position(self) -> float:
        """The place behind everyone; the time, unless the clock was put back."""
        self._position = max(time.time(), self._position + 1e-6)
        return self._position

    def take_places(self, positions: Iterable[float]) -> None:
        """These are taken, by runs of an earlier supervisor."""
        self._position = max([self._position, *positions])

    async def inventory(self, wait: float = 2.5) -> Inventory:
        """The devices, with what the lock folder says of them now."""
        inventory = await self.sampler.inventory(wait)
        if self.reservations.stale and wants.usable(inventory):
            await self.refresh_reservations()
        inventory = self.picture()
        extra = (*self._problems, *self.history.problems())
        if extra:
            inventory = dataclasses.replace(inventory, problems=(*inventory.problems, *extra))
        return inventory

    def picture(self) -> Inventory:
        """The devices as they are known now, with what the queue knows of them."""
        inventory = self.sampler.snapshot()
        return dataclasses.replace(inventory, devices=tuple(map(self._with_standing, inventory.devices)))

    def _with_standing(self, view: DeviceView) -> DeviceView:
        key = view.device.key
        awaited, releasing = self.reservations.awaited_by(key), self.releasing.state(key)
        if releasing is not None and view.reserved_by is None:
            device = view.device
            if device.state is DeviceState.OPERATIONAL:
                device = dataclasses.replace(device, state=releasing)
            by = self.releasing.reserved_by(key, user_name(os.getuid()))
            view = dataclasses.replace(view, device=device, reserved_by=by)
        return dataclasses.replace(view, awaited_by=awaited) if awaited else view

    async def inventory_for(self, select: str) -> Inventory:
        """The devices as a plan needs them: a run that wants no card does not wait for readings or locks."""
        if select in ("none", wants.CPU) and self.devices_known:
            return self.picture()
        inventory = await self.inventory()
        self.devices_known = True
        return inventory

    async def _first_look(self) -> None:
        await self.inventory_for("auto")
        self.scheduler.wake()

    async def refresh_reservations(self) -> None:
        """Look at the lock files of every card."""
        keys = wants.usable(self.sampler.snapshot())
        if not keys and self.devices_known:
            self.reservations.no_cards()
        if keys and self.reservations.replace(await asyncio.to_thread(self.reservations.read, keys)):
            self.sampler.changed()

    def occupy(self, entry: Entry, devices: Iterable[str], inventory: Inventory) -> None:
        """Note what an adopted run holds."""
        keys = tuple(devices)
        entry.cards = wants.lock_keys(keys, inventory)
        entry.slots = 1 if wants.CPU in keys else 0

    @functools.lru_cache(maxsize=1)  # noqa: B019 - one service lives as long as its process
    def worker_archive(self) -> bytes:
        """The worker that is put into run folders."""
        from accel_tui_worker.archive import build

        return build()

    def end_unstarted(self, entry: Entry, cause: Cause, message: str | None) -> None:
        """File a run that never started; it leaves the queue at once, the record follows."""
        self.book.update(entry, state=RunState.PREPARING)
        self.spawn(self.file(entry, cause, message), "filing a run")

    async def file(self, entry: Entry, cause: Cause, message: str | None) -> None:
        """Record the end of a run that has no keeper. Where that cannot be, the run is not over: it waits, held."""
        try:
            run = await asyncio.to_thread(self.folders.finish, entry.id, cause, message)
        except RunNotFoundError:
            self.vanished(entry)
        except NotPossibleError:  # a keeper has it after all
            await self.watch.follow(entry)
        except OSError as error:
            entry.leave_devices()
            entry.held = f"its end cannot be recorded: {error.strerror}"
            self.book.update(entry, state=RunState.QUEUED)
        else:
            await self.ended(entry, run)

    def vanished(self, entry: Entry) -> None:
        """Somebody removed the folder of a live run: nothing is left to tell of it, and nothing may wait for it."""
        log.warning("the folder of run %s is gone", entry.id)
        self.audit.write("vanished", entry.id, None)
        self.watch.forget(entry.id)
        self.book.forget(entry.id)
        self.scheduler.wake()

    async def ended(self, entry: Entry, run: Run) -> None:
        """A run is over: the next attempt is queued before anybody hears of the end."""
        if run.diagnosis is not None:
            await asyncio.to_thread(keep, run)
        if retries.wanted(run, entry.spec) and run.id not in self.book.succeeded_by:
            try:
                await self._retry(entry, run)
            except OSError:  # a full disk: nothing of the run keeps its end from being filed
                self.spawn(self._retry_later(dataclasses.replace(entry), run), f"retry of run {run.id}")
            except Exception as error:
                self.report(error, f"retry of run {run.id}")
        self.releasing.begin(run, entry.cards if run.started is not None else ())
        self.book.finish(entry, run)
        self.audit.write("end", run.id, None, result=run.result and run.result.value)
        self.scheduler.wake()

    async def _retry_later(self, entry: Entry, run: Run) -> None:
        """Queue the next attempt as soon as there is room for it."""
        log.warning("there is no room to queue the next attempt of run %s; tried again", run.id)
        while run.id not in self.book.succeeded_by:
            await asyncio.sleep(_RETRY_SECONDS)
            with contextlib.suppress(OSError):
                await self._retry(entry, run)

    async def _retry(self, entry: Entry, run: Run) -> None:
        identifier = self.folders.new_id()
        spec = retries.next_spec(run, entry.spec, identifier, self.settings.retry_seconds)
        environment = await asyncio.to_thread(self.folders.environment, run.id)
        held = entry.lacks()
        job = parse_job(retries.resumed(entry.job, run))
        cwd, select = str(spec["submitted_by"]["cwd"]), str(spec["select"])
        names = frozenset(entry.secret_names)
        where = Where(select, self.sampler.snapshot(), environment["base"], cwd, names)
        plan = self.submitter.plan(job, identifier, where)
        secrets = {name: entry.secrets.get(name, "") for name in names}
        prepared = Prepared(identifier, job, plan, environment["base"], secrets, entry.secret_arguments)
        following = await self.submitter.file(spec, prepared, held)
        following.secrets = dict(entry.secrets)
        self.book.succeeded_by[run.id] = identifier

    async def run_metrics(self, run: Run, *, devices: bool = True, most: int | None = None) -> dict[str, Any]:
        """The `metrics` document: the run's curves, and with `devices` its devices' readings while it ran.

        With `most`, that many points of a curve, each for an equal span of time.
        """
        series = await asyncio.to_thread(self._curves, run.id, most)
        readings = await self._readings_of(run) if devices else {}
        energy = {"value": None, "method": None, "reason": "energy is not computed by this version"}
        return {"schema": 1, "run": run.to_json(), "series": series, "devices": readings, "energy_wh": energy}

    def _curves(self, identifier: str, most: int | None) -> list[dict[str, Any]]:
        series = self.folders.metrics(identifier)
        for one in series:
            points = thinned([point for point in one["points"] if point[0] is not None], most)
            one["points"] = [[time_text(point[0]), *point[1:]] for point in points]
        return series

    async def _readings_of(self, run: Run) -> dict[str, Any]:
        devices: dict[str, Any] = {}
        if run.started is not None:
            since = time_seconds(run.started)
            until = time.time() if run.ended is None else time_seconds(run.ended)
            for key in run.devices:
                found = await asyncio.to_thread(self.history.samples, key, since, until)
                devices[key] = {
                    name: [[time_text(point[0]), point[1]] for point in points] for name, points in found.items()
                }
        return devices

    async def _tell_devices(self) -> None:
        subscription = self.sampler.subscribe(watch=False)
        try:
            while await subscription.wait():
                self.hub.sample("devices", lambda: dump(self.picture().to_json()))
        finally:
            subscription.close()

    def spawn(self, work: Coroutine[Any, Any, Any], what: str) -> None:
        """Run a task of the supervisor's own; its fault is reported and ends nothing else."""
        task = asyncio.get_running_loop().create_task(work, name=what)
        self._tasks.add(task)

        def done(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.report(error, what)

        task.add_done_callback(done)

    def report(self, error: BaseException | None, what: str) -> None:
        if error is not None:
            write_report(self.state, error, what)
