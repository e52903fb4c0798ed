"""`env`: the environment for devices, as exports; reserves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.choosing import device_argument, from_command
from accel_tui.cli.planned import apart_from_a_run, inventory, make_plan, refuse_absent
from accel_tui.model.errors import NotPossibleError
from accel_tui.model.plans import CheckLevel, EnvironmentAction

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = 'eval "$(accel-tui env --devices gaudi:0,1)"'


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    device_argument(parser, required=True)


def run(context: Context) -> int:
    """Print one export or unset per variable."""
    from accel_tui.jobs.shell import quote

    context.command = ("true",)
    plan = apart_from_a_run(make_plan(context, from_command(context), inventory(context, start=True)))
    refuse_absent(context.arguments.devices, plan)
    if plan.waiting_for is not None:
        # Exports without cards would be taken for the real ones.
        message = f"none to name now: {context.arguments.devices} waits for {plan.waiting_for}"
        raise NotPossibleError(message, remedy="`accel-tui run` queues for them, `accel-tui exec` waits here")
    for check in plan.checks:
        if check.level not in (CheckLevel.PASS, CheckLevel.UNKNOWN):
            context.output.note(context.output.glyph("warning"), f" {check.message}")
    for change in plan.environment:
        if change.action is EnvironmentAction.SET and change.value is not None:
            context.output.text(f"export {change.name}={quote(change.value)}\n")
        elif change.action is EnvironmentAction.UNSET:
            context.output.text(f"unset {change.name}\n")
    context.output.note("nothing is reserved: others may take the same devices")
    return 0
