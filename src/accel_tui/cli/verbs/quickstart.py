"""`quickstart`: generate and train with a tiny model on the CPU, as real runs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.cli import figures
from accel_tui.cli.choosing import Chosen, working_folder
from accel_tui.cli.following import tell_end
from accel_tui.cli.output import Styled
from accel_tui.cli.picture import progress_words
from accel_tui.cli.waiting import watch
from accel_tui.client import quickstart
from accel_tui.model.errors import CheckRefusedError, ExitCode
from accel_tui.model.runs import Run, RunResult

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context
    from accel_tui.jobs.spec import Job

WIDE = 40
"""Columns for a command of the summary; what a longer one does stands below it."""
EXAMPLE = "accel-tui quickstart"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("--python", metavar="PATH", help="interpreter or virtual environment with the torch stack")


def run(context: Context) -> int:
    """Make the model where it is missing, run the two shipped jobs, and say what to look at."""
    python = context.arguments.python
    jobs = quickstart.shipped_jobs(context.state_dir, python)
    _examine(context, jobs[0])
    model = quickstart.model_job(context.state_dir, context.environment, context.settings, python)
    try:
        done = [_one(context, step, f"{number}/3") for number, step in enumerate([model, *jobs], 1)]
    except _Failed as failed:
        tell_end(context, failed.run)
        context.output.note(context.output.hint(f"  `accel-tui logs {failed.run.id}` shows its log"))
        return int(ExitCode.RUN_FAILED)
    except KeyboardInterrupt:
        context.output.note("")
        context.output.note(context.output.hint("left: what was started goes on; `accel-tui runs` lists it"))
        return int(ExitCode.INTERRUPTED)
    _summary(context, done[1], done[2])
    return 0


class _Failed(Exception):  # noqa: N818 - a run that did not succeed, not a fault of ours
    def __init__(self, run: Run) -> None:
        super().__init__(run.id)
        self.run = run


def _examine(context: Context, job: Job) -> None:
    """Raises:
    CheckRefusedError: the interpreter lacks what the jobs need; the remedy is the command that installs it.
    """
    from accel_tui.cli.planned import inventory, make_plan
    from accel_tui.client.submitter import split_environment
    from accel_tui.jobs.checks import examine

    plan = make_plan(context, Chosen(job, "cpu"), inventory(context, start=True))
    base, _ = split_environment(context.environment)
    refused = quickstart.refusals(examine(job, plan, base))
    if refused:
        raise CheckRefusedError("the quickstart cannot run here", checks=refused)


def _one(context: Context, job: Job, number: str) -> Run:
    """Queue one job and show its progress until it is finished."""
    output = context.output
    request = quickstart.submission(job, context.environment, working_folder())
    answer: dict[str, Any] = context.client.submit(request)
    output.note(Styled(f"{number} ", "muted"), Styled(job.name, "strong"), f"  {answer['id']}")
    run = watch(context, answer["id"], indent="    ")
    if run.result is not RunResult.SUCCEEDED:
        raise _Failed(run)
    words = [figures.span(run.started, run.ended), *progress_words(run, phase=False)]
    output.note("    ", output.glyph("succeeded"), " succeeded, ", ", ".join(words))
    return run


def _summary(context: Context, generated: Run, trained: Run) -> None:
    output = context.output
    output.line("")
    texts = _texts(generated)
    for text in texts:
        output.line(Styled("generated ", "muted"), repr(text[:60]))
    if texts:
        output.line(
            "          ", Styled("(the tiny model starts from random weights: its words mean nothing)", "muted")
        )
    series = {one["name"]: one["points"] for one in context.client.run_metrics(trained.id)["series"]}
    curves = {name: [value for _, _, value in points if value is not None] for name, points in series.items()}
    if losses := curves.get("loss"):
        told = f"{figures.loss(losses[0])} at the start, {figures.loss(losses[-1])} at the end"
        output.line(Styled("loss      ", "muted"), told)
    if evaluated := curves.get("eval_loss"):
        output.line(Styled("eval loss ", "muted"), figures.loss(evaluated[-1]))
    if speeds := curves.get("tokens_per_second"):
        output.line(Styled("speed     ", "muted"), f"{figures.rate(speeds[-1])} tokens/s")
    output.line(Styled("folder    ", "muted"), trained.folder)
    output.line("")
    own = quickstart.session_file(context.state_dir)
    steps = [
        ("accel-tui", "the screen; ? lists its keys, q leaves it"),
        ("accel-tui show last", "the training in full"),
        ("accel-tui logs last", "its log"),
        ("accel-tui metrics last", "its curves"),
        ("accel-tui devices", "what this host has"),
        ("accel-tui doctor", "this host examined: why a card is not seen, what is missing"),
        ("accel-tui run --devices cpu --follow -- python YOUR.py", "a program of yours"),
        (
            f"accel-tui run {shlex.quote(str(own))}#train --follow",
            "the training again; copy the file and make it yours",
        ),
    ]
    if (program := _not_on_path(context)) is not None:
        activate = program.with_name("activate")
        place = shlex.quote(str(activate if activate.is_file() else program.parent))
        how = f"source {place}" if activate.is_file() else f"PATH={place}:$PATH"
        steps.insert(0, (how, "makes accel-tui known to this shell"))
    output.line("What to open next:")
    for plain, what in steps:
        command = output.hint(plain)
        if len(command) > WIDE:
            output.line(f"  {command}")
        output.line(f"  {command if len(command) <= WIDE else '':<{WIDE}}  ", Styled(what, "muted"))


def _not_on_path(context: Context) -> Path | None:
    """The program that runs, where its bare name does not lead to it in the person's shell."""
    import shutil

    program = Path(sys.argv[0]).absolute()
    found = shutil.which("accel-tui", path=context.environment.get("PATH", ""))
    if program.name != "accel-tui" or (found is not None and Path(found).resolve() == program.resolve()):
        return None
    return program


def _texts(run: Run) -> list[str]:
    """What the model wrote, one text per prompt."""
    found = []
    try:
        for line in (Path(run.folder) / "artefacts" / "results.jsonl").read_text("utf-8").splitlines()[:3]:
            record = json.loads(line)
            found.append(str(record.get("text") or record.get("output") or record.get("completion") or ""))
    except (OSError, ValueError, AttributeError):  # the summary is a courtesy
        return []
    return found
