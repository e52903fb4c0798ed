"""Run folders for tests, made as the product makes them, and what keeper and worker would write into them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from accel_tui.keeper.processes import boot_id
from accel_tui.model.plans import Plan
from accel_tui.model.times import time_text
from accel_tui.store.folders import RunFolders

CREATED = "2026-11-30T12:00:00.000Z"


def plan_of(folder: Path, *, processes: int = 1, devices: tuple[str, ...] = ("cpu",)) -> Plan:
    """A plan of `true` in that folder."""
    return Plan(
        job="job",
        kind="command",
        argv=("true",),
        cwd="/",
        folder=str(folder),
        devices=devices,
        processes=processes,
    )


def spec_of(identifier: str, **fields: Any) -> dict[str, Any]:
    """A specification of that run."""
    return {"id": identifier, "name": "job", "kind": "command", "created": CREATED, "job": {}, **fields}


def make_run(
    folders: RunFolders, *, kind: str = "command", processes: int = 1, worker: bytes | None = None, **spec: Any
) -> str:
    """A queued run; `spec` gives further fields of `spec.json`."""
    identifier = str(spec.pop("id", None) or folders.new_id())
    document = spec_of(identifier, kind=kind, **spec)
    plan = plan_of(folders.path(identifier), processes=processes)
    return folders.create(document, {"base": {}, "secret_names": []}, plan, worker)


def begin(folders: RunFolders, identifier: str, **fields: Any) -> Path:
    """Write what a keeper writes when the main process runs; returns the folder."""
    folders.write_state(identifier, state="preparing")
    folders.write_state(identifier, state="starting", boot_id=boot_id())
    folders.write_state(identifier, state="running", started="2026-11-30T12:00:01.000Z", **fields)
    return folders.path(identifier)


def end(folders: RunFolders, identifier: str, **record: Any) -> Path:
    """Write the record that a keeper leaves."""
    folder = folders.path(identifier)
    document: dict[str, Any] = {
        "schema": 1,
        "exit_code": 0,
        "signal": None,
        "cause": "exit",
        "stopped": False,
        "message": None,
    }
    document |= {"started": "2026-11-30T12:00:01.000Z", "ended": "2026-11-30T12:00:09.000Z"}
    (folder / "exit.json").write_text(json.dumps({**document, **record}).ljust(4096))
    return folder


def tell(folder: Path, rank: int, *events: dict[str, Any]) -> None:
    """Append events as the worker of that rank does."""
    with (folder / "events" / f"rank-{rank}.jsonl").open("a") as file:
        for number, event in enumerate(events):
            file.write(json.dumps({"t": 1000.0 + number, "rank": rank, **event}) + "\n")


def make_past(state: Path, count: int) -> None:
    """Folders as they stand after a run, a minute apart, the newest three days old; written without syncing."""
    runs = state / "runs"
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = time.time()
    for number in range(count):
        at = now - 86_400 * 3 - number * 60
        identifier = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at)) + f"-{number % 10_000:04d}"
        folder = runs / identifier
        folder.mkdir(mode=0o700)
        (folder / "events").mkdir()
        documents = {
            "spec.json": {
                "schema": 1, "id": identifier, "name": f"job-{number % 100}", "kind": "command", "select": "cpu",
                "created": time_text(at), "job": {"kind": "command", "launch": {"retries": 0, "resume": "none"}},
                "priority": 0, "after": [], "attempt": 1, "retry_of": None,
            },
            "plan.json": {"schema": 1, "devices": ["cpu"], "processes": 1},
            "environment.json": {"schema": 1, "base": {}, "secret_names": []},
            "state.json": {"schema": 1, "state": "running", "started": time_text(at + 1), "boot_id": "earlier"},
            "exit.json": {
                "schema": 1, "exit_code": number % 3, "signal": None, "cause": "exit", "stopped": False,
                "started": time_text(at + 1), "ended": time_text(at + 30),
            },
        }  # fmt: skip
        for name, document in documents.items():
            (folder / name).write_text(json.dumps(document))
