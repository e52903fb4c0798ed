"""`logs`: the log of a run, or a log file, sanitised, in full or filtered."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli.output import Styled
from accel_tui.model.errors import ExitCode, UsageError
from accel_tui.model.runs import RunState

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from accel_tui.cli.context import Context
    from accel_tui.logs.source import ByteSource

EXAMPLE = "accel-tui logs last -f --rank 0"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", nargs="?", help="id, name, first letters of an id, or `last`")
    parser.add_argument(
        "--file", metavar="PATH", help="a log file, or a folder with a file for each rank, instead of a run"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    parser.add_argument("--rank", type=int, metavar="N", help="only lines of this rank")
    parser.add_argument("--grep", metavar="RE", help="only lines that this regular expression finds")
    parser.add_argument("--since", metavar="T", help="from a time (2026-01-31T12:00:00Z) or an age (10m, 2h) on")
    parser.add_argument("--errors", action="store_true", help="only lines that tell of a fault")
    parser.add_argument("--raw", action="store_true", help="the bytes as they are, into a pipe or a file")
    parser.add_argument("--json", action="store_true", help="tell a failure as a JSON document")


def run(context: Context) -> int:
    """Print it; with -f until the run is finished or somebody interrupts."""
    from accel_tui.logs.packed import open_log

    wanted = context.arguments
    shown = _Filter(wanted)
    if wanted.raw:
        if wanted.rank is not None or wanted.grep is not None or wanted.errors:
            raise UsageError("--raw gives every byte, so --rank, --grep and --errors cannot stand beside it")
        context.output.raw(b"")  # refuses a terminal before anything is read
    path, ended = _log(context)
    try:
        with open_log(path) as source:
            start = 0 if wanted.since is None else _since(wanted.since, path, source)
            if wanted.raw:
                _copy(context, source, start, ended)
            else:
                _print(context, source, start, ended, shown)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    return 0


def _print(
    context: Context, source: ByteSource, start: int, ended: Callable[[], bool], shown: Callable[[str], str | None]
) -> None:
    from accel_tui.cli.tailing import tail, text_of
    from accel_tui.logs.lines import iterate

    lines = tail(context.output, source, start, ended) if context.arguments.follow else iterate(source, start)
    printed = False
    for line in lines:
        text = text_of(line) if line.discarded else shown(text_of(line))
        if text is not None:
            context.output.log_line(text)
            printed = True
    if context.arguments.errors and not printed:
        context.output.note(
            Styled("Nothing that tells of an error was found; without --errors all lines are printed.", "muted")
        )


def _copy(context: Context, source: ByteSource, start: int, ended: Callable[[], bool]) -> None:
    """The bytes as they are; with -f as they come."""
    from accel_tui.cli.tailing import ASK_SECONDS

    while True:
        finished = not context.arguments.follow or ended()  # before the size: nothing is missed
        size = source.size()
        while start < size and (chunk := source.read(start, min(1 << 20, size - start))):
            context.output.raw(chunk)
            start += len(chunk)
        context.output.flush()
        if finished:
            return
        time.sleep(ASK_SECONDS)


class _Filter:
    """What of a line is shown: its text, or None; asked for each line in order.

    Raises UsageError when it is made with a `--grep` that is no regular expression.
    """

    def __init__(self, wanted: argparse.Namespace) -> None:
        from accel_tui.logs.severity import ErrorFilter

        self._rank: int | None = wanted.rank
        if self._rank is not None and self._rank < 0:
            raise UsageError(f"--rank {self._rank}: ranks count from 0")
        self._errors = ErrorFilter() if wanted.errors else None
        self._pattern = None
        if wanted.grep is not None:
            try:
                self._pattern = re.compile(wanted.grep)
            except re.error as error:
                raise UsageError(f"--grep is no regular expression: {error}") from None

    def __call__(self, line: str) -> str | None:
        from accel_tui.logs.ranks import merged, of_rank

        if self._errors is not None and not self._errors.takes(line):
            return None
        text = merged(line) if self._rank is None else of_rank(line, self._rank)
        if text is None or (self._pattern is not None and not self._pattern.search(text)):
            return None
        return text


def _log(context: Context) -> tuple[Path, Callable[[], bool]]:
    """The file, and whether it will not grow any more.

    Raises:
        FileError: the file of `--file` is missing or unreadable.
    """
    from accel_tui.cli.tailing import named_file

    wanted = context.arguments
    path = named_file(wanted)
    if path is not None:
        return path, lambda: False
    found = context.client.run(wanted.ref)
    if found.state is RunState.QUEUED and not wanted.follow:
        context.output.note(Styled("The log of this run is empty so far: it is queued.", "muted"))
    return Path(found.folder) / "log", lambda: context.client.run(found.id).state is RunState.FINISHED


def _since(text: str, log: Path, source: ByteSource) -> int:
    """The offset of the first line that was written at or after a moment.

    The keeper's record of times says so; where there is none, the times that stand in the lines do.

    Raises:
        UsageError: no such moment, or a log without times of either kind.
    """
    from accel_tui.logs.lines import line_start
    from accel_tui.logs.packed import standing
    from accel_tui.logs.stamps import offset_since
    from accel_tui.logs.times import moment_of, offset_at, read_times

    moment = moment_of(text, time.time())
    record = log.with_name("log.times")
    if not log.is_dir() and (record.exists() or not standing(log).exists()):
        offset = offset_at(read_times(record), moment)
        # A last line without an end was begun before: nothing was written since.
        return offset if offset >= source.size() else line_start(source, offset)
    found = offset_since(source, moment)
    if found is None:
        raise UsageError("this log has no record of times, and its lines bear none, so --since cannot be answered")
    return found
