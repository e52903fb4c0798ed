"""`doctor`: examine this host; works without a supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.planned import tell_checks
from accel_tui.model.errors import ExitCode
from accel_tui.model.plans import CheckLevel

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui doctor --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--bundle", metavar="FILE", help="write what a bug report needs, without secrets, as tar.gz")


def run(context: Context) -> int:
    """Print the findings; 1 when one weighs as much as a refusal."""
    from accel_tui import doctor

    checks = doctor.examine(context.settings, context.environment, context.state_path, context.demo)
    if context.arguments.bundle:
        path = doctor.write_bundle(
            context.arguments.bundle,
            checks,
            settings=context.settings,
            state=context.state_path,
            environment=context.environment,
        )
        context.output.note(f"wrote {path}")
    if context.arguments.json:
        context.output.document({"schema": 1, "checks": [check.to_json() for check in checks]})
    else:
        tell_checks(context.output, checks)
    refused = any(check.level is CheckLevel.REFUSAL for check in checks)
    return int(ExitCode.RUN_FAILED if refused else ExitCode.DONE)
