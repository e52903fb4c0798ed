"""What becomes of our processes when their user logs out for the last time. Never a promise that is not sure.

Who decides is the control group that a process is in (systemd's and logind's manuals: `logind.conf`, `user@.service`):

    session-N.scope              logind ends it at logout where KillUserProcesses=yes, and leaves it alone else
    user@UID.service, anything   the user's manager ends it when it ends itself: after the last logout, without linger
    anything else                no logout reaches it
"""

from __future__ import annotations

import enum
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.executors.detached import LINGER_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping

LOGINCTL_SECONDS = 3.0
REMEDY = "loginctl enable-linger && accel-tui supervisor stop   (for runs that start afterwards)"


class Fate(str, enum.Enum):
    """What a logout does to runs."""

    SURVIVE = "survive"
    END = "end"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Survival:
    """What is known, in words that a person is told."""

    fate: Fate
    message: str
    remedy: str | None = None

    def to_json(self) -> dict[str, str | None]:
        return {"fate": self.fate.value, "message": self.message, "remedy": self.remedy}


def survival(
    environment: Mapping[str, str],
    *,
    managed: bool = False,
    proc_root: str = "/proc",
    linger_folder: Path = LINGER_FOLDER,
    user: str | None = None,
) -> Survival:
    """What a logout does to what this process starts.

    Args:
        managed: Whether it is started below a user manager that was found to linger.
        proc_root: Where `self/cgroup` is read.
        user: The account's name; by default that of this process.
    """
    lingers = (linger_folder / (user or account())).exists()
    if managed and lingers:
        return Survival(Fate.SURVIVE, "runs are started below a user manager that lingers: no logout reaches them")
    groups = _groups(proc_root)
    if re.search(r"/user@\d+\.service(/|$)", groups, re.MULTILINE):
        if lingers:
            return Survival(Fate.SURVIVE, "runs belong to a user manager that lingers: a logout does not reach them")
        message = "runs belong to the user manager, which ends with your last logout, and they with it"
        return Survival(Fate.END, message, REMEDY)
    if not re.search(r"/session-[^/]+\.scope(/|$)", groups, re.MULTILINE):
        return Survival(Fate.SURVIVE, "runs belong to no login session, so no logout ends them")
    kills = kill_user_processes(environment)
    if kills is False:
        return Survival(Fate.SURVIVE, "logind leaves processes alone at logout (KillUserProcesses=no)")
    if kills:
        message = "logind ends all of your processes at your last logout (KillUserProcesses=yes), runs included"
        return Survival(Fate.END, message, REMEDY)
    return Survival(Fate.UNKNOWN, "whether logind ends runs at your last logout cannot be told", REMEDY)


def account() -> str:
    """The name of this account; its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def kill_user_processes(environment: Mapping[str, str]) -> bool | None:
    """Whether logind ends a user's processes at logout; None when it does not tell."""
    program = shutil.which("loginctl", path=environment.get("PATH"))
    if program is None:
        return None
    try:
        # Without the name of a session it shows the properties of the manager.
        done = subprocess.run(
            [program, "show-session", "--property=KillUserProcesses"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOGINCTL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(rb"KillUserProcesses=(yes|no)\b", done.stdout)
    return match[1] == b"yes" if match else None


def _groups(proc_root: str) -> str:
    try:
        return (Path(proc_root) / "self" / "cgroup").read_text(errors="replace")
    except OSError:
        return ""
