"""Planning in one line, with everything that a test does not care about fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.config.settings import Settings
from accel_tui.jobs.planning import plan
from accel_tui.jobs.spec import Job, parse_job

if TYPE_CHECKING:
    from accel_tui.model.devices import Inventory
    from accel_tui.model.plans import Plan

FOLDER = "/state/runs/20260131-124107-abcd"
PYTHON = "/envs/torch/bin/python"


def job(kind: str = "command", **launch: Any) -> Job:
    """A small job of a kind; `launch` fills its launch table."""
    tables: dict[str, dict[str, Any]] = {
        "command": {"command": {"argv": ["train.py", "--steps", "3"]}},
        "generate": {"model": {"path": "/models/tiny"}, "generate": {"prompts": ["Hello"]}},
        "train": {"model": {"path": "org/tiny"}, "data": {"path": "/data/text.txt"}},
    }
    return parse_job({"name": "test", "kind": kind, "launch": {"python": PYTHON, **launch}, **tables[kind]})


def planned(
    planned_job: Job, select: str, inventory: Inventory, base: dict[str, str] | None = None, **more: Any
) -> Plan:
    settings = more.pop("settings", Settings())
    return plan(
        planned_job, select=select, inventory=inventory, base={"PATH": "/usr/bin:/bin"} if base is None else base,
        cwd="/home/test", folder=FOLDER, identifier="20260131-124107-abcd", settings=settings, **more,
    )  # fmt: skip


def variables(made: Plan) -> dict[str, str | None]:
    """Name to value of every change, `None` for what is unset."""
    return {change.name: change.value for change in made.environment}
