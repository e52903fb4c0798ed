"""One pure module per launcher: wraps a program into the command line that starts it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.jobs.spec import Program

PORT_PLACEHOLDER = "PORT"
"""Stands in a preview for the loopback port that is chosen and held at the start."""


@dataclass(frozen=True)
class LaunchSetting:
    """What a launcher needs to know besides the program."""

    python: str
    """The job's interpreter."""
    processes: int
    folder: str
    """The run folder, absolute."""
    identifier: str
    """Tells this run's rendezvous from others."""
    port: str = PORT_PLACEHOLDER
    on_cpu: bool = False


def wrap(name: str, program: Program, setting: LaunchSetting) -> tuple[str, ...]:
    """The argument list with which launcher `name` starts `program`."""
    module = importlib.import_module(f"{__name__}.{name}")
    argv: tuple[str, ...] = module.argv(program, setting)
    return argv


def needs_port(name: str) -> bool:
    """Whether launcher `name` needs a loopback port of its own."""
    return bool(importlib.import_module(f"{__name__}.{name}").NEEDS_PORT)
