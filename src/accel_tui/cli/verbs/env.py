"""`env`: the environment for devices, as exports; reserves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.choosing import device_argument, from_command
from accel_tui.cli.planned import apart_from_a_run, inventory, make_plan
from accel_tui.model.errors import DeviceAbsentError
from accel_tui.model.plans import EnvironmentAction

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
    if not plan.verified:
        raise DeviceAbsentError(f"not every device of {context.arguments.devices} is on this host")
    for change in plan.environment:
        if change.action is EnvironmentAction.SET and change.value is not None:
            context.output.text(f"export {change.name}={quote(change.value)}\n")
        elif change.action is EnvironmentAction.UNSET:
            context.output.text(f"unset {change.name}\n")
    context.output.note("nothing is reserved: others may take the same devices")
    return 0
