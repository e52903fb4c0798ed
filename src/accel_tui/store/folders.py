"""The run folders of a state folder: made whole, read with suspicion, changed by one writer at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.diagnosis.table import shipped
from accel_tui.keeper.files import RESERVED, encode, overwrite, reserve, sync_directory, sync_file, write_json
from accel_tui.model.errors import NotPossibleError, RunNotFoundError
from accel_tui.model.plans import Plan
from accel_tui.model.runs import MOVES, Cause, Progress, Run, RunState
from accel_tui.model.times import time_text
from accel_tui.store import events
from accel_tui.store.documents import SCHEMA, DamagedError, read_document, read_record, same
from accel_tui.store.identifiers import is_id, new_id
from accel_tui.store.making import ARTEFACTS, Fresh, first_state, make, make_artefacts, remove_artefacts
from accel_tui.store.reading import begun, held, last_change, read_run
from accel_tui.store.silence import silence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from accel_tui.diagnosis.table import Entry

_TEMPORARY = re.compile(r"\.(?:new|removed)-")
_LOCK_TRIES, _LOCK_PAUSE = 20, 0.005
"""A keeper holds its run's lock for good, whoever probes it for a moment."""


class RunFolders:
    """All runs below one folder. It keeps nothing in memory, so any number of readers may look at the same folder."""

    def __init__(
        self, root: Path, artefacts_root: str | None = None, known: Callable[[], Sequence[Entry]] | None = None
    ) -> None:
        """`root` is the state folder's `runs`; it is made, closed to others, by the first `create`.

        With `artefacts_root`, the results of new runs go there. `known` gives the failures that are recognised; without
        it those that come with the product are.
        """
        self._known = known
        self.root = root.absolute()
        self._artefacts_root = artefacts_root

    # Finding

    def new_id(self, wished: str | None = None) -> str:
        """An id that no run of this folder has; the one that is wished for where it is such a one."""
        identifier = wished if wished is not None and is_id(wished) else new_id()
        while os.path.lexists(self.path(identifier)):
            identifier = new_id()
        return identifier

    def path(self, identifier: str) -> Path:
        """The folder of a run, whether it exists or not.

        Raises:
            RunNotFoundError: the text is no id, so it must not become a path.
        """
        if not is_id(identifier):
            raise RunNotFoundError(f"{identifier!r} is not the id of a run", remedy="see: accel-tui runs --all")
        return self.root / identifier

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first; one look at the folder, however many there are."""
        try:
            with os.scandir(self.root) as entries:
                return sorted(entry.name for entry in entries if is_id(entry.name) and _is_own_folder(entry))
        except FileNotFoundError:
            return []

    # Reading

    def read_run(self, identifier: str) -> Run:
        """The run as its folder tells it now; a damaged one is told as such.

        Raises:
            RunNotFoundError: there is no such folder.
        """
        return read_run(self._existing(identifier), self._known)

    def has_record(self, identifier: str) -> bool:
        """Whether a record of the end stands there, even a damaged one: a quick look that opens one file."""
        try:
            return read_record(self.path(identifier) / "exit.json") is not None
        except DamagedError:
            return True

    def spec(self, identifier: str) -> dict[str, Any]:
        """`spec.json`. Raises RunNotFoundError, or NotPossibleError where it is damaged; so do the next four."""
        return self._document(identifier, "spec.json")

    def environment(self, identifier: str) -> dict[str, Any]:
        """`environment.json`."""
        return self._document(identifier, "environment.json")

    def plan(self, identifier: str) -> Plan:
        """`plan.json`; after the start, what really ran."""
        document = self._document(identifier, "plan.json")
        try:
            return Plan.from_json(document)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise _damaged(identifier, f"plan.json is no plan: {fault!r}") from fault

    def state(self, identifier: str) -> dict[str, Any]:
        """`state.json`."""
        return self._document(identifier, "state.json")

    def events(self, identifier: str, rank: int | None = None) -> Iterator[dict[str, Any]]:
        """Every event that the workers told, rank by rank, or of one rank."""
        return events.all_events(self._existing(identifier), rank)

    def silence(self, identifier: str, kind: str) -> str | None:
        """A remark on a run that goes on and has been silent for long, see `store.silence`."""
        return silence(self._existing(identifier), kind, (self._known or shipped)(), time.time())

    def progress(self, identifier: str) -> Progress:
        """How far the run is, from its newest events."""
        return events.progress_of(self._existing(identifier))

    def metrics(self, identifier: str) -> list[dict[str, Any]]:
        """The run's curves: the value of `series` in the `metrics` document, with times in seconds since the epoch."""
        return events.series_of(self._existing(identifier))

    # Writing

    def create(self, *args: Any, **options: Any) -> str:
        """Put a queued run on the disk: `begin` and the wait for the disk; its id. Raises as these two."""
        fresh = self.begin(*args, **options)
        try:
            fresh.settle()
        except OSError:
            self.discard(fresh.id)
            raise
        return fresh.id

    def begin(
        self,
        spec: Mapping[str, Any],
        environment: Mapping[str, Any],
        plan: Plan | Mapping[str, Any],
        worker: bytes | None = None,
        *,
        position: float | None = None,
        held: str | None = None,
        script: str | None = None,
    ) -> Fresh:
        """Make the folder of a queued run, the whole of it or nothing; the id is that of `spec`.

        It may start from now on; nobody may be told that it is queued before the returned one is settled.

        Args:
            worker: The worker archive, for kinds that use it.
            position: Its place in the queue, smaller is earlier; the time in seconds by default.
            held: The reason, for a run that is held from the start.
            script: `run.sh`, where it is known already what will run.

        Raises:
            FileExistsError: a run has this id.
            StateFolderError: there is no place for its artefacts.
            OSError: it could not be written; nothing is left of it.
        """
        identifier = str(spec["id"])
        target = self.path(identifier)
        if os.path.lexists(target):
            raise FileExistsError(f"{target} exists")
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        artefacts = None
        if self._artefacts_root is not None:
            artefacts = make_artefacts(self._artefacts_root, identifier)
            spec = {**spec, ARTEFACTS: str(artefacts)}
        files = {
            "spec.json": encode({"schema": SCHEMA, **spec}),
            "environment.json": encode({"schema": SCHEMA, **environment}),
            "plan.json": encode(plan.to_json() if isinstance(plan, Plan) else dict(plan)),
            "state.json": encode(first_state(str(spec["created"]), position, held)),
            "exit.json": RESERVED,  # from here on the end of the run can be recorded, however full the disk gets
        }
        if worker is not None:
            files["worker.pyz"] = worker
        if script is not None:
            files["run.sh"] = script.encode("utf-8", "surrogateescape")
        return make(self.root, identifier, files, artefacts)

    def write_script(self, identifier: str, text: str) -> None:
        """Write `run.sh`, executable by the owner: the same command without accel-tui."""
        path = self._existing(identifier) / "run.sh"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def sync_start(self, identifier: str) -> None:
        """Make durable what `write_start` wrote; called after the start."""
        folder = self._existing(identifier)
        for name in ("plan.json", "environment.json", "run.sh"):
            sync_file(folder / name)
        sync_directory(folder)

    def write_state(self, identifier: str, *, sync: bool = True, **fields: Any) -> dict[str, Any]:
        """Change fields of `state.json` and leave the others; returns the whole document.

        `sync=False` for what need not outlive a crash of the host, as a keeper writes it anew at once.

        Only the owner of the file calls it: the supervisor while the run is queued or preparing, then the keeper.

        Raises:
            NotPossibleError: the new state cannot follow the one that stands there, or the file is damaged.
        """
        document = self._changed_state(identifier, fields)
        write_json(self.path(identifier) / "state.json", document, sync=sync)
        return document

    def write_start(
        self,
        identifier: str,
        environment: Mapping[str, Any],
        plan: Plan,
        script: Callable[[], str],
        start: str | None = None,
    ) -> bool:
        """What is written when a run leaves the queue: state `preparing`, and what changed since the submit.

        `start` names this start: a keeper that was told of another one does not begin.

        Nobody has to wait for the disk: the keeper rewrites the state at once and durably, the rest is durable after
        `sync_start`. What a host loses that crashes in between is a run that was lost anyway.

        Returns:
            Whether anything but the state changed, so that `sync_start` has something to do.
        """
        state = self._changed_state(identifier, {"state": RunState.PREPARING, "held": None, "start": start})
        folder = self.path(identifier)
        documents = {"environment.json": {"schema": SCHEMA, **environment}, "plan.json": plan.to_json()}
        changed = not all(same(folder / name, document) for name, document in documents.items())
        if changed or not (folder / "run.sh").exists():
            changed = True
            self.write_script(identifier, script())
            for name, document in documents.items():
                write_json(folder / name, document, sync=False)
        write_json(folder / "state.json", state, sync=False)
        return changed

    def requeue(self, identifier: str, held: str | None = None) -> bool:
        """Put a run that left the queue back to it; False when a keeper has it after all.

        Decided under the run's lock, without which no keeper begins; one that comes late finds that its start is void.

        Raises:
            OSError: it cannot be written; then `preparing` stands there, which the next supervisor takes for queued.
        """
        with self._unkept(identifier) as free:
            document = self.state(identifier) if free else {}
            waits = document.get("state") in (RunState.QUEUED.value, RunState.PREPARING.value)
            if not waits and (not document or begun(self.path(identifier), document)):
                return False
            back = {**document, "state": RunState.QUEUED.value, "held": held, "start": None, "keeper": None}
            if back != document:
                write_json(self.path(identifier) / "state.json", back)
            return True

    def request_stop(
        self, identifier: str, now: bool = False, by: str = "user", cause: Cause = Cause.STOPPED_BY_USER
    ) -> None:
        """Record that the run is to be stopped; asking again changes nothing but may add `now`."""
        path = self._existing(identifier) / "stop.json"
        try:
            earlier = read_document(path)
        except (FileNotFoundError, DamagedError):
            earlier = {}
        if earlier and (earlier.get("now") is True or not now):
            return
        request = {"schema": SCHEMA, "now": now, "cause": cause.value, "requested": time_text(time.time()), "by": by}
        write_json(path, {**request, **earlier, "now": now})

    def has_keeper(self, identifier: str) -> bool:
        """Whether a keeper lives, whatever the run's files say of it."""
        return held(self.path(identifier) / "lock")

    def stop_cause(self, identifier: str) -> Cause | None:
        """Why the run is to be stopped; None while nobody asked for it."""
        path = self.path(identifier) / "stop.json"
        if not path.exists():
            return None
        try:
            limit = read_document(path).get("cause") == Cause.TIME_LIMIT.value
        except (FileNotFoundError, DamagedError):
            limit = False  # somebody asked; what exactly is lost
        return Cause.TIME_LIMIT if limit else Cause.STOPPED_BY_USER

    def stop_is_urgent(self, identifier: str) -> bool:
        """Whether the run is to be ended without being asked first."""
        try:
            return read_document(self.path(identifier) / "stop.json").get("now") is True
        except (FileNotFoundError, DamagedError):
            return False

    def finish(self, identifier: str, cause: Cause, message: str | None = None) -> Run:
        """Write the record of a run that has no keeper: stopped in the queue, refused, or left by its keeper.

        Returns:
            The run, finished. One that has its record already keeps it.
        """
        return self._record(identifier, cause, message, ended=time.time())

    def settle_lost(self, identifier: str) -> Run:
        """Write the record of a run whose keeper is gone, so that its end is decided once and for all.

        A run that still goes on, or has its record, or whose files are damaged, is returned as it is.
        """
        run = self.read_run(identifier)
        if run.cause not in (Cause.KEEPER_LOST, Cause.REBOOT):
            return run
        return self._record(identifier, run.cause, None, ended=last_change(self.path(identifier)))

    def remove(self, identifier: str) -> None:
        """Delete a finished run with all its files and artefacts; other links inside are removed, never followed.

        Raises:
            NotPossibleError: it is not finished.
        """
        folder = self._existing(identifier)
        state = read_run(folder).state
        if state is not RunState.FINISHED:
            raise NotPossibleError(
                f"run {identifier} is {state.value}", remedy=f"stop it first: accel-tui stop {identifier}"
            )
        self.discard(identifier)  # it is gone for every reader at once, however long the deletion takes

    def discard(self, identifier: str) -> None:
        """Delete a run that nobody was told of."""
        doomed = self.root / f".removed-{identifier}-{secrets.token_hex(4)}"
        self.path(identifier).rename(doomed)
        remove_artefacts(doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def clean(self) -> int:
        """Delete what a crash left half made or half removed; the supervisor calls it at its start, when it is alone.

        Returns:
            How many folders were deleted.
        """
        try:
            left = [Path(entry.path) for entry in os.scandir(self.root) if _TEMPORARY.match(entry.name)]
        except FileNotFoundError:
            return 0
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        return len(left)

    # Within

    def _changed_state(self, identifier: str, fields: dict[str, Any]) -> dict[str, Any]:
        document = self.state(identifier)
        if "state" in fields:
            fields = {**fields, "state": RunState(fields["state"]).value}
            _refuse_illegal_move(identifier, document.get("state"), fields["state"])
            if fields["state"] == RunState.PREPARING.value:
                fields["times"] = {"preparing": time_text(time.time())}
        return {**document, **fields}

    def _existing(self, identifier: str) -> Path:
        folder = self.path(identifier)
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(folder).st_mode):
                return folder
        raise RunNotFoundError(f"there is no run {identifier}", remedy="see: accel-tui runs --all")

    def _document(self, identifier: str, name: str) -> dict[str, Any]:
        try:
            return read_document(self._existing(identifier) / name)
        except FileNotFoundError as fault:
            raise _damaged(identifier, f"{name} is missing") from fault
        except DamagedError as fault:
            raise _damaged(identifier, str(fault)) from fault

    @contextlib.contextmanager
    def _unkept(self, identifier: str) -> Iterator[bool]:
        """Hold the run's lock, as a keeper does, if nobody else holds it; whether that is so."""
        path = self._existing(identifier) / "lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            yield any(_locks(descriptor) for _ in range(_LOCK_TRIES))
        finally:
            os.close(descriptor)

    def _record(self, identifier: str, cause: Cause, message: str | None, ended: float) -> Run:
        before = self.read_run(identifier)
        path = self.path(identifier) / "exit.json"
        if before.state is RunState.FINISHED and (before.cause is Cause.RECORD_DAMAGED or read_record(path)):
            return before
        if before.state not in (RunState.QUEUED, RunState.PREPARING, RunState.FINISHED):
            raise NotPossibleError(f"run {identifier} is {before.state.value}: its keeper writes the record")
        record = {
            "schema": SCHEMA, "exit_code": None, "signal": None, "cause": cause.value,
            "stopped": cause is Cause.STOPPED_BY_USER, "started": before.started, "ended": time_text(ended),
            "cpu_seconds": None, "max_rss_bytes": None, "message": message,
        }  # fmt: skip
        with self._unkept(identifier) as free:
            if not free:
                raise NotPossibleError(f"run {identifier} has a keeper, which writes the record")
            if not read_record(path):  # a keeper may have come and gone since the first look
                descriptor = reserve(path)
                try:
                    overwrite(descriptor, record)
                finally:
                    os.close(descriptor)
        return self.read_run(identifier)


def _locks(descriptor: int) -> bool:
    """Whether the lock was taken; else after a pause, as somebody may only have been probing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_LOCK_PAUSE)
        return False
    return True


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _refuse_illegal_move(identifier: str, before: object, after: str) -> None:
    try:
        state = RunState(before)
    except ValueError:
        raise _damaged(identifier, f"state.json: unknown state {before!r}") from None
    if after != state.value and RunState(after) not in MOVES[state]:
        raise NotPossibleError(f"run {identifier} is {state.value}; it cannot become {after}")


def _damaged(identifier: str, reason: str) -> NotPossibleError:
    return NotPossibleError(f"run {identifier}: its record is damaged: {reason}", remedy="accel-tui doctor names it")
