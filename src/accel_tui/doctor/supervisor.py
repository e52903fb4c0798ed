"""Whether a supervisor runs and answers, and what it said when it could not start."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.doctor.host import Host, passed, refusal, warning
from accel_tui.keeper import locks, processes
from accel_tui.keeper.locks import held
from accel_tui.model.secrets import mask
from accel_tui.protocol.paths import HELLO, LOCK_NAME, LOG_NAME, SOCKET_NAME
from accel_tui.protocol.version import VERSION, is_newer, understands
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.model.plans import Check

_ANSWER_SECONDS = 3.0
_TAIL_BYTES = 64 << 10
_TROUBLE = re.compile(r"Traceback|Error\b|error:|refused|cannot", re.IGNORECASE)


def reachable(host: Host) -> Iterator[Check]:
    alive = held(str(host.state / LOCK_NAME))
    try:
        hello = _hello(host.state)
    except (OSError, ValueError, http.client.HTTPException) as error:
        yield _silent(host, error, alive=alive)
        return
    version, protocol = str(hello.get("version")), hello.get("protocol")
    words = f"supervisor {version} answers, pid {hello.get('pid')}, {hello.get('running')} running"
    theirs = (int(protocol[0]), int(protocol[1])) if isinstance(protocol, list) and len(protocol) == 2 else (0, 0)
    if not understands(theirs):
        remedy = "use that version, or: accel-tui supervisor stop"
        yield refusal("supervisor", f"{words}; it speaks protocol {theirs[0]}.{theirs[1]}, which we do not", remedy)
    elif version != VERSION:
        newer = "older" if is_newer(VERSION, version) else "newer"
        yield warning("supervisor", f"{words}; it is {newer} than this accel-tui {VERSION}", None)
    else:
        yield passed("supervisor", words)


def log_tail(state: Path, lines: int) -> list[str]:
    """The last lines of the supervisor's log; empty when there is none."""
    try:
        with (state / LOG_NAME).open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - _TAIL_BYTES))
            return log.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _silent(host: Host, error: Exception, *, alive: bool) -> Check:
    log = host.state / LOG_NAME
    if alive:
        holder = locks.holder(str(host.state / LOCK_NAME))
        if holder is not None and holder.pid is not None and processes.halted(holder.pid):
            message = f"the supervisor, process {holder.pid}, is halted by a signal or a debugger; runs go on"
            return warning("supervisor", message, f"kill -CONT {holder.pid}, or: accel-tui supervisor stop")
        message = f"a supervisor runs and does not answer ({error})"
        return warning("supervisor", message, "accel-tui supervisor stop; runs go on without it")
    last = [line for line in log_tail(host.state, 20) if line.strip()][-1:]
    if last and _TROUBLE.search(last[0]):
        said = sanitise(mask(last[0], _secrets(host)), limit=300)
        return warning("supervisor", f"no supervisor runs; the last one said: {said}", f"see {log}")
    return passed("supervisor", "no supervisor runs; it is started when it is needed")


def _secrets(host: Host) -> list[str]:
    from accel_tui.model.secrets import is_secret

    return [value for name, value in host.environment.items() if is_secret(name, value)]


def _hello(state: Path) -> dict[str, Any]:
    """The first exchange, through a descriptor of the folder, so that long paths work.

    Raises:
        OSError, ValueError, http.client.HTTPException: there is no supervisor, or it does not answer well.
    """
    folder = os.open(state, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(_ANSWER_SECONDS)
        with contextlib.closing(http.client.HTTPConnection("localhost", timeout=_ANSWER_SECONDS)) as connection:
            connection.sock = link
            link.connect(f"/proc/self/fd/{folder}/{SOCKET_NAME}")
            connection.request("GET", HELLO)
            answer = json.loads(connection.getresponse().read())
    finally:
        os.close(folder)
    if not isinstance(answer, dict):
        raise ValueError("it answers something else")  # noqa: TRY004 - the same kind as unreadable JSON
    return answer
