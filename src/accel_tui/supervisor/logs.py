"""The size of logs: a cap for each that grows, warnings before a disk is full, old ones compressed and removed.

Nothing here may touch a job: what fails is written to the supervisor's log, and tried again. A supervisor that is gone
caps nothing meanwhile; the next one goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.logs.packed import SUFFIX, pack
from accel_tui.logs.upkeep import CAP_NOTE, DISK_NOTE, DISK_QUESTION, NotReleasableError, release, used_share
from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds
from accel_tui.protocol.messages import read_object
from accel_tui.store.kept import kept
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
OLD_SECONDS = 3600.0
"""How often old logs are looked for."""
WARN_SHARE, ASK_SHARE = 0.90, 0.95
"""From so full on the runs that write there carry a note, and the question whether to stop the one that fills it."""
_DAY = 86400.0


class LogUpkeep:
    """Looks at the logs of live runs every few seconds, and now and then at old ones."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sizes: dict[str, tuple[float, int]] = {}
        """When a log was looked at last, and how long it was."""
        self._rates: dict[str, float] = {}
        self._cannot: set[str] = set()
        """Runs whose file system cannot give a part of a file back."""

    async def poll(self) -> None:
        """Go on until cancelled."""
        old_due = 0.0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
                if time.monotonic() >= old_due:
                    old_due = time.monotonic() + OLD_SECONDS
                    await self.tend_old(time.time())
            except OSError as error:
                log.warning("looking after logs: %s", error)

    async def look(self) -> None:
        """Cap what is too long, and say on every live run how full its disk is."""
        going = (RunState.RUNNING, RunState.STOPPING)
        live = [entry for entry in self._service.book.occupying() if entry.state in going]
        share = await asyncio.to_thread(used_share, self._service.state)
        for entry in live:
            await asyncio.to_thread(self._measure, entry)
            released = await asyncio.to_thread(self._cap, entry)
            if released:
                log.info("run %s: %d bytes of its log were given back to the disk", entry.id, released)
        self._say(live, share)
        here = {entry.id for entry in live}
        self._cannot &= here
        for known in (self._sizes, self._rates):
            for gone in known.keys() - here:
                del known[gone]

    def _measure(self, entry: Entry) -> None:
        try:
            size = (Path(entry.run.folder) / "log").stat().st_size
        except OSError:
            return
        now = time.monotonic()
        before = self._sizes.get(entry.id)
        self._sizes[entry.id] = (now, size)
        if before is not None and now > before[0]:
            self._rates[entry.id] = max(0.0, (size - before[1]) / (now - before[0]))

    def _cap(self, entry: Entry) -> int:
        """Give the middle of a log that is longer than it may be back; how many bytes that were."""
        most = self._service.settings.log_cap_bytes
        if not most or entry.id in self._cannot:
            return 0
        try:
            return release(Path(entry.run.folder) / "log", most)
        except NotReleasableError:
            self._cannot.add(entry.id)
        except FileNotFoundError:
            return 0
        except OSError as error:
            log.warning("capping the log of run %s: %s", entry.id, error)
        return 0

    def _say(self, live: list[Entry], share: float | None) -> None:
        """Put the note on every live run, or take it away."""
        fastest = max(live, key=lambda entry: self._rates.get(entry.id, 0.0), default=None)
        for entry in live:
            said = [note for note in (self._uncapped(entry), self._words(entry, share, fills=entry is fastest)) if note]
            before = entry.run.notes
            others = [note for note in before if not note.startswith((DISK_NOTE, CAP_NOTE))]
            notes = (*others, *said)
            if notes != before:
                self._service.book.update(entry, notes=notes)
                for note in said:
                    if note not in before:
                        self._note(f"{entry.run.name}: {note}")

    def _uncapped(self, entry: Entry) -> str | None:
        """What is said once its log is longer than it may be and nothing of it can be given back."""
        if entry.id not in self._cannot:
            return None
        return f"{CAP_NOTE}: its file system gives no part of a file back, so it goes on growing"

    def _words(self, entry: Entry, share: float | None, *, fills: bool) -> str | None:
        if share is None or share < WARN_SHARE:
            return None
        full = f"{DISK_NOTE}{int(100 * share)} % full"
        if share < ASK_SHARE or not fills or not self._rates.get(entry.id):
            return full
        return f"{full}{DISK_QUESTION}: free space, or stop the run (accel-tui stop {entry.id})"

    def _note(self, message: str) -> None:
        log.warning("%s", message)
        self._service.hub.fact("notice", lambda: json.dumps({"message": sanitise(message)}))

    async def tend_old(self, now: float) -> None:
        """Compress and remove logs of runs that ended long enough ago, one at a time."""
        settings = self._service.settings
        if not settings.log_compress_days and not settings.log_remove_days:
            return
        for _, identifier, text in await asyncio.to_thread(self._past):
            if identifier in self._service.book.live:
                continue
            run = Run.from_json(read_object(text.encode()))
            await asyncio.to_thread(self._tend, run, now)

    def _past(self) -> list[tuple[str, str, str]]:
        return list(self._service.book.index.documents(since=None, state=None, name=None))

    def _tend(self, run: Run, now: float) -> None:
        settings = self._service.settings
        if run.ended is None:
            return
        days = (now - time_seconds(run.ended)) / _DAY
        path = Path(run.folder) / "log"
        try:
            if settings.log_remove_days and days > settings.log_remove_days:
                path.unlink(missing_ok=True)
                path.with_name(path.name + SUFFIX).unlink(missing_ok=True)
            elif settings.log_compress_days and days > settings.log_compress_days and _may_be_packed(run, path):
                pack(path)
        except OSError as error:
            log.warning("the old log of run %s: %s", run.id, error)


def _may_be_packed(run: Run, path: Path) -> bool:
    """A log that is worth it, and that nobody reads for a diagnosis any more."""
    understood = run.diagnosis is None or kept(path.parent) is not None
    return understood and path.is_file() and not path.is_symlink() and path.stat().st_size > _LEAST_BYTES


_LEAST_BYTES = 64 * 1024
