"""What is said above a log whose file was cut, replaced or deleted while it was shown."""

from __future__ import annotations

import datetime

from accel_tui.logs.packed import LogSource, standing
from accel_tui.logs.source import FileSource
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.panes.log import words
from accel_tui.tui.widgets.pieces import Cell


class Cutting:
    """When it happened; forgotten when another log is opened."""

    def __init__(self) -> None:
        self._count, self._when = 0, 0.0
        self._gone: float | None = None
        """When the file was found deleted."""

    def look(self, source: LogSource | None, replaced: int, now: float) -> None:
        """Take in how often the bytes were replaced, and whether the file is still there."""
        if replaced != self._count:
            self._count, self._when = replaced, now
        taken = isinstance(source, FileSource) and source.deleted and not standing(source.path).exists()
        self._gone = (self._gone or now) if taken else None

    def line(self, board: Board, zone: datetime.tzinfo | None, glyphs: Glyphs) -> Cell | None:
        """What is said; None where nothing happened."""
        if self._gone is not None:
            return words.deleted(self._gone, board.now, zone, glyphs)
        return words.replaced(self._count, self._when, board.now, zone, glyphs) if self._count else None
