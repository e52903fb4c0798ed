"""`view`: the log screen alone, of a run or of any file, at its end and following."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui view --file train.log"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", nargs="?", help="id, name, first letters of an id, or `last`")
    parser.add_argument(
        "--file",
        metavar="PATH",
        help="a log file, or a folder with a file for each rank, instead of a run; no supervisor is asked",
    )
    parser.add_argument("--theme", metavar="NAME", help="colours")


def run(context: Context) -> int:
    """Show it until the person leaves.

    Raises:
        UsageError: there is no terminal, or both or neither of RUN and `--file` are given.
        FileError: the file of `--file` is missing or unreadable.
    """
    from accel_tui.cli.plain import check_theme, screen_can_be_shown
    from accel_tui.cli.tailing import named_file

    path = named_file(context.arguments)
    check_theme(context)
    if context.screen is None or not screen_can_be_shown(context):
        meant = context.arguments.ref if path is None else f"--file {shlex.quote(str(path))}"
        raise UsageError("view needs a terminal that can draw", remedy=f"`accel-tui logs {meant}` prints the log")
    context.viewed = context.client.run(context.arguments.ref) if path is None else str(path.absolute())
    return context.screen(context)
