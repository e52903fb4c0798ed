"""`supervisor`: the background process: its status, or its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.cli import figures
from accel_tui.cli.output import Styled
from accel_tui.model.errors import NotPossibleError, StateFolderError, SupervisorError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui supervisor status --json"

_NOBODY: dict[str, Any] = {
    "schema": 1, "pid": None, "version": None, "queued": 0, "running": 0, "started": None, "logout": None,
}  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument(
        "action",
        choices=("status", "stop", "enable", "disable"),
        help="look at it; end it alone, runs go on; have it started at boot, or not any more",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Never starts a supervisor."""
    if context.arguments.action in ("enable", "disable"):
        return _at_boot(context, on=context.arguments.action == "enable")
    if context.arguments.action == "stop":
        return _stop(context)
    status = _status(context)
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
        logout = status.get("logout")
        if logout:
            sign = "passed" if logout["fate"] == "survive" else "warning"
            context.output.line(context.output.glyph(sign), f" at logout: {logout['message']}")
            if logout["remedy"]:
                context.output.line("  ", Styled(context.output.hint(logout["remedy"]), "muted"))
    return 0


def _status(context: Context) -> dict[str, Any]:
    """The status document; without a supervisor the pid is None."""
    from accel_tui.client import starting

    client = context.unconnected()
    if not starting.listens(client.state_dir) and not starting.lock_held(client.state_dir):
        return dict(_NOBODY)
    client.connect(start=False)
    hello = client.hello()
    told = ("pid", "version", "queued", "running", "started", "logout")
    return {"schema": 1, **{name: hello.get(name) for name in told}}


def _at_boot(context: Context, *, on: bool) -> int:
    """Write or remove the unit of the user's manager; says what is missing for it to work."""
    from accel_tui.executors import logout, unit
    from accel_tui.executors.detached import LINGER_FOLDER

    if context.demo is not None:
        raise NotPossibleError("a demonstration is not started at boot")
    try:
        place = unit.path(context.environment)
        there = True
        if on:
            unit.enable(str(context.state_dir), context.environment)
        else:
            there = unit.disable(context.environment)
    except OSError as error:
        raise StateFolderError(f"{place}: {error.strerror}") from None
    lingers = (LINGER_FOLDER / logout.account()).exists()
    if context.arguments.json:
        context.output.document({"schema": 1, "enabled": on, "unit": str(place), "lingers": lingers})
        return 0
    if not on:
        words = f"{place} is gone; nothing starts at boot" if there else "nothing was enabled"
        context.output.note(words)
        return 0
    context.output.note(Styled(f"{place}", "strong"), " starts the supervisor with your user manager")
    if not lingers:
        context.output.note(context.output.glyph("warning"), " that manager starts at your first login, not at boot:")
        context.output.note("  ", Styled("loginctl enable-linger", "muted"))
    return 0


def _stop(context: Context) -> int:
    """Ask it to end, and end it all the same where it does not answer: it owns nothing that would be lost with it."""
    import signal

    from accel_tui.client import starting
    from accel_tui.keeper import processes

    folder = str(context.folder_in_force)
    status: dict[str, Any] = {**_NOBODY, "queued": None, "running": None}
    there = True
    who = starting.holder(folder)
    if who is not None and processes.halted(who[0]):
        processes.signal_exact(*who, signal.SIGCONT)  # halted, it could not be asked
        context.output.note(context.output.glyph("warning"), " it was halted; it goes on, to end by itself")
    try:
        status = _status(context)
        there = status["pid"] is not None
        if there:
            client = context.unconnected()
            client.connect(start=False)
            client.shutdown()
    except SupervisorError as silent:
        if starting.lock_held(folder):
            if not starting.end_by_force(folder):
                raise
            words = f" it did not answer ({silent.message}); it was ended by force"
            context.output.note(context.output.glyph("warning"), words)
    if context.arguments.json:
        context.output.document({**status, "pid": None})
    elif not there:
        context.output.note("no supervisor runs")
    elif status["running"] is None:
        context.output.note(Styled("the supervisor has ended; ", "strong"), "runs go on, queued ones wait for the next")
    else:
        context.output.note(
            Styled("the supervisor has ended; ", "strong"),
            f"{status['running']} running go on, {status['queued']} queued wait until a verb starts it again",
        )
    return 0
