"""Taking text out of a log: selected lines to the clipboard, what is shown to a file. All of it is cleaned."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.logs.lines import iterate, last_frame, line_start
from accel_tui.logs.search import Finder, blocks
from accel_tui.logs.source import ByteSource
from accel_tui.text import sanitise
from accel_tui.tui.background import in_thread
from accel_tui.tui.board import Level
from accel_tui.tui.glyphs import size as size_text
from accel_tui.tui.glyphs import thousands
from accel_tui.tui.messages import LeaveFor
from accel_tui.tui.widgets.pieces import Piece

if TYPE_CHECKING:
    from accel_tui.tui.panes.log import LogPane

CLIPBOARD_BYTES = 60_000
"""More than this terminals do not take through OSC 52."""
MOST_SHOWN_OUTSIDE = 64 * 1024 * 1024
"""Bytes at the end of a log that a pager or an editor gets."""
LONGEST_TAKEN = 1_000_000
"""Characters of one line."""


class Taking:
    """The selection of one log view, and where it goes."""

    def __init__(self, pane: LogPane) -> None:
        self._pane = pane
        self._ends: tuple[int, int] | None = None
        """Where the lines begin at which the selection was begun, and to which it reaches."""

    def clear(self) -> bool:
        """Give the selection up; False when there is none."""
        there, self._ends = self._ends is not None, None
        self._pane.view.select(0, 0)
        return there

    def extend(self, lines: int) -> None:
        """Take one line more in, below or above."""
        view = self._pane.view
        if self._ends is None:
            line = view.line_here()
            if line is None:
                return
            self._ends = (line.offset, line.offset)
            view.go_to(line.offset)
        else:
            place = view.step(self._ends[1], lines)
            self._ends = (self._ends[0], place)
            view.go_to(place, near=True)
        low, high = sorted(self._ends)
        view.select(low, view.span(high)[1])

    def copy(self) -> None:
        """The selected lines, else the current one, to the clipboard."""
        view, desk = self._pane.view, self._pane.services.desk
        here = view.line_here()
        if here is None or view.source is None:
            return
        low, high = (here.offset, here.end)
        if self._ends is not None:
            low, high = min(self._ends), view.span(max(self._ends))[1]
        lines, used = [], 0
        for text in texts(view.source, low, high, view.finder):
            lines.append(text)
            used += len(text.encode()) + 1
            if used > CLIPBOARD_BYTES:
                key = self._pane.services.key("item.export")
                words = f"more than {size_text(CLIPBOARD_BYTES)}: terminals do not take it; {key} writes a file"
                desk.say(words, Level.WARNING)
                return
        self._pane.app.copy_to_clipboard("\n".join(lines))
        said = "copied the line" if len(lines) == 1 else f"copied {thousands(len(lines))} lines"
        in_tmux = (
            "; tmux passes it on with `set -g set-clipboard on`" if self._pane.services.environment.get("TMUX") else ""
        )
        desk.say(said + in_tmux)

    def export(self, name: str, finder: Finder | None) -> None:
        """Ask where to, then write the selected lines, else all that the view shows."""
        from accel_tui.tui.screens.save import SaveDialog

        services = self._pane.services
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "log"
        proposed = Path(services.cwd) / f"{stem.removesuffix('.log')}-shown.log"
        what = "the selected lines" if self._ends is not None else "all lines that are shown"
        told = [(Piece(f"Written are {what}, as clean text.", "muted"),)]
        dialog = SaveDialog("Write to a file", str(proposed), [*told], services.cwd, ".log")
        self._pane.app.push_screen(dialog, lambda path: self._consented(path, finder) if path is not None else None)

    def _consented(self, path: str, finder: Finder | None) -> None:
        def write() -> None:
            self._pane.run_worker(self._write(Path(path), finder), group="export", exclusive=True)

        if not Path(path).exists():
            write()
            return
        from accel_tui.tui.screens.confirm import Confirm

        lines = [
            (Piece(path, "strong", bold=True),),
            (Piece("There is such a file; it would be written over.", "warn"),),
        ]
        question = Confirm("Write over it", lines, yes="Write over it", key="o")
        self._pane.app.push_screen(question, lambda sure: write() if sure else None)

    def open_in(self, variable: str, usual: str) -> None:
        """Open the end of what is shown, cleaned, in the program that a variable names; the screen comes back then."""
        name = self._pane.services.environment.get(variable) or usual
        try:
            argv = shlex.split(name)
        except ValueError:
            argv = []
        program = shutil.which(argv[0]) if argv else None
        if program is None:
            self._pane.services.desk.say(f"${variable} is {name!r}, which is not here", Level.WARNING)
            return
        self._pane.run_worker(self._leave((program, *argv[1:])), group="export", exclusive=True)

    async def _leave(self, argv: tuple[str, ...]) -> None:
        view = self._pane.view
        source = view.source
        if source is None:
            return
        size, finder = source.size(), view.finder
        begin = line_start(source, max(0, size - MOST_SHOWN_OUTSIDE))

        def write() -> str:
            descriptor, path = tempfile.mkstemp(prefix="accel-tui-", suffix=".log")
            os.close(descriptor)
            write_lines(Path(path), texts(source, begin, size, finder))
            return path

        try:
            path = await in_thread("accel-tui writes", write)
        except OSError as fault:
            self._pane.services.desk.say(f"no file for {argv[0]} could be written: {fault.strerror}", Level.ERROR)
            return
        self._pane.post_message(LeaveFor((*argv, path), path))

    async def _write(self, path: Path, finder: Finder | None) -> None:
        view, desk = self._pane.view, self._pane.services.desk
        source = view.source
        if source is None:
            return
        low, high = (0, source.size())
        if self._ends is not None:
            low, high = min(self._ends), view.span(max(self._ends))[1]
        try:
            count = await in_thread("accel-tui writes", lambda: write_lines(path, texts(source, low, high, finder)))
        except OSError as fault:
            desk.say(f"{path} cannot be written: {fault.strerror}", Level.ERROR)
            return
        desk.say(f"wrote {thousands(count)} {'line' if count == 1 else 'lines'} to {path}")


def write_lines(path: Path, lines: Iterator[str]) -> int:
    """Write lines to a file beside it, and put that in its place once it is whole; how many there were.

    Raises:
        OSError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    count = 0
    try:
        with beside.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return count


def texts(source: ByteSource, begin: int, end: int, finder: Finder | None) -> Iterator[str]:
    """The lines that begin between two bytes (`begin` is a line's beginning), cleaned; those that `finder` finds."""
    if finder is None:
        for line in iterate(source, begin):
            if line.offset >= end:
                return
            words = f"[{size_text(line.end - line.offset)} were given back to the disk]" if line.discarded else ""
            yield words or _clean(line.data)
        return
    for place, block in blocks(source, begin, source.size()):
        for start, _ in finder.hits(block):
            first = block.rfind(b"\n", 0, start) + 1
            if place + first >= end:
                return
            last = block.find(b"\n", start)
            yield _clean(block[first : len(block) if last < 0 else last])


def _clean(data: bytes) -> str:
    return sanitise(last_frame(data), limit=LONGEST_TAKEN)
