"""Which Python a job runs in, and why that one."""

from __future__ import annotations

import functools
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.jobs.spec import Job


class InterpreterSettings(Protocol):
    """The part of the settings that counts here."""

    @property
    def python(self) -> str | None: ...


@dataclass(frozen=True)
class Interpreter:
    """A Python for a job; it need not exist."""

    path: str
    """Absolute where it was found; symbolic links stay, since a virtual environment is known by them."""
    reason: str


def default_python(job: Job, base: Mapping[str, str], settings: InterpreterSettings) -> Interpreter:
    """The interpreter of `job`: its own, the settings', the active environment's, ours when it has torch, `python3`."""
    if job.launch.python is not None:
        return Interpreter(located(job.launch.python, base), "the job names it")
    if settings.python:
        return Interpreter(located(settings.python, base), "the setting `python` names it")
    for variable, what in (("VIRTUAL_ENV", "virtual environment"), ("CONDA_PREFIX", "conda environment")):
        prefix = base.get(variable)
        if prefix and (python := _in_prefix(prefix)) is not None:
            return Interpreter(python, f"the active {what}")
    if has_torch():
        return Interpreter(sys.executable, "the one that runs accel-tui, which has torch")
    found = shutil.which("python3", path=base.get("PATH", os.defpath))
    return Interpreter(found or "python3", "the first `python3` on PATH")


def located(python: str, base: Mapping[str, str]) -> str:
    """The interpreter that a name, a file or an environment's folder stands for."""
    if "/" not in python:
        return shutil.which(python, path=base.get("PATH", os.defpath)) or python
    path = os.path.abspath(os.path.expanduser(python))  # noqa: PTH100, PTH111 - symbolic links stay
    return _in_prefix(path) or path


def _in_prefix(prefix: str) -> str | None:
    for name in ("python", "python3"):
        candidate = Path(prefix) / "bin" / name
        if candidate.is_file():
            return str(candidate)
    return None


@functools.lru_cache(maxsize=1)
def has_torch() -> bool:
    """Whether torch is installed beside accel-tui; nothing is imported."""
    import importlib.metadata

    try:
        importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def shared_with_others(path: str) -> str | None:
    """What about this program others may write: the file, or a folder above it; None when nobody may.

    Both the path as written and the file behind its links count: a virtual environment is a link to another Python.
    """
    written = Path(os.path.abspath(path))  # noqa: PTH100 - links stay
    real = Path(os.path.realpath(path))
    for place in dict.fromkeys((written, *written.parents, real, *real.parents)):
        try:
            status = place.lstat()
        except OSError:
            return None
        if _others_may_write(status):
            return str(place)
    return None


def _others_may_write(status: os.stat_result) -> bool:
    if status.st_uid not in (0, os.getuid()):
        return True
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
        return False
    # Many hosts give every user a group of their own, and files are writable by it.
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (0, os.getgid())
    return bool(status.st_mode & stat.S_IWOTH or by_group)
