"""Composition root: picks the face. Imports are late, so that each face loads only what it needs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line that this process was started with, and end the process with its exit code."""
    try:
        from accel_tui.cli.main import main as headless

        code = headless(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
