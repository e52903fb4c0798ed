"""`rerun`: run a job again, planned anew with changes, or exactly as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.cli.choosing import Chosen, device_argument, submission
from accel_tui.cli.verbs.run import consent_arguments, told, waiting_arguments
from accel_tui.model.errors import NotPossibleError, UsageError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context
    from accel_tui.model.runs import Run

EXAMPLE = "accel-tui rerun last --set train.arguments.learning_rate=1e-5 --follow\n  accel-tui rerun last --resume"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", help="id, name, first letters of an id, or `last`")
    parser.add_argument(
        "--set", dest="sets", metavar="KEY=VALUE", action="append", default=[], help="change a field of the job"
    )
    device_argument(parser)
    parser.add_argument("--resume", action="store_true", help="a training goes on from the run's newest checkpoint")
    parser.add_argument("--exact", action="store_true", help="the same job, devices and environment as recorded")
    consent_arguments(parser)
    waiting_arguments(parser)


def run(context: Context) -> int:
    """Queue it and print the id."""
    from accel_tui.jobs.selectors import parse
    from accel_tui.jobs.session import apply_sets
    from accel_tui.jobs.spec import parse_job

    wanted = context.arguments
    if wanted.exact and (wanted.sets or wanted.devices is not None or wanted.resume):
        raise UsageError("--exact changes nothing, so --set, --devices and --resume cannot stand beside it")
    before = context.client.run(wanted.ref)
    spec = _spec(before.folder)
    job = parse_job(spec["job"])
    if wanted.resume:
        job = apply_sets(job, [f"train.resume_from={json.dumps(_checkpoint(before))}"])
    if wanted.sets:
        job = apply_sets(job, wanted.sets)
    select = str(spec["select"]) if wanted.devices is None else wanted.devices
    parse(select)
    request = submission(
        context, Chosen(job, select), yes=wanted.yes, overrides=tuple(wanted.override),
        retry_of=before.id, exact=before.id if wanted.exact else None,
    )  # fmt: skip
    return told(context, context.client.submit(_from_its_folder(request, spec)))


def _checkpoint(run: Run) -> str:
    """The newest complete checkpoint of a run.

    Raises:
        NotPossibleError: it is no training, or saved none.
    """
    from accel_tui.store.artefacts import artefacts_of

    if run.kind != "train":
        raise NotPossibleError(
            f"run {run.id} is no training, so it has no checkpoint to go on from", remedy=f"accel-tui rerun {run.id}"
        )
    found = artefacts_of(Path(run.folder)).checkpoint
    if found is None:
        raise NotPossibleError(
            f"run {run.id} has no complete checkpoint to go on from",
            remedy=f"accel-tui rerun {run.id} begins anew; save_steps says how often one is saved",
        )
    return str(found)


def _from_its_folder(request: Any, spec: dict[str, Any]) -> Any:
    """Relative paths of the job mean what they meant: the folder it was first submitted from."""
    import dataclasses

    folder = spec.get("submitted_by", {}).get("cwd")
    return dataclasses.replace(request, cwd=folder) if folder else request


def _spec(folder: str) -> dict[str, Any]:
    try:
        spec: dict[str, Any] = json.loads((Path(folder) / "spec.json").read_bytes())
    except (OSError, ValueError):
        raise NotPossibleError(
            "the record of this run is damaged, so it cannot be run again", remedy="run the session file itself"
        ) from None
    return spec
