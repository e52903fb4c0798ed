"""`move`: change the order of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.output import Styled
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui move nightly --first"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", help="id, name, first letters of an id, or `last`")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--first", action="store_true", help="to the front")
    where.add_argument("--before", metavar="RUN", help="right before this run")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Move it."""
    before = context.arguments.before
    answer = context.client.move(context.arguments.ref, before=before)
    moved = Run.from_json(answer)
    if context.arguments.json:
        context.output.document({"schema": 1, **moved.to_json()})
        return 0
    told = answer.get("note") or ("moved to the front" if before is None else f"moved before {before}")
    context.output.note(Styled(moved.name, "strong"), f" {moved.id}: {told}")
    return 0
