"""Waiting for a run and following its log; leaving it is always harmless to the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli import figures
from accel_tui.cli.output import Styled
from accel_tui.cli.picture import ending, place_words, state_cell
from accel_tui.cli.waiting import patiently, wait_finished
from accel_tui.model.errors import ExitCode
from accel_tui.model.runs import Run, RunResult, RunState

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.cli.context import Context


def finish(context: Context, ref: str, *, follow: bool) -> int:
    """Wait for a run (and show its log meanwhile), tell its end, and return 0 or 1.

    Ctrl+C leaves it: the run goes on, which is said, and the exit code is 130.
    """
    output = context.output
    try:
        run = _follow(context, ref) if follow else wait_finished(context, ref)
    except KeyboardInterrupt:
        output.settle()
        output.note("")
        output.note("detached: the run goes on")
        output.note(output.hint(f"  `accel-tui logs -f {ref}` follows it again, `accel-tui stop {ref}` ends it"))
        return int(ExitCode.INTERRUPTED)
    if output.json_wanted:
        output.document({"schema": 1, **run.to_json()})
    else:
        tell_end(context, run)
    return int(ExitCode.DONE if run.result is RunResult.SUCCEEDED else ExitCode.RUN_FAILED)


def tell_end(context: Context, run: Run) -> None:
    """How a run ended, and what to do about it, on standard error."""
    output = context.output
    reason = ending(run)
    took = figures.span(run.started, run.ended)
    output.note(
        state_cell(output, run), ": ", Styled(run.name, "strong"), " ", run.id,
        f", {reason}" if reason else "", f", {took}" if took else "",
        ", on the CPU: its devices are simulated" if run.simulated and run.started else "",
    )  # fmt: skip
    if run.diagnosis is not None:
        place = place_words(run.diagnosis)
        output.note("  ", run.diagnosis.summary, Styled(f"  ({place})" if place else "", "muted"))
        if run.diagnosis.next_step:
            output.note("  ", output.hint(run.diagnosis.next_step))
    if run.kind == "train" and run.result is not RunResult.SUCCEEDED:
        from accel_tui.store.artefacts import artefacts_of

        saved = artefacts_of(Path(run.folder)).checkpoint
        if saved is not None:
            output.note("  saved ", str(saved))
            output.note(output.hint(f"  `accel-tui rerun {run.id} --resume` goes on from there"))


def _follow(context: Context, ref: str) -> Run:
    """Show the log of a run as it grows, then that of each retry that carries it on."""
    output = context.output
    # With --json standard output is for the document alone.
    show: Callable[[str], None] = output.note if output.json_wanted else output.log_line
    run = patiently(lambda: context.client.run(ref))
    while True:
        _show_one(context, run, show)
        last = wait_finished(context, run.id)
        if last.id == run.id:
            return last
        output.note(f"attempt {last.attempt} carries it on: {last.id}")
        run = last


def _show_one(context: Context, run: Run, show: Callable[[str], None]) -> None:
    """The lines of one run's log until it is finished and everything was shown."""
    from accel_tui.cli.tailing import tail, text_of
    from accel_tui.logs.ranks import merged
    from accel_tui.logs.source import FileSource

    told: str | None = None

    def ended() -> bool:
        nonlocal told
        now = patiently(lambda: context.client.run(run.id))
        waits = now.held or now.waiting_for if now.state is RunState.QUEUED else None
        if waits and waits != told:
            context.output.note(context.output.glyph("queued"), f" queued: waits for {waits}")
            told = waits
        return now.state is RunState.FINISHED

    with FileSource(Path(run.folder) / "log") as source:
        for line in tail(context.output, source, 0, ended):
            show(merged(text_of(line)))
    context.output.flush()
