"""Composition root: picks the face. Imports are late, so that each face loads only what it needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.cli.context import Context


def main() -> None:
    """Run the command line that this process was started with, and end the process with its exit code."""
    try:
        from accel_tui.cli.main import main as headless

        code = headless(sys.argv[1:], _screen)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _screen(context: Context) -> int:
    """Show the screen for what the command line says."""
    from accel_tui.cli.choosing import working_folder
    from accel_tui.tui.app import Options
    from accel_tui.tui.running import run_screen

    said = context.arguments
    options = Options(said.session, said.theme, said.read_only, context.output.ascii_only, context.demo)
    return run_screen(context.state_dir, context.settings, context.environment, working_folder(), options)


if __name__ == "__main__":
    main()
