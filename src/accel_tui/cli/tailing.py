"""Reading a log for plain lines: what one line says, and following it without asking too often."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.logs.follow import follow
from accel_tui.logs.lines import Line, last_frame
from accel_tui.logs.rankfiles import rank_files
from accel_tui.logs.source import FileSource
from accel_tui.model.errors import FileError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from accel_tui.cli.output import Output
    from accel_tui.logs.source import ByteSource

ASK_SECONDS = 0.5
"""How often a supervisor is asked whether the run is finished; the log itself is looked at more often."""


def text_of(line: Line) -> str:
    """The line as text, its last progress frame alone; not sanitised, that is the output's part."""
    if line.discarded:
        return f"[{line.end - line.offset} bytes were discarded here]"
    return last_frame(line.data).decode("utf-8", "replace")


def named_file(wanted: argparse.Namespace) -> Path | None:
    """The file of `--file`, which can be read, or a folder with files of ranks; None where a run is meant.

    Raises:
        UsageError: both or neither of RUN and `--file` are given.
        FileError: the file is missing or unreadable.
    """
    if (wanted.ref is None) == (wanted.file is None):
        raise UsageError("RUN or --file PATH is needed" if wanted.ref is None else "RUN and --file exclude each other")
    if wanted.file is None:
        return None
    path = Path(wanted.file).expanduser()
    if path.is_dir():
        if not rank_files(path):
            raise FileError(f"{path}: no file in it belongs to a rank", remedy="name a log file, or torchrun's log-dir")
        return path
    FileSource.existing(path)
    return path


def tail(output: Output, source: ByteSource, start: int, ended: Callable[[], bool]) -> Iterator[Line]:
    """Lines from `start` on as they come, handed on at once, until `ended` says that no more will come."""

    def wait(seconds: float) -> None:
        output.flush()
        time.sleep(seconds)

    return follow(source, start, _seldom(ended), wait)


def _seldom(ask: Callable[[], bool]) -> Callable[[], bool]:
    """`ask`, at most once in `ASK_SECONDS`; in between the answer is no."""
    due = 0.0

    def asked() -> bool:
        nonlocal due
        if time.monotonic() < due:
            return False
        answer = ask()
        due = time.monotonic() + ASK_SECONDS
        return answer

    return asked
