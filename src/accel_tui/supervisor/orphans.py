"""Ending a run whose keeper was killed: the keeper's order of stopping, by tag and pidfd."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.keeper import processes
from accel_tui.keeper.stop import saving_worker
from accel_tui.store.documents import DamagedError, read_document
from accel_tui.store.reading import left_over, process_of

if TYPE_CHECKING:
    from accel_tui.config.settings import Settings
    from accel_tui.supervisor.book import Entry

_POLL_SECONDS = 0.1


async def stop(entry: Entry, settings: Settings, *, now: bool) -> None:
    """End everything that is left of the run: save, SIGTERM to all, SIGKILL until none is left."""
    if not now:
        first = await asyncio.to_thread(_first, entry)
        worker = (Path(entry.run.folder) / "worker.pyz").exists()
        if first is not None and processes.signal_exact(*first, signal.SIGTERM):
            # The ranks of a launcher save together: all of them have that time. Others have none to wait for.
            await (_gone(entry, settings.save_seconds) if worker else _gone(entry, settings.grace_seconds, first))
        for pid, start in await asyncio.to_thread(_left, entry):
            processes.signal_exact(pid, start, signal.SIGTERM)
            processes.signal_exact(pid, start, signal.SIGCONT)  # a halted process would not see the first
        await _gone(entry, settings.grace_seconds)
    while left := await asyncio.to_thread(_left, entry):
        for pid, start in left:
            processes.signal_exact(pid, start, signal.SIGKILL)
        await asyncio.sleep(_POLL_SECONDS)


def _left(entry: Entry) -> list[tuple[int, int]]:
    return left_over(Path(entry.run.folder), _state(entry))


def _state(entry: Entry) -> dict[str, Any]:
    try:
        return read_document(Path(entry.run.folder) / "state.json")
    except (OSError, DamagedError):
        return {}


async def _gone(entry: Entry, seconds: float, first: tuple[int, int] | None = None) -> None:
    """Wait until `first`, or everything, is gone; at most `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not (processes.alive(*first) if first is not None else await asyncio.to_thread(_left, entry)):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _first(entry: Entry) -> tuple[int, int] | None:
    """Rank 0's worker where there is one, else the main process, else any process of the run."""
    folder = Path(entry.run.folder)
    for pair in (saving_worker(str(folder / "events")), process_of(_state(entry), "main")):
        if pair is not None and processes.alive(*pair):
            return pair
    return next(iter(_left(entry)), None)
