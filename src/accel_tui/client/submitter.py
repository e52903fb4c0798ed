"""What a submitting process gives to its run: its environment, split from its secrets."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper import limits
from accel_tui.model.secrets import is_secret
from accel_tui.protocol.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# Variables of the terminal and of the shell's own book-keeping: in a run that outlives both they would only mislead.
_OF_THE_SHELL = frozenset({"_", "SHLVL", "OLDPWD", "COLUMNS", "LINES"})


def split_environment(
    environment: Mapping[str, str], env_from: Iterable[str] = ()
) -> tuple[dict[str, str], dict[str, str]]:
    """`(base, secrets)` of an environment.

    Secret is what `model.secrets` calls so, and every name in `env_from`. One that is not set here is left out: a
    check of the plan refuses it.
    """
    wanted = set(env_from)
    base: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        if name in wanted or is_secret(name, value):
            secrets[name] = value
        elif name not in _OF_THE_SHELL:
            base[name] = value
    return base, secrets


def about_us() -> dict[str, str]:
    """What a submission tells of the process that makes it: its version, mask of files and limits."""
    told = {"version": VERSION, "limits": limits.own()}
    with contextlib.suppress(OSError, StopIteration):
        # Not by `os.umask`, which changes it for a moment, and other threads make files meanwhile.
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        told["umask"] = next(line.split()[1] for line in lines if line.startswith("Umask:"))
    return told


def pick_secrets(environment: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The variables of `names` that are set here: what `release` supplies."""
    return {name: environment[name] for name in names if name in environment}
