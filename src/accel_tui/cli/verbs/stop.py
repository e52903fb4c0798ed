"""`stop`: ask runs to end; training saves a checkpoint first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.following import tell_end
from accel_tui.cli.many import each_run
from accel_tui.cli.waiting import wait_finished
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui stop last --wait"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("refs", metavar="RUN", nargs="+", help="id, name, first letters of an id, or `last`")
    parser.add_argument("--now", action="store_true", help="kill at once; nothing is saved")
    parser.add_argument("--wait", action="store_true", help="return when they are finished")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Record the request; with --wait return when the runs are finished."""

    def stop(ref: str) -> tuple[Run, str | None]:
        answer = context.client.stop(ref, now=context.arguments.now)
        return Run.from_json(answer), answer.get("note")

    def ended(run: Run) -> Run:
        last = wait_finished(context, run.id)
        if not context.output.json_wanted:
            tell_end(context, last)
        return last

    if context.arguments.wait:
        return each_run(context, stop, "asked to end, waiting", ended)
    return each_run(context, stop, "asked to end")
