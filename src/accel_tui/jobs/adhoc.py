"""A job without a file: `run --devices SEL [--launcher L] [--processes N] [--name X] … -- ARGV`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|(?:ba|da|z|k)?sh")


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
            "name": name if name is not None else _name(_telling(argv)),
            "kind": "command",
            "devices": devices,
            "launch": {key: value for key, value in launch.items() if value is not None},
            "command": {"argv": list(argv)},
        }
    )


def _telling(argv: Sequence[str]) -> str:
    """The word that tells what runs: the script or module of an interpreter, else the program."""
    if not _INTERPRETER.fullmatch(os.path.basename(argv[0])):  # noqa: PTH119
        return argv[0]
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, argv[0])
        if word in ("-c", "-") or not word.startswith("-"):
            return word if word.endswith((".py", ".sh")) else argv[0]
    return argv[0]


def _name(program: str) -> str:
    """The program's own name as far as a job may be called that."""
    base = "".join(letter for letter in os.path.basename(program) if letter.isprintable() and letter != "#")  # noqa: PTH119
    return base.strip()[:64].strip() or "command"
