"""`completion`: a completion script for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = 'eval "$(accel-tui completion bash)"'


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that is to complete")


def run(context: Context) -> int:
    """Print the script; it asks `accel-tui` itself for completions."""
    from argcomplete.shell_integration import shellcode

    context.output.text(shellcode(["accel-tui"], shell=context.arguments.shell).strip() + "\n")
    return 0
