"""`show`: one run in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.cli import figures
from accel_tui.cli.output import Part, Styled
from accel_tui.cli.picture import ending, place_words, progress_words, state_cell
from accel_tui.model.plans import Plan
from accel_tui.model.runs import RunResult
from accel_tui.store.artefacts import artefacts_of
from accel_tui.store.placement import placement_of
from accel_tui.store.story import Moment, story

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from accel_tui.cli.context import Context
    from accel_tui.cli.output import Output
    from accel_tui.model.runs import Run

EXAMPLE = "accel-tui show last"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", help="id, name, first letters of an id, or `last`")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Print it."""
    found = context.client.run(context.arguments.ref)
    if context.arguments.json:
        told = [moment.to_json() for moment in _story(found)]
        context.output.document({"schema": 1, **found.to_json(), "placement": _placement(found), "story": told})
        return 0
    for word, value in _facts(context.output, found):
        context.output.line(Styled(f"{word:<9}", "muted"), value)
    return 0


def _story(run: Run) -> tuple[Moment, ...]:
    folder = Path(run.folder)
    return story(folder, folder.parent.parent)


def _facts(output: Output, run: Run) -> Iterator[tuple[str, Part]]:
    yield "name", Styled(run.name, "strong")
    yield "run", run.id
    yield "state", state_cell(output, run)
    reason = ending(run)
    if reason:
        yield "why", reason
    if run.diagnosis is not None:
        yield "what", run.diagnosis.summary
        if place := place_words(run.diagnosis):
            yield "where", place
        if run.diagnosis.next_step:
            yield "try", output.hint(run.diagnosis.next_step)
    if run.held:
        yield "held", run.held
    elif run.waiting_for:
        yield "waits", f"for {run.waiting_for}"
    progress = progress_words(run)
    if progress:
        yield "progress", ", ".join(progress)
    yield "kind", run.kind
    yield "devices", (" ".join(run.devices) or "none") + (" (simulated: it runs on the CPU)" if run.simulated else "")
    yield from _placed(run)
    yield "created", figures.clock(run.created)
    if run.started:
        yield "started", figures.clock(run.started)
    if run.ended:
        yield "ended", f"{figures.clock(run.ended)}, after {figures.span(run.started or run.created, run.ended)}"
    if run.retry_of:
        yield "retry of", f"{run.retry_of}, attempt {run.attempt}"
    for note in run.notes:
        yield "note", note
    for moment in _story(run):
        by, detail = f" by {moment.by}" if moment.by else "", f": {moment.detail}" if moment.detail else ""
        yield "story", f"{figures.clock(moment.time)}  {moment.what}{by}{detail}"
    yield from _planned(run)
    yield "folder", run.folder
    left = artefacts_of(Path(run.folder))
    if left.output:
        yield "output", str(left.output)
    if left.checkpoint:
        yield "saved", left.checkpoint.name
        if run.result not in (None, RunResult.SUCCEEDED):
            yield "go on", f"accel-tui rerun {run.id} --resume"


def _plan(run: Run) -> Plan | None:
    try:
        return Plan.from_json(json.loads((Path(run.folder) / "plan.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):  # a damaged record: the run itself is shown all the same
        return None


def _placement(run: Run) -> dict[str, Any] | None:
    plan = _plan(run)
    return placement_of(Path(run.folder), plan.processes if plan else 1)


_LEVELS = {"verified": "ok", "not-verified": "warn", "different": "error"}


def _placed(run: Run) -> Iterator[tuple[str, Part]]:
    """One line per rank: which card it holds, and whether that is the planned one."""
    placement = _placement(run)
    for rank in placement["ranks"] if placement else ():
        held = ", ".join(_card(card) for card in rank["held"]) or "no card seen"
        words = f"rank {rank['rank']} on {held}" if rank["status"] == "verified" else str(rank["reason"])
        status = rank["status"].replace("-", " ")
        yield "placed", Styled(f"{status}: {words}", _LEVELS[rank["status"]])


def _card(card: dict[str, Any]) -> str:
    module = "" if card.get("module_id") is None else f" (module {card['module_id']})"
    return f"{card.get('key') or card.get('node') or 'an unknown card'}{module}"


def _planned(run: Run) -> Iterator[tuple[str, Part]]:
    plan = _plan(run)
    if plan is None:
        return
    import shlex

    yield "command", shlex.join(plan.argv)
    yield "in", plan.cwd
