"""Waiting for a run: a supervisor that dies meanwhile is replaced, and on a terminal one line shows the progress."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from accel_tui.cli import figures
from accel_tui.cli.output import Part, Styled
from accel_tui.cli.picture import progress_words, state_word
from accel_tui.model.errors import SupervisorError
from accel_tui.model.runs import RunState

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.cli.context import Context
    from accel_tui.cli.output import Output
    from accel_tui.model.runs import Run

RETRY_SECONDS = 0.2
PATIENCE_SECONDS = 30.0
"""How long a supervisor may stay away in the middle of a wait before the wait is given up."""
POLL_SECONDS = 0.3
TELL_SECONDS = 15.0
"""How often progress is written where no line can be repainted, at most; a new phase at once."""


def patiently(ask: Callable[[], Run]) -> Run:
    """The answer of a supervisor that may be replaced meanwhile."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except SupervisorError:
            if time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)


def wait_finished(context: Context, ref: str) -> Run:
    """The run once it, and the retries that carry it on, are finished."""
    if context.output.repaints:
        ref = watch(context, ref).id
    return patiently(lambda: context.client.run(ref, wait=None))


def watch(context: Context, ref: str, *, indent: str = "") -> Run:
    """The run once it is finished; its progress goes to standard error meanwhile, `indent` in front."""
    output = context.output
    phase, due = "", 0.0
    while True:
        run = patiently(lambda: context.client.run(ref))
        if run.state is RunState.FINISHED:
            output.settle()
            return run
        now = time.monotonic()
        if output.repaints:
            output.live(indent, *_line(output, run))
        elif _phase(run) != phase or now >= due:
            output.note(indent, *_line(output, run))
            phase, due = _phase(run), now + TELL_SECONDS
        time.sleep(POLL_SECONDS)


def _phase(run: Run) -> str:
    return run.progress.phase or state_word(run)


def _line(output: Output, run: Run) -> list[Part]:
    """Sign, phase or state, and the figures; what a queued one waits for."""
    if run.state is RunState.QUEUED:
        why = run.held or (f"waits for {run.waiting_for}" if run.waiting_for else "")
        return [output.glyph("queued"), f" queued{f': {why}' if why else ''}"]
    words = progress_words(run, phase=False)
    took = figures.span(run.started, None)
    return [output.glyph("running"), " ", Styled(_phase(run), "strong"), *(f", {word}" for word in words),
            Styled(f"  {took}", "muted")]  # fmt: skip
