"""The picture of a log: visible lines cleaned, dressed, marked and kept, with a map of the whole beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from rich.segment import Segment
from textual.cache import LRUCache
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme

from accel_tui.logs.folds import Kind
from accel_tui.logs.frames import shown
from accel_tui.logs.lines import Line
from accel_tui.text import sanitise
from accel_tui.tui.glyphs import size as size_text
from accel_tui.tui.glyphs import thousands
from accel_tui.tui.widgets.folded import FoldedWindow, what
from accel_tui.tui.widgets.hits import marked
from accel_tui.tui.widgets.logline import Dressed, LogLine, Map, cropped
from accel_tui.tui.widgets.logwindow import LogWindow
from accel_tui.tui.widgets.narrow import NarrowWindow
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, segments

Window: TypeAlias = "LogWindow | FoldedWindow | NarrowWindow"
"""Which lines of a log stand in which row."""

KEPT_STRIPS = 1024
HEAD_BYTES = 80


class LogPicture(ScrollView, Painted):
    """Draws the lines that stand in a window of a log; which ones these are is decided by whoever inherits it."""

    def __init__(self, window: Window | None, dress: Callable[[LogLine], Dressed], *, id: str | None) -> None:
        super().__init__(id=id)
        self._window = window
        self._dress = dress
        self._left = 0
        self._visible: tuple[tuple[int, int], list[Line]] = ((0, 0), [])
        self._strips: LRUCache[tuple[int, int, int], tuple[Strip, Strip]] = LRUCache(KEPT_STRIPS)
        self._pattern: re.Pattern[str] | None = None
        self._current: int | None = None
        self._selected: tuple[int, int] | None = None
        self._map: Map = {}
        self._raw = False
        """Lines are shown as they were written: every frame, nothing folded."""
        self._empty: tuple[Cell, ...] = ()

    def redress(self) -> None:
        """Give every line its looks anew: what the looks depend on has changed."""
        self._strips.clear()
        self.refresh()

    def say_when_empty(self, lines: tuple[Cell, ...]) -> None:
        """Lines shown while the log has none."""
        if lines != self._empty:
            self._empty = lines
            self.refresh()

    def highlight(self, pattern: re.Pattern[str] | None) -> None:
        """Mark what matches in the visible lines."""
        if pattern != self._pattern:
            self._pattern = pattern
            self._forget()
            self.refresh()

    @property
    def current(self) -> int | None:
        """A byte of the line that is marked as the current one."""
        return self._current

    def select(self, begin: int, end: int) -> None:
        """Mark the lines that begin in that span of bytes; an empty one marks none."""
        selected = (begin, end) if end > begin else None
        if selected != self._selected:
            self._selected = selected
            self._forget()
            self.refresh()

    def show_map(self, rows: Map) -> None:
        """Draw a map of the whole log at the right: the roles of rows in which something stands; none without any."""
        if dict(rows) != self._map:
            self._map = dict(rows)
            self.refresh()

    def _place(self) -> tuple[int, int]:
        return (self.scroll_offset.y, self.size.height)

    def _read(self) -> list[Line]:
        first, height = self._place()
        return [] if self._window is None else self._window.lines(first, height)

    def _lines_now(self) -> list[Line]:
        """The visible lines; read once for every place and look."""
        if self._visible[0] != self._place():
            self._visible = (self._place(), self._read())
        return self._visible[1]

    def _forget(self) -> None:
        self._strips.clear()
        self._visible = ((-1, -1), [])

    def _follow_theme(self, theme: Theme) -> None:
        self._strips.clear()
        super()._follow_theme(theme)

    def render_line(self, y: int) -> Strip:
        lines = self._lines_now()
        if not lines and self._empty:
            return self.notice(self._empty, y)
        if y >= len(lines):
            return self._cropped((Strip([]), Strip([])), self.surface, self._map.get(y)) if self._map else self.line(())
        line = lines[y]
        return self._cropped(self._strip(line, y), self._surface_of(line), self._map.get(y))

    def _surface_of(self, line: Line) -> str:
        chosen = self._selected is not None and self._selected[0] <= line.offset < self._selected[1]
        return "select" if chosen or self._is_current(line) else self.surface

    def _is_current(self, line: Line) -> bool:
        return self._current is not None and line.offset <= self._current < line.end

    def _strip(self, line: Line, y: int) -> tuple[Strip, Strip]:
        """What stays when the view goes sideways, and the line."""
        key = (line.offset, line.end, line.folded)
        strips = self._strips.get(key)
        if strips is None:
            strips = self._draw(line, y)
            if line.complete:  # an unfinished line goes on under the same offset
                self._strips[key] = strips
        return strips

    def _draw(self, line: Line, y: int) -> tuple[Strip, Strip]:
        if line.discarded:
            words = f"{size_text(line.end - line.offset)} of the log were given back to the disk"
            return Strip([]), Strip(segments((Piece(words, "faint"),), self.palette, self.surface))
        text = sanitise(written(line.data) if self._raw else shown(line.data))
        if self.glyphs.ascii and not text.isascii():
            text = text.encode("ascii", "replace").decode()
        number = None if self._window is None else self._window.label(self.scroll_offset.y + y, line)
        head = sanitise(line.data[:HEAD_BYTES].partition(b"\r")[0]) if b"\r" in line.data else ""
        folded = what(Kind(line.kind), line.folded, thousands(line.folded))
        gutter, content = self._dress(LogLine(number, line.offset, text, head, folded))
        current = self._is_current(line)
        if self._pattern is not None:
            content = marked(content, self._pattern, current=current)
        surface = self._surface_of(line)
        return Strip(segments(gutter, self.palette, surface)), Strip(segments(content, self.palette, surface))

    def _cropped(self, strips: tuple[Strip, Strip], surface: str, mark: str | None) -> Strip:
        whole = self.scrollable_content_region.width - bool(self._map)  # without the scroll bar
        cut = Segment(self.glyphs.text("cut"), self.palette.style("faint", surface))
        drawn = cropped(strips, self._left, whole, self.palette.style("text", surface), cut)
        return Strip([*drawn, self._map_cell(mark)]) if self._map else drawn

    def _map_cell(self, mark: str | None) -> Segment:
        sign = " " if mark is None else self.glyphs.text("cursor")
        return Segment(sign, self.palette.style(mark or "text", self.surface))


def written(data: bytes) -> str:
    """A line with the carriage returns in it made visible."""
    return data.rstrip(b"\r").replace(b"\r", "\u240d".encode()).decode("utf-8", "replace")
