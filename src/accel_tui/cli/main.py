"""Entry of the headless face: parse, run one verb, turn the outcome into an exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli import failure, parser
from accel_tui.cli.context import Context, own_environment
from accel_tui.cli.output import Output, open_closed_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_SPEAK_FOR_THEMSELVES = frozenset({"completion", "supervisor", "exec"})
"""Verbs that have nothing to do with devices, and the one that says of them what it must when it has them."""


def main(argv: Sequence[str], screen: Callable[[Context], int] | None = None) -> int:
    """Run the verb that `argv` asks for; returns the exit code.

    `screen` shows the screen, which this package does not know; without it, or where it cannot be shown, plain lines
    stand in for it.
    """
    if "_ARGCOMPLETE" in os.environ:
        from accel_tui.cli.completing import complete

        complete()
    open_closed_streams()
    environment = own_environment()
    before = list(argv[: argv.index("--")] if "--" in argv else argv)
    output = Output(environment, ascii_only="--ascii" in before, json_wanted="--json" in before)
    invocation = _Invocation(argv, output, environment, screen)
    return failure.guarded(invocation.run, output, invocation.report_folder)


class _Invocation:
    """One call of the program; knows where a report of its failure may go."""

    def __init__(
        self,
        argv: Sequence[str],
        output: Output,
        environment: dict[str, str],
        screen: Callable[[Context], int] | None,
    ) -> None:
        self._argv, self._output, self._environment, self._screen = argv, output, environment, screen
        self._context: Context | None = None

    def run(self) -> int:
        verb, arguments, command = parser.parse(self._argv)
        context = self._context = Context(arguments, command, self._output, self._environment)
        context.screen = self._screen
        context.check_demo()
        self._output.own_flags = context.own_flags
        if verb is None:
            from accel_tui.cli import plain

            plain.validate(context)
            if self._screen is not None and plain.screen_can_be_shown(context):
                return self._screen(context)
            return plain.run(context)
        if verb.name not in _SPEAK_FOR_THEMSELVES:
            context.say_simulated()
        return verb.load().run(context)

    def report_folder(self) -> Path:
        if self._context is None:
            return Path(os.devnull)  # not a folder: the report goes to the temporary one
        return self._context.state_dir
