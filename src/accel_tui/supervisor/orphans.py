"""Ending a run whose keeper was killed: the keeper's order of stopping, by tag and pidfd."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper import processes

if TYPE_CHECKING:
    from accel_tui.config.settings import Settings
    from accel_tui.supervisor.book import Entry

_POLL_SECONDS = 0.1


async def stop(entry: Entry, settings: Settings, *, now: bool) -> None:
    """End every process with the run's tag: save, SIGTERM to all, SIGKILL until none is left."""
    if not now:
        first = await asyncio.to_thread(_first, entry)
        worker = (Path(entry.run.folder) / "worker.pyz").exists()
        if first is not None and processes.signal_exact(*first, signal.SIGTERM):
            await _gone(entry.id, settings.save_seconds if worker else settings.grace_seconds)
        for pid, start in await asyncio.to_thread(processes.tagged, entry.id):
            processes.signal_exact(pid, start, signal.SIGTERM)
        await _gone(entry.id, settings.grace_seconds)
    while left := await asyncio.to_thread(processes.tagged, entry.id):
        for pid, start in left:
            processes.signal_exact(pid, start, signal.SIGKILL)
        await asyncio.sleep(_POLL_SECONDS)


async def _gone(tag: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not await asyncio.to_thread(processes.tagged, tag):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _first(entry: Entry) -> tuple[int, int] | None:
    """Rank 0's worker where there is one, else the main process, else any process of the run."""
    folder = Path(entry.run.folder)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        with (folder / "events" / "rank-0.jsonl").open(encoding="utf-8") as events:
            event = json.loads(events.readline())
        pair = (int(event["pid"]), int(event["start_time"]))
        if processes.alive(*pair):
            return pair
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        state = json.loads((folder / "state.json").read_bytes())
        pair = (int(state["main"][0]), int(state["main"][1]))
        if processes.alive(*pair):
            return pair
    return next(iter(processes.tagged(entry.id)), None)
