"""`orphans`: processes that hold a device and that nobody looks after; their end, one by one."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from accel_tui.cli import figures
from accel_tui.cli.output import Part, Styled
from accel_tui.model.errors import CheckRefusedError, NotPossibleError
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context
    from accel_tui.model.orphans import Orphan

EXAMPLE = "accel-tui orphans --end 4711"

_POLL_SECONDS = 0.2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("--end", metavar="PID", type=int, help="end this one, with all below it; asks first")
    parser.add_argument("--now", action="store_true", help="with --end: kill at once")
    parser.add_argument("--yes", action="store_true", help="with --end: do not ask")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """List them, or end one."""
    found = context.client.orphans()
    if context.arguments.end is not None:
        return _end(context, context.arguments.end, found)
    if context.arguments.json:
        context.output.document({"schema": 1, "orphans": [orphan.to_json() for orphan in found]})
    elif not found:
        context.output.line(Styled("No process holds a device without anybody looking after it.", "muted"))
    else:
        rows: list[list[Part]] = [
            [
                Styled(str(one.pid), "strong"),
                one.user or "hidden",
                figures.duration(one.age_seconds),
                " ".join(one.devices) or "none",
                one.reason,
                one.command or "",
            ]
            for one in found
        ]
        context.output.table(("PID", "user", "age", "devices", "why", "command"), rows, right=frozenset({0, 2}))
    return 0


def _end(context: Context, pid: int, found: tuple[Orphan, ...]) -> int:
    orphan = next((one for one in found if one.pid == pid), None)
    if orphan is None:
        raise NotPossibleError(f"process {pid} is no orphan", remedy="`accel-tui orphans` lists them")
    if orphan.mine and not context.arguments.yes:
        _ask(context, orphan)
    context.client.end_orphan(orphan, now=context.arguments.now)
    settings = context.client.hello()["settings"]
    end = time.monotonic() + float(settings["grace_seconds"]) + 10
    while any((one.pid, one.start_time) == (orphan.pid, orphan.start_time) for one in context.client.orphans()):
        if time.monotonic() > end:
            raise NotPossibleError(
                f"process {pid} was killed and is still there",
                remedy="the driver holds it; `accel-tui doctor` may tell",
            )
        time.sleep(_POLL_SECONDS)
    if context.arguments.json:
        context.output.document({"schema": 1, "orphans": [orphan.to_json()]})
    else:
        context.output.note(context.output.glyph("stopped"), f" process {pid} has ended")
    return 0


def _ask(context: Context, orphan: Orphan) -> None:
    """The question, answered on a terminal; without one it stays open.

    Raises:
        CheckRefusedError: it was not answered with yes.
    """
    words = f"end process {orphan.pid} ({orphan.command or 'unknown'}), {figures.duration(orphan.age_seconds)} old?"
    if sys.stdin.isatty() and not context.output.json_wanted:
        context.output.note(context.output.glyph("ask"), f" {words} [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    check = Check("end-orphan", CheckLevel.ASK, words, "--yes answers it", 0.0)
    raise CheckRefusedError(f"nothing was ended: {words}", checks=[check], remedy="answer with --yes")
