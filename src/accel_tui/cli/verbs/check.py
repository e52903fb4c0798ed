"""`check`: examine a job without starting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.choosing import file_arguments, from_file
from accel_tui.cli.planned import examined, inventory, make_plan, tell_checks
from accel_tui.model.errors import ExitCode
from accel_tui.model.plans import CheckLevel

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui check train.toml#lora"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    file_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Print the checks; 6 when one refuses or asks."""
    chosen = from_file(context)[0]
    plan = make_plan(context, chosen, inventory(context, start=True))
    checks = examined(context, chosen, plan, execute=True).checks
    if context.arguments.json:
        context.output.document({"schema": 1, "checks": [check.to_json() for check in checks]})
    else:
        tell_checks(context.output, checks)
    stops = any(check.level in (CheckLevel.ASK, CheckLevel.REFUSAL) for check in checks)
    return int(ExitCode.CHECK_REFUSED if stops else ExitCode.DONE)
