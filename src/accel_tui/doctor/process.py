"""What the host does to processes: at logout, at the end of an allocation, and by limits."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, unknown, warning
from accel_tui.executors.detached import manager_prefix
from accel_tui.executors.logout import REMEDY, Fate, survival

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.model.plans import Check

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
    managed = bool(manager_prefix(host.environment))
    found = survival(host.environment, managed=managed, proc_root=host.settings.proc_root)
    if found.fate is Fate.SURVIVE:
        yield passed("logout", found.message)
    elif found.fate is Fate.END:
        yield warning("logout", found.message, found.remedy or REMEDY)
    else:
        yield unknown("logout", found.message, found.remedy or REMEDY)


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
