"""The logout-proof path: starting what must outlive the terminal, the session and whoever started it.

One way for keepers and supervisors: a fresh interpreter says that it is ready, is told over its standard input what to
do, and leaves our process tree by itself. Where a user manager with linger runs, `systemd-run` stands in front of it,
so that it does not even share the login session's control group. No environment and no secret stands in an argument
list.
"""

from __future__ import annotations

import json
import os
import pwd
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import accel_tui
from accel_tui.keeper.processes import OWN, TAG
from accel_tui.model.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

LINGER_FOLDER = Path("/var/lib/systemd/linger")
"""Holds a file for every user whose manager outlives the last login."""

PREFIX_SECONDS = 3.0
"""How long a start through the user manager may take before the plain one is used."""

READY_SECONDS = 15.0
"""How long a plain start may take until the new interpreter reports ready."""

SOURCE = str(Path(accel_tui.__file__).resolve().parent.parent)
"""The folder that holds the package."""

_PROPERTIES = ("--user", "--quiet", "--collect", "--pipe", "-p", "KillMode=process")


def manager_prefix(
    environment: Mapping[str, str],
    *,
    linger_folder: Path = LINGER_FOLDER,
    runtime_folder: Path | None = None,
    user: str | None = None,
) -> tuple[str, ...]:
    """What to put in front of an argument list to start it below the user's manager; empty where none would last.

    The manager must be reachable and must linger; without linger it ends with the last login, and everything with it.
    `KillMode=process`: the started interpreter forks and ends, which must not take its child along.
    """
    program = shutil.which("systemd-run", path=environment.get("PATH"))
    folder = runtime_folder or runtime_directory(environment)
    try:
        name = user or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ()
    reachable = (folder / "systemd" / "private").exists() or (folder / "bus").exists()
    if program is None or not reachable or not (linger_folder / name).exists():
        return ()
    return (program, *_PROPERTIES, "--")


def runtime_directory(environment: Mapping[str, str]) -> Path:
    """The user's runtime folder, also where the variable is missing, as below `su` and `cron`."""
    return Path(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")


def interpreter_argv(module: str, *, python: str = sys.executable, source: str = SOURCE) -> list[str]:
    """A bare interpreter, untouched by the user's own Python settings, that calls `main()` of a keeper module."""
    code = f"import sys; sys.path.insert(0, {source!r}); from {module} import main; main()"
    return [python, "-I", "-S", "-X", "utf8", "-c", code]


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what marks a process as part of a run, or as one of ours."""
    return {name: value for name, value in environment.items() if name not in (TAG, OWN)}


def starter_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for the interpreter itself: not a process of the run that we may be part of."""
    cleaned = {**own_environment(environment), OWN: "keeper"}
    cleaned.setdefault("XDG_RUNTIME_DIR", str(runtime_directory(environment)))
    return cleaned


def supervisor_argv(state_dir: str, demo: str | None, *, python: str = sys.executable) -> list[str]:
    """The argument list of a supervisor."""
    code = f"import sys; sys.path.insert(0, {SOURCE!r}); from accel_tui.supervisor.main import main; main()"
    return [python, "-I", "-c", code, "--state-dir", state_dir, *(("--demo", demo) if demo else ())]


def start_supervisor(
    state_dir: str, demo: str | None, environment: Mapping[str, str], *, prefix: Sequence[str] | None = None
) -> int:
    """Start a supervisor with this environment, its error output appended to `supervisor.log` of its folder; its pid.

    Returns when it executes; whether it then gets the lock and listens is for the caller to see.

    Raises:
        SupervisorError: it cannot be started.
    """
    folder = Path(state_dir) / "demo" / demo if demo else Path(state_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SupervisorError(f"the supervisor cannot be started: {folder}: {error.strerror}") from None
    cleaned = starter_environment(environment)
    order = {
        "argv": supervisor_argv(state_dir, demo),
        "environment": {**own_environment(environment), OWN: "supervisor"},
        "log": str(folder / "supervisor.log"),
    }
    ways = [tuple(manager_prefix(environment) if prefix is None else prefix), ()]
    fault = "it did not answer"
    for way in dict.fromkeys(ways):
        answer = _start(way, cleaned, order)
        if answer is not None and answer.get("started"):
            return int(answer["pid"])
        fault = str(answer.get("message")) if answer else fault
    raise SupervisorError(f"the supervisor cannot be started: {fault}")


def _start(prefix: Sequence[str], environment: Mapping[str, str], order: Mapping[str, Any]) -> dict[str, Any] | None:
    """Start a starter and give it its order; its answer, or None when it never got as far as to read the order."""
    argv = [*prefix, *interpreter_argv("accel_tui.keeper.detach")]
    seconds = PREFIX_SECONDS if prefix else READY_SECONDS
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        return {"started": False, "message": f"{argv[0]}: {error.strerror}"}
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if _answer(process.stdout, seconds) is None:
                return None
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
            return _answer(process.stdout, READY_SECONDS) or {"started": False, "message": "the starter fell silent"}
        except BrokenPipeError:
            return {"started": False, "message": "the starter ended early"}
        finally:
            if process.poll() is None:
                process.kill()


def _answer(pipe: IO[bytes], seconds: float) -> dict[str, Any] | None:
    """One JSON line; None when the pipe ends or the time is over before it."""
    end = time.monotonic() + seconds
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        part = os.read(pipe.fileno(), 65536) if ready else b""
        if not part:
            return None
        data += part
    try:
        document = json.loads(data)
    except ValueError:  # not ours: a word of whatever stands in front
        return None
    return document if isinstance(document, dict) else None
