"""`runs`: live runs and those of the last 7 days, newest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.cli.picture import run_table
from accel_tui.model.errors import UsageError
from accel_tui.model.runs import RunState

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui runs --state running"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--all", action="store_true", help="older ones as well")
    parser.add_argument("--state", choices=[state.value for state in RunState], help="only runs in this state")
    parser.add_argument("--name", metavar="RE", help="only names that this regular expression finds")


def run(context: Context) -> int:
    """Print the list."""
    wanted = context.arguments
    if wanted.name is not None:
        try:
            re.compile(wanted.name)
        except re.error as error:
            raise UsageError(f"--name is no regular expression: {error}") from None
    runs = context.client.runs(everything=wanted.all, state=wanted.state, name=wanted.name)
    if wanted.json:
        unread = {"unread": context.client.unread} if context.client.unread else {}
        context.output.document({"schema": 1, "runs": [run.to_json() for run in runs], **unread})
    else:
        run_table(context.output, runs)
    if context.client.unread:
        words = f" {context.client.unread} ended runs are still being read and may be missing here; ask again"
        context.output.note(context.output.glyph("warning"), words)
    return 0
