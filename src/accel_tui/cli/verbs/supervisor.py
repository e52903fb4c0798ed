"""`supervisor`: the background process: its status, or its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.cli import figures
from accel_tui.cli.output import Styled
from accel_tui.model.errors import SupervisorError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui supervisor status --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("action", choices=("status", "stop"), help="look at it, or end it alone: runs go on")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Never starts a supervisor."""
    status = _status(context)
    if context.arguments.action == "stop":
        return _stop(context, status)
    if context.arguments.json:
        context.output.document(status)
    elif status["pid"] is None:
        context.output.line(context.output.glyph("free"), " no supervisor runs; any verb that needs one starts it")
    else:
        since = f", since {figures.clock(status['started'])}" if status.get("started") else ""
        context.output.line(
            context.output.glyph("running"),
            f" supervisor {status['version']} runs, pid {status['pid']}{since}: "
            f"{status['running']} running, {status['queued']} queued",
        )
    return 0


def _status(context: Context) -> dict[str, Any]:
    """The status document; without a supervisor the pid is None."""
    from accel_tui.client import starting

    client = context.unconnected()
    if not starting.listens(client.state_dir) and not starting.lock_held(client.state_dir):
        return {"schema": 1, "pid": None, "version": None, "queued": 0, "running": 0, "started": None}
    client.connect(start=False)
    hello = client.hello()
    return {"schema": 1, **{name: hello.get(name) for name in ("pid", "version", "queued", "running", "started")}}


def _stop(context: Context, status: dict[str, Any]) -> int:
    if status["pid"] is not None:
        client = context.unconnected()
        try:
            client.connect(start=False)
            client.shutdown()
        except SupervisorError:
            if _status(context)["pid"] is not None:
                raise
    if context.arguments.json:
        context.output.document({**status, "pid": None})
    elif status["pid"] is None:
        context.output.note("no supervisor runs")
    else:
        context.output.note(
            Styled("the supervisor has ended; ", "strong"),
            f"{status['running']} running go on, {status['queued']} queued wait until a verb starts it again",
        )
    return 0
