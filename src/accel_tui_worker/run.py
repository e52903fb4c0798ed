"""One rank of a run: from its first event to its `result` and exit code."""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accel_tui_worker import output, stopping
from accel_tui_worker.errors import InvalidJobError, WorkerError
from accel_tui_worker.events import EventLog
from accel_tui_worker.facts import versions
from accel_tui_worker.job import Job, read_job

TRACEBACK_LINES = 40
"""How much of a traceback an `error` event carries: its tail, where the reason is."""


@dataclass(frozen=True)
class Context:
    """What a job kind gets to work with."""

    job: Job
    device: str
    """Torch device that was asked for, such as `cpu` or `xpu`."""
    rank: int
    world: int
    artefacts: Path
    events: EventLog
    stop: stopping.Stop


class StoppedError(Exception):
    """The work was given up because of a signal; its `result` is not ok."""

    def __init__(self, **figures: Any) -> None:
        super().__init__("stopped by a signal")
        self.figures = figures


def run(folder: Path, device: str) -> int:
    """Run the job of `folder` as the rank that the environment names, and return the exit code.

    0 done, or stopped with everything saved; 143 stopped before; 3 the owner can put it right; 1 anything else.
    """
    output.forgive_full_disk()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    events = EventLog(folder / "events", rank)
    stop = stopping.Stop(events)
    stop.install()
    error: BaseException
    try:
        job = _start(folder, events, world)
        if stopping.under_launcher(job.launcher):
            stopping.watch_launcher(events)
        context = Context(job, device, rank, world, folder.absolute() / "artefacts", events, stop)
        events.finish(ok=True, **_work(context))
    except StoppedError as stopped:
        events.finish(ok=False, stopped=True, **stopped.figures)
        return 143
    except Exception as failure:  # the process border: whatever went wrong becomes an event
        error = failure
    else:
        if world > 1:
            stopping.leave_well(0)
        return 0
    code = _fail(events, error)
    if world > 1:
        stopping.leave(code)  # tearing the process group down would wait for ranks that wait for this one
    return code


def _start(folder: Path, events: EventLog, world: int) -> Job:
    """Write the first event, whatever is wrong with the job, and return the job."""
    start = {"pid": os.getpid(), "start_time": start_time(), "world": world, "versions": versions()}
    try:
        job = read_job(folder)
    except WorkerError:
        events.emit("start", kind=None, **start)
        raise
    events.emit("start", kind=job.kind, **start)
    return job


def _work(context: Context) -> dict[str, Any]:
    if context.job.kind == "generate":
        from accel_tui_worker.generate import generate

        return generate(context)
    if context.job.kind == "train":
        from accel_tui_worker.train import train

        return train(context)
    raise InvalidJobError(f"kind {context.job.kind!r} cannot be run")


def _fail(events: EventLog, error: BaseException) -> int:
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    expected = isinstance(error, WorkerError)
    events.emit(
        "error",
        type=type(error).__name__,
        message=str(error) or repr(error),
        traceback=None if expected else "\n".join(lines[-TRACEBACK_LINES:]),
    )
    events.finish(ok=False, stopped=False)
    _tell_launcher(error)
    print(f"accel-tui worker: {type(error).__name__}: {error}" if expected else "\n".join(lines), file=sys.stderr)
    return 3 if expected else 1


def _tell_launcher(error: BaseException) -> None:
    """Write the error where torchrun looks for the traceback of a failed rank."""
    if "TORCHELASTIC_ERROR_FILE" not in os.environ:
        return
    from torch.distributed.elastic.multiprocessing.errors import record

    def again() -> None:
        raise error

    try:
        record(again)()
    except BaseException as same:
        if same is not error:
            raise


def start_time() -> int | None:
    """Field 22 of `/proc/self/stat`, which with the pid names this process for good; None without a /proc."""
    try:
        stat = Path("/proc/self/stat").read_text("ascii", "replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])
