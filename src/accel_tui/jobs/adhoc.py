"""A job without a file: `run --devices SEL [--launcher L] [--processes N] [--name X] … -- ARGV`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def command_job(
    argv: Sequence[str],
    *,
    name: str | None = None,
    launcher: str | None = None,
    processes: int | None = None,
    python: str | None = None,
    devices: str | None = None,
) -> Job:
    """A `command` job that runs `argv`.

    Raises:
        UsageError: no program, or a wrong option.
    """
    if not argv:
        raise UsageError("no program after --", remedy="such as: run --devices auto -- python train.py")
    launch: dict[str, Any] = {"launcher": launcher, "processes": processes, "python": python}
    return parse_job(
        {
            "name": name if name is not None else _name(argv[0]),
            "kind": "command",
            "devices": devices,
            "launch": {key: value for key, value in launch.items() if value is not None},
            "command": {"argv": list(argv)},
        }
    )


def _name(program: str) -> str:
    """The program's own name as far as a job may be called that."""
    base = "".join(letter for letter in os.path.basename(program) if letter.isprintable() and letter != "#")  # noqa: PTH119
    return base.strip()[:64].strip() or "command"
