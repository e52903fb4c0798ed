"""From the command line to a job: a file with `#JOB`, `--set` and `--devices`, or an argument list after `--`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import FileError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from accel_tui.cli.context import Context
    from accel_tui.jobs.spec import Job
    from accel_tui.protocol.messages import Submission


_STARTERS = {".py": "python", ".sh": "bash"}


@dataclass(frozen=True)
class Chosen:
    """A job, and the selector that is in force for it."""

    job: Job
    select: str
    secret_names: frozenset[str] = frozenset()
    """What any job of the file takes from the shell (`env_from`): a secret of one is none of the others' to store."""


def file_arguments(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """FILE[#JOB], --set and --devices."""
    extra: dict[str, Any] = {"nargs": "?"} if optional else {}
    parser.add_argument("file", metavar="FILE[#JOB]", help="session file, and which of its jobs", **extra)
    parser.add_argument(
        "--set", dest="sets", metavar="KEY=VALUE", action="append", default=[],
        help="change a field of the job, such as launch.processes=2",
    )  # fmt: skip
    device_argument(parser)


def device_argument(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """--devices."""
    parser.add_argument(
        "--devices", metavar="SEL", required=required, help="gaudi:0,1  xpu:0  cpu  auto  auto:gaudi:2  none"
    )


def from_file(context: Context) -> list[Chosen]:
    """The job that FILE[#JOB] names, or with `--all` every job of the file, in its order.

    Raises:
        FileError: the file is missing, unreadable or invalid.
        UsageError: no such job, several without a choice, or a wrong `--set` or `--devices`.
    """
    from accel_tui.jobs.session import load_session, select_job, split_reference

    wanted = context.arguments
    path, name = split_reference(wanted.file)
    starter = _STARTERS.get(Path(path).suffix)
    if starter and Path(path).is_file():
        remedy = f"write it after `--`: accel-tui run -- {starter} {path}"
        raise FileError(f"{path}: is a program, no session file", remedy=remedy)
    session = load_session(path)
    if getattr(wanted, "all", False):
        if name is not None:
            raise UsageError("--all takes every job of the file, so #JOB cannot stand beside it")
        jobs: Sequence[Job] = session.jobs
    else:
        jobs = [select_job(session, name)]
    secret = frozenset(name for job in session.jobs for name in job.launch.env_from)
    return [_choose(context, job, session.select, secret) for job in jobs]


def from_command(context: Context) -> Chosen:
    """The job that stands for the argument list after `--`.

    Raises:
        UsageError: there is none, or a wrong `--set` or `--devices`.
    """
    from accel_tui.jobs.adhoc import command_job

    wanted = context.arguments
    if not context.command:
        raise UsageError("no program to run", remedy="write it after `--`: accel-tui run --devices cpu -- python -V")
    job = command_job(
        context.command,
        name=getattr(wanted, "name", None),
        launcher=getattr(wanted, "launcher", None),
        processes=getattr(wanted, "processes", None),
    )
    return _choose(context, job, None)


def _choose(
    context: Context, job: Job, session_select: str | None, secret_names: frozenset[str] = frozenset()
) -> Chosen:
    from accel_tui.jobs.selectors import parse
    from accel_tui.jobs.session import apply_sets

    sets = getattr(context.arguments, "sets", None)
    if sets:
        job = apply_sets(job, sets)
    wanted: str | None = context.arguments.devices
    select = wanted if wanted is not None else job.devices or session_select or "auto"
    parse(select)
    return Chosen(job, select, secret_names.union(job.launch.env_from))


def submission(context: Context, chosen: Chosen, **more: Any) -> Submission:
    """The request that queues `chosen` with the environment of this process."""
    from accel_tui.client.submitter import about_us, split_environment
    from accel_tui.protocol.messages import Submission

    base, secrets = split_environment(context.environment, chosen.secret_names)
    return Submission(
        job=chosen.job.model_dump(mode="json"),
        select=chosen.select,
        base=base,
        secrets=secrets,
        cwd=working_folder(),
        client=about_us(),
        **more,
    )


def working_folder() -> str:
    """Where this process stands.

    Raises:
        UsageError: the folder was deleted.
    """
    try:
        return str(Path.cwd())
    except OSError as error:
        raise UsageError(f"the current folder cannot be used: {error.strerror}", remedy="cd to another one") from None
