"""`hold`: keep queued runs from starting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.many import each_run
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui hold last"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("refs", metavar="RUN", nargs="+", help="id, name, first letters of an id, or `last`")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Do it to each of them."""

    def act(ref: str) -> tuple[Run, str | None]:
        answer = context.client.hold(ref)
        return Run.from_json(answer), answer.get("note")

    return each_run(context, act, "held")
