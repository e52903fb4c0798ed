"""`plan`: what a job would run, in full; starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.choosing import file_arguments, from_file
from accel_tui.cli.planned import examined, inventory, make_plan, tell_plan
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui plan train.toml#lora --devices gaudi:0-3 --shell > run.sh"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    file_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--shell", action="store_true", help="a bash script that runs it without accel-tui")


def run(context: Context) -> int:
    """Print the plan. Its checks do not decide the exit code."""
    if context.arguments.json and context.arguments.shell:
        raise UsageError("--json and --shell cannot stand together")
    chosen = from_file(context)[0]
    # A script works beside the run folders, not among them: it makes no record.
    beside = context.arguments.shell
    devices = inventory(context, start=False)
    plan = make_plan(context, chosen, devices, beside=beside)
    if context.arguments.shell:
        from accel_tui.client.submitter import split_environment
        from accel_tui.jobs.shell import script

        base, secrets = split_environment(context.environment, chosen.secret_names)
        context.output.text(script(plan, base, frozenset(secrets), job=chosen.job))
        return 0
    plan = examined(context, chosen, plan, execute=False)
    if context.arguments.json:
        context.output.document(plan.to_json())
    else:
        tell_plan(context.output, plan, devices)
    return 0
