"""Composition root: picks the face. Imports are late, so that each face loads only what it needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Show the screen for what the command line says: the whole one, or with `view` one log alone."""
    from accel_tui.cli.choosing import working_folder
    from accel_tui.tui.app import Options
    from accel_tui.tui.running import run_screen

    said, viewed = context.arguments, context.viewed
    session, read_only = (None, True) if viewed is not None else (said.session, said.read_only)
    options = Options(session, said.theme, read_only, context.output.ascii_only, context.demo)
    # A file is looked at without a supervisor: its state folder need not be usable then.
    folder = context.state_path if isinstance(viewed, str) else context.state_dir
    return run_screen(
        folder, context.settings, context.environment, working_folder(), options, looked_at=viewed, outside=_outside
    )


def _outside(argv: Sequence[str]) -> None:
    """Give the terminal to a pager or editor until it ends."""
    import subprocess

    try:
        subprocess.run(argv, check=False)
    except OSError as fault:
        print(f"{argv[0]}: {fault.strerror}", file=sys.stderr)  # noqa: T201 - there is no screen now


if __name__ == "__main__":
    main()
