"""A run folder with a real keeper, made by hand as the supervisor would make it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from accel_tui.executors.local import Keepers
from accel_tui.keeper import files, locks, processes
from support.waiting import wait_for

PYTHON = sys.executable
_numbers = itertools.count()


class KeptRun:
    """One run folder in state `preparing`, and what becomes of it."""

    def __init__(
        self,
        root: Path,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        ports: Sequence[int] = (),
        nursery: bool = True,
    ) -> None:
        """`nursery` False: its keeper is an interpreter of its own, as where no nursery can be had."""
        self.nursery = nursery
        self.tag = f"20260101-{os.getpid() % 1000000:06d}-{next(_numbers):04d}"
        self.root = root
        self.folder = root / "runs" / self.tag
        (self.folder / "events").mkdir(parents=True)
        run = {"PATH": os.environ["PATH"]} if environment is None else dict(environment)
        plan = {"schema": 1, "argv": list(argv), "cwd": str(cwd or root), "ports": list(ports)}
        files.write_json(self.folder / "plan.json", plan)
        files.write_json(self.folder / "environment.json", {"schema": 1, "base": {}, "secret_names": [], "run": run})
        files.write_json(
            self.folder / "state.json", {"schema": 1, "state": "preparing", "created": "then", "held": None}
        )

    def change_argument(self, old: str, new: str) -> None:
        """Put something into the plan that is known only now, such as the folder."""
        plan = files.read_json(self.folder / "plan.json")
        plan["argv"] = [new if word == old else word for word in plan["argv"]]
        files.write_json(self.folder / "plan.json", plan)

    def instruction(self, **changes: Any) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "secrets": {},
            "secret_arguments": {},
            "locks": [],
            "grace_seconds": 1,
            "save_seconds": 30,
            "linger_seconds": 1,
            "time_limit": None,
            "runs": str(self.folder.parent),
            "supervisor_lock": str(self.root / "supervisor.lock"),
            "revive": [],
            "tag": self.tag,
            "worker": False,
            **changes,
        }

    def start(self, **changes: Any) -> dict[str, Any]:
        """Start a keeper with the instruction; its answer."""

        async def ask() -> dict[str, Any]:
            keepers = Keepers(nursery=self.nursery, prefix=())
            try:
                return await keepers.start(self.instruction(**changes))
            finally:
                await keepers.close()

        return asyncio.run(ask())

    def state(self) -> dict[str, Any]:
        document: dict[str, Any] = files.read_json(self.folder / "state.json")
        return document

    def record(self) -> dict[str, Any] | None:
        return files.read_record(self.folder / "exit.json")

    def ended(self) -> dict[str, Any]:
        """The record, once there is one and the keeper is gone."""
        record = wait_for(self.record, what=f"the record of {self.tag}")
        wait_for(lambda: not locks.held(str(self.folder / "lock")), what="the end of the keeper")
        assert record is not None
        return record

    def log(self) -> bytes:
        path = self.folder / "log"
        return path.read_bytes() if path.exists() else b""

    def wait_log(self, wanted: bytes) -> None:
        wait_for(lambda: wanted in self.log(), what=f"{wanted!r} in the log")

    def keeper(self) -> tuple[int, int]:
        pid, start = self.state()["keeper"]
        return pid, start

    def stop(self, *, now: bool = False, cause: str = "stopped-by-user") -> None:
        request = {"schema": 1, "now": now, "cause": cause, "requested": "then", "by": "test"}
        files.write_json(self.folder / "stop.json", request)
        processes.signal_exact(*self.keeper(), signal.SIGUSR1)

    def kill_keeper(self) -> None:
        keeper = self.keeper()
        assert processes.signal_exact(*keeper, signal.SIGKILL)
        wait_for(lambda: not processes.alive(*keeper), what="the death of the keeper")

    def clean_up(self) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            keeper = self.keeper()
            for process in processes.descendants(keeper[0]):
                processes.signal_exact(*process, signal.SIGKILL)
            processes.signal_exact(*keeper, signal.SIGKILL)
        for process in processes.tagged(self.tag):
            processes.signal_exact(*process, signal.SIGKILL)


class MakeRun(Protocol):
    """The fixture `make_run`: run folders whose processes are gone after the test."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        ports: Sequence[int] = (),
        root: Path | None = None,
    ) -> KeptRun: ...


def python(code: str, *arguments: str) -> list[str]:
    """An argument list that runs `code` in a bare interpreter."""
    return [PYTHON, "-I", "-S", "-c", code, *arguments]


def told(log: bytes) -> Iterator[Any]:
    """The JSON documents that a job printed, one a line."""
    return (json.loads(line) for line in log.splitlines())
