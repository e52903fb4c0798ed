"""Running the worker in tests: in this process for options, as a real process for seams."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from accel_tui_worker.events import EventLog
from accel_tui_worker.job import read_job
from accel_tui_worker.run import Context
from accel_tui_worker.stopping import Stop
from support.waiting import wait_for

Events = list[dict[str, Any]]
MakeJob = Callable[..., dict[str, Any]]
"""Makes a job for the tiny model; see the fixtures of `tests/worker`."""


def make_run(folder: Path, job: dict[str, Any]) -> Path:
    """A run folder with the job in its `spec.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text(json.dumps({"schema": 1, "job": job}), "utf-8")
    return folder


def context(folder: Path, job: dict[str, Any], *, world: int = 1, device: str = "cpu") -> Context:
    """What `run` gives to a job kind, for a call in this process: no signals are taken over."""
    make_run(folder, job)
    events = EventLog(folder / "events", 0)
    return Context(read_job(folder), device, 0, world, folder / "artefacts", events, Stop(events))


def events(folder: Path, rank: int = 0) -> Events:
    """The whole lines of a rank's event file so far."""
    path = folder / "events" / f"rank-{rank}.jsonl"
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def of(kind: str, folder: Path, rank: int = 0) -> Events:
    """The events of one kind."""
    return [event for event in events(folder, rank) if event["event"] == kind]


def losses(folder: Path) -> dict[int, float]:
    """The logged training losses by step."""
    return {event["step"]: event["loss"] for event in of("log", folder) if "loss" in event}


class WorkerProcess:
    """A worker, or a launcher with its workers, as a process of its own."""

    def __init__(
        self,
        python: str,
        folder: Path,
        *,
        ranks: int = 0,
        path: Path | None = None,
        wrap: Any = (),
        device: str = "cpu",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`ranks` 0 runs the worker alone, more go through torchrun; `path` stands for PYTHONPATH."""
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks else []
        argv = [*wrap, python, *launcher, "-m", "accel_tui_worker", "run", "--folder", str(folder), "--device", device]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", **(environment or {})}
        if path is not None:
            environment["PYTHONPATH"] = str(path)
        self.folder = folder
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder
            )

    def wait_for_event(self, kind: str, rank: int = 0, **fields: Any) -> dict[str, Any]:
        """The first event of the kind whose fields are as given; fails with the log when the process ends before."""

        def look() -> dict[str, Any] | None:
            running = self.process.poll() is None
            found = [event for event in of(kind, self.folder, rank) if fields.items() <= event.items()]
            assert found or running, f"ended without {kind} {fields}:\n{self.log()}"
            return found[0] if found else None

        found = wait_for(look, seconds=90, what=f"event {kind} {fields}")
        assert found is not None
        return found

    def signal(self, number: signal.Signals, rank: int = 0) -> None:
        """Signal the worker of a rank, as the keeper does: by the pid of its first event."""
        os.kill(of("start", self.folder, rank)[0]["pid"], number)

    def end(self, seconds: float = 90) -> int:
        """Wait for the end and return the exit code."""
        return self.process.wait(seconds)

    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")
