"""The quickstart: a tiny model is made, used and trained on the CPU, as real runs of shipped jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.client.submitter import about_us, split_environment
from accel_tui.protocol.messages import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.config.settings import Settings
    from accel_tui.jobs.spec import Job
    from accel_tui.model.plans import Check

SESSION = "cpu-quickstart.toml"
OWN_HEAD = """# The two jobs of the quickstart, with the model and the text that it made.
# The file is yours: copy it, change it.
#
#   accel-tui run THIS-FILE#train --follow

"""
MADE_HERE = ("model", "data", "prompts")
"""Beginnings of the ids of checks about files that the first run makes."""


def model_folder(state_dir: Path) -> Path:
    """Where the tiny model and its texts go; `state_dir` is the state folder, not that of a demonstration."""
    return state_dir / "quickstart" / "model"


def session_place(state_dir: Path) -> Path:
    """Where the session file of the quickstart lies, once it was made."""
    return state_dir / "quickstart" / "session.toml"


def session_file(state_dir: Path) -> Path:
    """The two jobs as a session file with the paths of here, for a person to copy and change; written once."""
    from accel_tui.config.shipped import shipped_folder
    from accel_tui.keeper.files import write_atomic

    place = session_place(state_dir)
    if not place.exists():
        _, _, shipped = (shipped_folder("sessions") / SESSION).read_text("utf-8").partition("\n\n")
        folder = json.dumps(str(model_folder(state_dir)), ensure_ascii=False)[:-1]
        write_atomic(str(place), (OWN_HEAD + shipped.replace('"tiny-model', folder)).encode())
    return place


def shipped_jobs(state_dir: Path, python: str | None = None) -> list[Job]:
    """The two shipped jobs, generate and train, with model and text in the state folder."""
    from accel_tui.config.shipped import shipped_folder
    from accel_tui.jobs.session import apply_sets, load_session

    folder = model_folder(state_dir)
    jobs = []
    for job in load_session(shipped_folder("sessions") / SESSION).jobs:
        values = {"model.path": str(folder)}
        if job.kind == "train":
            values |= {"data.path": str(folder / "train.txt"), "data.eval_path": str(folder / "eval.txt")}
        if python:
            values["launch.python"] = python
        jobs.append(apply_sets(job, [f"{key}={json.dumps(value)}" for key, value in values.items()]))
    return jobs


def model_job(state_dir: Path, environment: Mapping[str, str], settings: Settings, python: str | None = None) -> Job:
    """The job that makes the model: the worker itself, in the interpreter that the others will use."""
    from accel_tui.jobs.adhoc import command_job
    from accel_tui.jobs.interpreters import default_python
    from accel_tui.keeper.files import write_atomic
    from accel_tui_worker.archive import build

    folder = state_dir / "quickstart"
    folder.mkdir(mode=0o700, exist_ok=True)
    worker = folder / "worker.pyz"
    content = build()
    if not worker.is_file() or worker.read_bytes() != content:
        write_atomic(str(worker), content)
    interpreter = default_python(shipped_jobs(state_dir, python)[0], environment, settings).path
    argv = [interpreter, str(worker), "tiny-model", str(model_folder(state_dir))]
    return command_job(argv, name="quickstart-model")


def submission(job: Job, environment: Mapping[str, str], cwd: str) -> Submission:
    """The request that queues one of these jobs on the CPU."""
    base, secrets = split_environment(environment)
    return Submission(
        job=job.model_dump(mode="json"),
        select="cpu",
        base=base,
        secrets=secrets,
        cwd=cwd,
        yes=True,
        client=about_us(),
    )


def refusals(checks: tuple[Check, ...]) -> list[Check]:
    """The checks that keep a job from running here; what the first run makes need not be there yet."""
    from accel_tui.model.plans import CheckLevel

    return [check for check in checks if check.level is CheckLevel.REFUSAL and not check.id.startswith(MADE_HERE)]
