"""No launcher: a program as it is, our worker by its interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.jobs.launchers import LaunchSetting
    from accel_tui.jobs.spec import Program

NEEDS_PORT = False


def argv(program: Program, setting: LaunchSetting) -> tuple[str, ...]:
    if program.form == "module":
        return (setting.python, "-m", *program.argv)
    return program.argv
