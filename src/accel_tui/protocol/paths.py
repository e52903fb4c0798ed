"""Where things are on the wire: one function per request path, used by both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from accel_tui.model.errors import RunNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

HELLO = "/hello"
DEVICES = "/devices"
HISTORY = "/devices/history"
PLAN = "/plan"
CHECK = "/check"
RUNS = "/runs"
ORPHANS = "/orphans"
PRUNABLE = "/prunable"
SESSIONS = "/sessions"
EVENTS = "/events"
METRICS = "/metrics"
SHUTDOWN = "/shutdown"

SOCKET_NAME = "supervisor.sock"
LOCK_NAME = "supervisor.lock"
SAYS = "accel-tui supervisor: "
"""What the line in the log begins with in which a supervisor says why it does not serve."""

SESSIONS_FOLDER = "sessions"
"""Where `exec` sessions that take a CPU slot keep their locks."""

LOG_NAME = "supervisor.log"

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of the largest request body that a supervisor reads."""

SILENCE_SECONDS = 10.0
"""After this long without a byte a client gives the supervisor up."""

KEEPALIVE_SECONDS = 3.0
"""How often an idle event stream carries a comment, so that silence means something."""

WAIT_LIMIT_SECONDS = 5.0
"""The longest that one request waits; clients ask again."""


def run(ref: str, action: str | None = None) -> str:
    """`/runs/REF`, or `/runs/REF/ACTION` (`stop`, `hold`, `release`, `move`, `log`, `metrics`).

    Raises:
        RunNotFoundError: neither an id nor a name can look like that.
    """
    if not ref or "/" in ref or ref in (".", ".."):
        raise RunNotFoundError(f"no run {ref[:200]!r}", remedy="`accel-tui runs --all` lists them")
    path = f"{RUNS}/{quote(ref, safe='')}"
    return path if action is None else f"{path}/{action}"


def with_query(path: str, query: Mapping[str, object | None]) -> str:
    """`path` with the parameters that are not None or False; True is written as 1."""
    kept = {name: 1 if value is True else value for name, value in query.items() if value not in (None, False)}
    return f"{path}?{urlencode(kept)}" if kept else path
