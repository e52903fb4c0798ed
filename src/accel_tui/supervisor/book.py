"""The runs that this supervisor knows: live ones in memory, finished ones in the index."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import heapq
import itertools
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import RunNotFoundError, UsageError
from accel_tui.model.runs import Run, RunState
from accel_tui.model.secrets import MASK
from accel_tui.model.times import time_text
from accel_tui.protocol.messages import dump
from accel_tui.store.identifiers import created_seconds
from accel_tui.supervisor.index import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from accel_tui.model.plans import Plan
    from accel_tui.supervisor.hub import Hub
    from accel_tui.supervisor.index import Index
    from accel_tui.supervisor.queue import Waiting

RECENT_SECONDS = 7 * 24 * 3600.0
"""How far back a listing goes that does not ask for all."""

READY_SECONDS = 8.0
"""How long a request waits for folders to be read; a client gives up after 10 s of silence."""

LIVE = frozenset({RunState.PREPARING, RunState.STARTING, RunState.RUNNING, RunState.STOPPING})
"""States in which a run occupies its devices."""


@dataclass(eq=False)
class Entry:
    """A run that is not finished, with what is needed to start it."""

    run: Run
    spec: Mapping[str, Any]
    position: float
    priority: int
    after: tuple[tuple[str, str], ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)
    """What of the base environment limits the choice of cards, see `jobs.environment.limits`."""
    secret_names: tuple[str, ...] = ()
    secrets: dict[str, str] = field(default_factory=dict)
    """In memory alone."""
    secret_arguments: tuple[str, ...] = ()
    """Masked in the specification; in memory alone."""
    held: str | None = None
    waiting_for: str | None = None
    cards: frozenset[str] = frozenset()
    """Lockable cards that it occupies."""
    slots: int = 0
    failed_starts: int = 0
    """How often no keeper answered."""
    answered: bool = False
    """A question that arose after the submit was answered by a release."""
    stop_unwritten: bool = False
    """A stop was asked for that could not be written down."""
    wants: Waiting | None = None
    """What the queue was told last; None when that must be made anew."""
    planned: tuple[float, Plan] | None = None
    """The plan of the submit and when it was made (monotonic): good for a start that follows at once."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def job(self) -> Mapping[str, Any]:
        """The job's fields as they are stored."""
        job: Mapping[str, Any] = self.spec["job"]
        return job

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def state(self) -> RunState:
        return self.run.state

    def lacks(self) -> str | None:
        """What died with an earlier supervisor and is needed to start, as the reason of a hold; None when nothing."""
        missing = [name for name in self.secret_names if name not in self.secrets]
        if missing:
            return f"needs {', '.join(missing)}"
        command = self.job.get("command")
        masked = isinstance(command, dict) and command["argv"].count(MASK)
        if masked and not self.secret_arguments:
            return "needs its secret arguments; submit it again"
        return None

    def leave_devices(self) -> None:
        """Back in the queue, it occupies nothing."""
        self.cards, self.slots, self.wants = frozenset(), 0, None

    def picture(self) -> Run:
        """The run as faces show it."""
        queued = self.state is RunState.QUEUED
        return dataclasses.replace(
            self.run,
            held=self.held if queued else None,
            waiting_for=self.waiting_for if queued else None,
            priority=self.priority,
        )

    def document(self) -> str:
        return dump(self.picture().to_json())


class Book:
    """Looks runs up and tells the hub of every change; used from the event loop alone, but for `listing`."""

    def __init__(self, index: Index, hub: Hub) -> None:
        self.index = index
        self.hub = hub
        self.live: dict[str, Entry] = {}
        self.succeeded_by: dict[str, str] = {}
        """A finished run to the run that retries it by itself."""
        self.read_past: Callable[[str], Run] | None = None
        """Reads a run of `unread` from its folder; set by whoever has the folders."""
        self.unread: dict[str, None] = {}
        """Ended runs that are not in the index yet, newest first."""
        self._ready = asyncio.Event()
        self._progress = asyncio.Event()
        """Set with the next progress of the reading, and then another one."""

    # Changes.

    def add(self, entry: Entry) -> None:
        self.live[entry.id] = entry
        self.index.put([entry.run])
        self.tell(entry)

    def update(self, entry: Entry, run: Run | None = None, **changes: Any) -> None:
        """Replace the run, or fields of it, and tell."""
        entry.run = dataclasses.replace(entry.run if run is None else run, **changes)
        self.tell(entry)

    def finish(self, entry: Entry, run: Run) -> None:
        """File a run that is over."""
        entry.run = run
        entry.secrets, entry.secret_arguments = {}, ()
        self.index.put([run])
        self.live.pop(run.id, None)
        self.hub.fact("run", entry.document)
        entry.finished.set()

    def tell(self, entry: Entry) -> None:
        self.hub.fact("run", entry.document)

    def forget(self, identifier: str) -> None:
        """A run's folder was removed."""
        self.unread.pop(identifier, None)
        entry = self.live.pop(identifier, None)
        if entry is not None:
            entry.secrets, entry.secret_arguments = {}, ()
            entry.finished.set()
        self.index.discard([identifier])
        self.hub.fact("removed", lambda: dump({"id": identifier}))

    # Finding.

    async def ready(self, *refs: str) -> None:
        """Wait until every live run is known, and enough of the past to tell what `refs` mean.

        After some seconds it goes on with what is known.
        """
        end = time.monotonic() + READY_SECONDS
        await self._until(self._ready.is_set, end)
        for ref in refs:
            await self._until(functools.partial(self._is_certain, ref), end)

    async def ready_since(self, seconds: float | None) -> None:
        """Wait until every run that was created after `seconds` (since the epoch; None: ever) is known."""
        end = time.monotonic() + READY_SECONDS
        await self._until(self._ready.is_set, end)
        await self._until(lambda: not self.unread or self._newest_unread() < (seconds or 0.0), end)

    async def _until(self, condition: Callable[[], bool], end: float) -> None:
        while not condition():
            try:
                await asyncio.wait_for(self._progress.wait(), max(0.0, end - time.monotonic()))
            except asyncio.TimeoutError:
                return

    def _newest_unread(self) -> float:
        return created_seconds(next(iter(self.unread))) or 0.0

    def _is_certain(self, ref: str) -> bool:
        """Whether nothing that is still unread could change what `ref` means: it is read from the newest on."""
        if not self.unread or ref == "last" or self._exact(ref):
            return True
        found = self._newest_of(ref)
        return found is not None and found[1] > next(iter(self.unread))

    def set_ready(self, unread: Iterable[str] = ()) -> None:
        """Every live run is known; `unread` are the ended ones that are not, newest first."""
        self.unread = dict.fromkeys(unread)
        self._ready.set()
        self._tell_progress()

    def file_past(self, ids: Iterable[str], runs: Iterable[Run]) -> None:
        """Some of `unread` were read; one that was removed meanwhile is left out."""
        self.index.put([run for run in runs if run.id in self.unread])
        for identifier in ids:
            self.unread.pop(identifier, None)
        self._tell_progress()

    def _tell_progress(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    def queued(self) -> list[Entry]:
        return [entry for entry in self.live.values() if entry.state is RunState.QUEUED]

    def occupying(self) -> list[Entry]:
        return [entry for entry in self.live.values() if entry.state in LIVE]

    def find(self, ref: str) -> str:
        """The id that `ref` means: exact id, exact name (the newest), unique prefix of 4 or more, or `last`.

        Raises:
            RunNotFoundError: nothing fits.
            UsageError: several ids begin with it.
        """
        if self._exact(ref):
            return ref
        newest = self._newest_of(ref)
        if newest is not None:
            return newest[1]
        if len(ref) >= 4 and re.fullmatch(r"[0-9A-Za-z-]+", ref):
            fitting = [one for one in (*self.live, *self.unread) if one.startswith(ref)] + self.index.with_prefix(ref)
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                some = ", ".join(sorted(fitting, reverse=True)[:20])
                raise UsageError(f"{ref!r} fits {len(fitting)} runs: {some}", remedy="write more of the id")
        raise RunNotFoundError(f"no run {ref[:200]!r}", remedy="`accel-tui runs --all` lists them")

    def _exact(self, ref: str) -> bool:
        return ref in self.live or ref in self.unread or self.index.get(ref) is not None

    def _newest_of(self, name: str) -> tuple[str, str] | None:
        """`(created, id)` of the newest run of that name, or of all with `last`."""
        named = [(e.run.created, e.id) for e in self.live.values() if name in (e.run.name, "last")]
        past = self.index.newest() if name == "last" else self.index.named(name)
        if past is not None:
            named.append(past)
        unread = self._past(next(iter(self.unread))) if name == "last" and self.unread else None
        if unread is not None:
            named.append((unread.created, unread.id))
        return max(named, default=None)

    def get(self, ref: str) -> Entry | Run:
        """The live entry, or the finished run. Raises as `find`."""
        identifier = self.find(ref)
        entry = self.live.get(identifier)
        if entry is not None:
            return entry
        run = self._past(identifier)
        if run is None:
            raise RunNotFoundError(f"no run {ref[:200]!r}")
        return run

    def run(self, ref: str) -> Run:
        found = self.get(ref)
        return found.picture() if isinstance(found, Entry) else found

    def known(self, identifier: str) -> Run | None:
        """The run of an exact id."""
        entry = self.live.get(identifier)
        return entry.run if entry is not None else self._past(identifier)

    def _past(self, identifier: str) -> Run | None:
        if identifier in self.unread and self.read_past is not None:
            with contextlib.suppress(RunNotFoundError):
                return self.read_past(identifier)
        return self.index.get(identifier)

    def live_documents(self, state: str | None, name: re.Pattern[str] | None) -> list[tuple[str, str, str]]:
        """`(created, id, JSON text)` of live runs."""
        return [
            (entry.run.created, entry.id, entry.document())
            for entry in self.live.values()
            if (state is None or entry.state.value == state) and (name is None or name.search(entry.run.name))
        ]

    def listing(
        self,
        live: list[tuple[str, str, str]],
        *,
        everything: bool,
        state: str | None,
        name: re.Pattern[str] | None,
        limit: int | None,
    ) -> Iterator[str]:
        """The document of `runs` as JSON text in parts, newest first; may be consumed in other threads.

        Where ended runs are still being read after a first start, `unread` says how many are not among them yet.
        """
        since = None if everything else time_text(time.time() - RECENT_SECONDS)
        ids = {row[1] for row in live}  # one that ends while this is read would stand there twice
        past = (row for row in self.index.documents(since=since, state=state, name=name) if row[1] not in ids)
        rows = heapq.merge(sorted(live, reverse=True), past, reverse=True)
        texts = itertools.islice((row[2] for row in rows), limit)
        yield '{"schema":1,"runs":['
        comma = ""
        while part := ",".join(itertools.islice(texts, PAGE)):
            yield comma + part
            comma = ","
        yield f'],"unread":{len(self.unread)}}}' if self.unread else "]}"
