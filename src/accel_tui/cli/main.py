"""Entry of the headless face: parse, run one verb, turn the outcome into an exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli import failure, parser
from accel_tui.cli.context import Context, own_environment
from accel_tui.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the verb that `argv` asks for; returns the exit code."""
    if "_ARGCOMPLETE" in os.environ:
        from accel_tui.cli.completing import complete

        complete()
    environment = own_environment()
    before = list(argv[: argv.index("--")] if "--" in argv else argv)
    output = Output(environment, ascii_only="--ascii" in before, json_wanted="--json" in before)
    invocation = _Invocation(argv, output, environment)
    return failure.guarded(invocation.run, output, invocation.report_folder)


class _Invocation:
    """One call of the program; knows where a report of its failure may go."""

    def __init__(self, argv: Sequence[str], output: Output, environment: dict[str, str]) -> None:
        self._argv, self._output, self._environment = argv, output, environment
        self._context: Context | None = None

    def run(self) -> int:
        verb, arguments, command = parser.parse(self._argv)
        context = self._context = Context(arguments, command, self._output, self._environment)
        context.check_demo()
        if verb is None:
            from accel_tui.cli import plain

            return plain.run(context)
        return verb.load().run(context)

    def report_folder(self) -> Path:
        if self._context is None:
            return Path(os.devnull)  # not a folder: the report goes to the temporary one
        return self._context.state_dir
