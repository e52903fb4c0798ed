"""A unit for the user's manager that starts the supervisor at boot, so that a queue goes on after a restart."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.executors.detached import supervisor_argv
from accel_tui.model.errors import NotPossibleError
from accel_tui.model.secrets import is_secret

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "accel-tui.service"
SYSTEMCTL_SECONDS = 20.0

_TEXT = """\
# Written by `accel-tui supervisor enable`; `accel-tui supervisor disable` removes it.
[Unit]
Description=accel-tui: goes on with the queue of runs after a restart of the host

[Service]
ExecStart={command}
{environment}# Runs are no part of the service: they go on when it ends.
KillMode=process
Restart=no

[Install]
WantedBy=default.target
"""


def path(environment: Mapping[str, str]) -> Path:
    """Where the unit stands."""
    base = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".config")
    return Path(base) / "systemd" / "user" / NAME


def text(state_dir: str, environment: Mapping[str, str]) -> str:
    """The unit; of the environment it holds what settles our own files and programs, and no secret."""
    kept = {
        name: value
        for name, value in sorted(environment.items())
        if (name.startswith("ACCEL_TUI_") or name == "PATH")
        and not is_secret(name, value)
        and name not in ("ACCEL_TUI_RUN", "ACCEL_TUI_PROCESS", "ACCEL_TUI_STATE_DIR")
    }
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in kept.items())
    return _TEXT.format(
        # A dollar means a variable in a command, and nothing in an assignment.
        command=" ".join(_quoted(word).replace("$", "$$") for word in supervisor_argv(state_dir, None)),
        environment=lines,
    )


def enable(state_dir: str, environment: Mapping[str, str]) -> Path:
    """Write the unit and have the user's manager start it at boot.

    Raises:
        NotPossibleError: there is no such manager, or it refuses; nothing is left then.
        OSError: the unit cannot be written.
    """
    program = _systemctl(environment)
    place = path(environment)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{NAME}.{os.getpid()}")
    temporary.write_text(text(state_dir, environment), "utf-8", "surrogateescape")
    temporary.replace(place)
    try:
        _call([program, "--user", "daemon-reload"], environment)
        _call([program, "--user", "enable", NAME], environment)
    except NotPossibleError:
        place.unlink(missing_ok=True)
        raise
    return place


def disable(environment: Mapping[str, str]) -> bool:
    """Take the unit away; whether there was one.

    Raises:
        NotPossibleError: the manager refuses.
    """
    place = path(environment)
    if not place.exists():
        return False
    program = _systemctl(environment)
    _call([program, "--user", "disable", NAME], environment)
    place.unlink(missing_ok=True)
    _call([program, "--user", "daemon-reload"], environment)
    return True


def _systemctl(environment: Mapping[str, str]) -> str:
    program = shutil.which("systemctl", path=environment.get("PATH"))
    if program is None:
        raise NotPossibleError(
            "this host has no systemd to start the supervisor at boot",
            remedy="a line `@reboot accel-tui runs` in `crontab -e` does the same",
        )
    return program


def _call(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    told = {**environment}
    told.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    try:
        done = subprocess.run(
            list(argv), env=told, stdin=subprocess.DEVNULL, capture_output=True, timeout=SYSTEMCTL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotPossibleError(f"{argv[0]} cannot be used: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise NotPossibleError(
            f"{' '.join(argv[1:])}: {said[0]}", remedy="try again in a login session of your own, not below su or sudo"
        )


def _quoted(word: str) -> str:
    """One word as `systemd.syntax(7)` reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return f'"{escaped}"'
