"""What the host does to processes: at logout, at the end of an allocation, and by limits."""

from __future__ import annotations

import os
import pwd
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, unknown, warning
from accel_tui.executors.detached import LINGER_FOLDER, manager_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accel_tui.model.plans import Check

_LOGINCTL_SECONDS = 3.0
_FEW_DESCRIPTORS = 1024
_SCHEDULERS = {
    "SLURM_JOB_ID": "Slurm",
    "PBS_JOBID": "PBS",
    "LSB_JOBID": "LSF",
    "KUBERNETES_SERVICE_HOST": "Kubernetes",
}
# Earlier than the first release: a clock that was never set.
_EARLIEST = 1_735_689_600
_FUTURE_SECONDS = 60


def logout(host: Host) -> Iterator[Check]:
    """Whether runs outlive the last logout."""
    linger = LINGER_FOLDER / _user()
    if manager_prefix(host.environment):
        yield passed("logout", f"runs are started below a user manager that lingers ({linger})")
        return
    if not _in_session_scope(Path(host.settings.proc_root)):
        yield passed("logout", "this is no login session of logind, so no logout ends its processes")
        return
    kills = _kill_user_processes(host.environment)
    if kills == "no":
        yield passed("logout", "logind leaves processes alone at logout (KillUserProcesses=no)")
    elif kills == "yes":
        message = "logind ends all of your processes at your last logout (KillUserProcesses=yes), runs included"
        yield warning("logout", message, "loginctl enable-linger")
    else:
        message = "whether logind ends processes at logout cannot be told"
        yield unknown("logout", message, "loginctl enable-linger makes it sure")


def allocation(host: Host) -> Iterator[Check]:
    """Whether this is an allocation or a container, whose end is the end of its runs."""
    names = [name for variable, name in _SCHEDULERS.items() if host.environment.get(variable)]
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        names.append("a container")
    if names:
        message = f"inside {' and '.join(names)}: runs live to its end at most"
        yield warning("allocation", message)
    else:
        yield passed("allocation", "no allocation and no container")


def descriptors(_host: Host) -> Iterator[Check]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FEW_DESCRIPTORS:
        message = f"only {soft} open files are allowed; eight cards, runs and readers of logs may need more"
        yield warning("descriptors", message, f"ulimit -n {hard if 0 < hard < 65536 else 65536}")
    else:
        yield passed("descriptors", f"{'any number of' if soft == resource.RLIM_INFINITY else soft} open files")


def clock(host: Host) -> Iterator[Check]:
    """A clock that jumped makes times of runs nonsense."""
    now = time.time()
    if now < _EARLIEST:
        yield warning("clock", f"the clock says {time.strftime('%Y-%m-%d', time.gmtime(now))}", "set the clock")
        return
    ahead = _newest(host.state / "runs") - now
    if ahead > _FUTURE_SECONDS:
        message = f"a run folder is {ahead:.0f} s younger than now: the clock went back, or the file server's differs"
        yield warning("clock", message, "set the clock (NTP)")
    else:
        yield passed("clock", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def _newest(runs: Path) -> float:
    try:
        return max((entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(runs)), default=0.0)
    except OSError:
        return 0.0


def _in_session_scope(proc_root: Path) -> bool:
    try:
        content = (proc_root / "self" / "cgroup").read_text(errors="replace")
    except OSError:
        return False
    return re.search(r"/session-[^/]+\.scope(/|$)", content, re.MULTILINE) is not None


def _kill_user_processes(environment: Mapping[str, str]) -> str | None:
    """`yes`, `no`, or None when logind does not tell."""
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
            timeout=_LOGINCTL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(rb"KillUserProcesses=(yes|no)\b", done.stdout)
    return match[1].decode() if match else None


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
