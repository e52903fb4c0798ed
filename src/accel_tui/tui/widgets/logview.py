"""A log of any size: the file itself is the buffer, and only the visible lines are read, cleaned and drawn."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme
from textual.timer import Timer

from accel_tui.logs.lines import Line
from accel_tui.logs.search import Finder
from accel_tui.logs.source import ByteSource
from accel_tui.text import sanitise
from accel_tui.tui.glyphs import size as size_text
from accel_tui.tui.widgets.hits import marked
from accel_tui.tui.widgets.logwindow import LogWindow
from accel_tui.tui.widgets.narrow import NarrowWindow
from accel_tui.tui.widgets.pace import Pace
from accel_tui.tui.widgets.painted import Painted
from accel_tui.tui.widgets.pieces import Cell, Piece, segments

SIDE_STEP = 8
KEPT_STRIPS = 1024
HEAD_BYTES = 80


class LogLine(NamedTuple):
    """One line, cleaned, for whoever gives it its looks."""

    number: int | None
    """From 0; None until the lines before it were counted."""
    offset: int
    text: str
    head: str = ""
    """How the line began before a carriage return, where one stands in it: prefixes such as a rank are there."""


class Dressed(NamedTuple):
    """A line with its looks."""

    gutter: Cell
    """What stands before it and stays when the view goes sideways; the same width in all lines."""
    text: Cell
    """The line itself: hits are marked in it alone."""


class Status(NamedTuple):
    """What there is to say about the place in the log."""

    total: int = 0
    exact: bool = True
    """False while `total` is an estimate."""
    behind: int = 0
    """Lines below the last visible one."""
    following: bool = True
    replaced: int = 0
    """How often the source was cut or replaced since it was opened."""


class LogView(ScrollView, Painted, can_focus=True, inherit_bindings=False):
    """The visible part of a byte source."""

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_lines(-1)", "Up", id="move.up", show=False),
        Binding("down", "scroll_lines(1)", "Down", id="move.down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", id="move.page_up", show=False),
        Binding("pagedown", "scroll_pages(1)", "Page down", id="move.page_down", show=False),
        Binding("home", "first", "First line", id="move.first", show=False),
        Binding("left", "sideways(-1)", "Left", id="move.left", show=False),
        Binding("right", "sideways(1)", "Right", id="move.right", show=False),
        Binding("f,end", "follow", "follow", id="log.follow", tooltip="Go to the end and stay there"),
    ]

    # The height changes with every look: that alone is no reason to draw, and the scroll bar is always there.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), repaint=False)

    class Changed(Message):
        """The place in the log, its length or its following changed."""

        def __init__(self, view: LogView, status: Status) -> None:
            super().__init__()
            self.view = view
            self.status = status

        @property
        def control(self) -> LogView:
            return self.view

    def __init__(
        self,
        source: ByteSource | None = None,
        *,
        rate: float = 5.0,
        dress: Callable[[LogLine], Dressed] | None = None,
        id: str | None = None,
    ) -> None:
        """
        Args:
            source: What is shown; `open` gives another.
            rate: Looks at the source per second; 0 leaves them to the caller. Where the terminal cannot keep up with
                what is drawn, there is one a second.
            dress: Gives a line its looks: columns before it, roles. Texts that it adds must be clean.
        """
        super().__init__(id=id)
        self._rate = rate
        self._dress = dress or _plain
        self._window: LogWindow | NarrowWindow | None = None if source is None else LogWindow(source)
        self._generation = 0
        self._counting: LogWindow | NarrowWindow | None = None
        self._following = True
        self._steering = False
        self._left = 0
        self._visible: tuple[tuple[int, int], list[Line]] = ((0, 0), [])
        self._strips: LRUCache[tuple[int, int], tuple[Strip, Strip]] = LRUCache(KEPT_STRIPS)
        self._pattern: re.Pattern[str] | None = None
        self._current: int | None = None
        self._anchor: int | None = None
        """The byte that comes to the top as soon as its number is known."""
        self._status = Status()
        self._empty: tuple[Cell, ...] = ()
        self._timer: Timer | None = None
        self._pace = Pace(rate)
        self._replaced = 0

    # What it is told

    def open(self, source: ByteSource | None) -> None:
        """Show another source, from its end on."""
        self._window = None if source is None else LogWindow(source)
        self._generation = 0 if self._window is None else self._window.generation
        self._following, self._left, self._current, self._replaced = True, 0, None, 0
        self._start_over()

    def narrow(self, finder: Finder | None) -> None:
        """Show those lines alone that `finder` finds, or with None all again; the place in the log stays."""
        old, top = self._window, self.first_visible
        if old is None:
            return
        base = old.base if isinstance(old, NarrowWindow) else old
        self._window = base if finder is None else NarrowWindow(base, finder)
        self._anchor = None if top is None or self._following else top.offset
        self._start_over()

    def _start_over(self) -> None:
        self._counting = None
        self._forget()
        self.look()
        window, anchor = self._window, self._anchor
        if window is not None and window.counted:
            self._anchor = None
            self._settle(None if anchor is None else window.number_at(anchor))
        else:
            self._settle()
            self._count_all()
        self.refresh()

    @property
    def source(self) -> ByteSource | None:
        """What is shown."""
        return None if self._window is None else self._window.source

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

    def go_to(self, offset: int) -> None:
        """Show the line that holds a byte, in the middle, and mark it as the current one; following ends."""
        if self._window is None:
            return
        self._current = offset
        self._forget()
        self._set_following(False)
        self._scroll_to_line(self._window.number_at(offset) - self.size.height // 2)
        self.refresh()

    def set_rate(self, rate: float) -> None:
        """Look so many times a second from now on; 1 suits a slow terminal."""
        self._rate = rate
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / rate, self._tick) if rate > 0 else None

    @property
    def status(self) -> Status:
        """Length, place and following as of the last look."""
        return self._status

    @property
    def first_visible(self) -> Line | None:
        """The line at the top."""
        lines = self._lines_now()
        return lines[0] if lines else None

    @property
    def page(self) -> tuple[int, int]:
        """Where the visible lines begin and end in the source."""
        lines = self._lines_now()
        return (lines[0].offset, lines[-1].end) if lines else (0, 0)

    def line_here(self) -> Line | None:
        """The current line where it is visible, else the last visible one."""
        lines = self._lines_now()
        return next((line for line in lines if self._is_current(line)), lines[-1] if lines else None)

    @property
    def current(self) -> int | None:
        """A byte of the line that is marked as the current one."""
        return self._current

    # Looking at the source

    def on_mount(self) -> None:
        self.set_rate(self._rate)
        self.call_after_refresh(self.look)

    def on_hide(self, _: events.Hide) -> None:
        self._pace.pause()
        if self._timer is not None:
            self._timer.pause()

    def on_show(self, _: events.Show) -> None:
        if self._timer is not None:
            self._timer.resume()
        self.look()

    def on_resize(self) -> None:
        self._settle()

    def _tick(self) -> None:
        rate = self._pace.tick(time.monotonic())
        if rate != self._rate:
            self.set_rate(rate)
        self.look()

    def look(self) -> None:
        """Take in what was written since the last look; draws only when visible lines changed."""
        window = self._window
        if window is None or not window.look():
            return
        if window.generation != self._generation:
            self._generation = window.generation
            self._replaced += 1
            self._current = None
            self._forget()  # cut or replaced: offsets mean other lines now
        self._settle()
        self._count_all()

    def _count_all(self) -> None:
        window = self._window
        if window is not None and not window.counted and self._counting is not window:
            self._counting = window
            self.run_worker(self._count(window), group="count", exclusive=True)

    async def _count(self, window: LogWindow | NarrowWindow) -> None:
        """Count all lines in small steps; then put the view where the same lines have their exact numbers."""
        while not window.count():
            await asyncio.sleep(0)
        self._counting = None
        if window is self._window:
            top = self.first_visible
            offset = self._anchor if self._anchor is not None else None if top is None else top.offset
            self._anchor = None
            self.redress()
            self._settle(None if offset is None or self._following else window.number_at(offset))

    def _settle(self, top: int | None = None) -> None:
        """Bring height, scroll position and picture in line with what is known now."""
        window = self._window
        total = 0 if window is None else window.total
        self._steering = True
        try:
            self.virtual_size = Size(self.size.width, total)
            if self._following:
                self._scroll_to_line(total)
            elif top is not None:
                self._scroll_to_line(top)
        finally:
            self._steering = False
        before = self._visible[1]
        self._visible = (self._place(), self._read())
        if [_identity(line) for line in before] != [_identity(line) for line in self._visible[1]]:
            self.refresh()
        self._tell()

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

    # Moving

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._steering and new_value < old_value and new_value < self.max_scroll_y:
            self._set_following(False)  # not where the view only grew and stands at the end as before
        self._tell()

    def action_scroll_lines(self, lines: int) -> None:
        self._scroll_to_line(self.scroll_offset.y + lines)

    def action_scroll_pages(self, pages: int) -> None:
        self._scroll_to_line(self.scroll_offset.y + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self._set_following(False)
        self._scroll_to_line(0)

    def action_follow(self) -> None:
        self._set_following(True)
        self.look()
        self._settle()

    def action_sideways(self, steps: int) -> None:
        left = max(0, self._left + steps * SIDE_STEP)
        if left != self._left:
            self._left = left
            self.refresh()

    def _scroll_to_line(self, line: int) -> None:
        self.scroll_to(y=max(0, min(line, self.max_scroll_y)), animate=False, force=True)

    def _set_following(self, following: bool) -> None:
        if following != self._following:
            self._following = following
            self._tell()

    def _tell(self) -> None:
        window = self._window
        total = self.virtual_size.height
        behind = 0 if self._following else max(0, total - self.scroll_offset.y - self.size.height)
        exact = window is None or window.counted or not window.end
        status = Status(total, exact, behind, self._following, self._replaced)
        if status != self._status:
            self._status = status
            self.post_message(self.Changed(self, status))

    # Drawing

    def render_line(self, y: int) -> Strip:
        lines = self._lines_now()
        if not lines and self._empty:
            return self.notice(self._empty, y)
        if y >= len(lines):
            return self.line(())
        line = lines[y]
        return self._cropped(self._strip(line, y), "select" if self._is_current(line) else self.surface)

    def _is_current(self, line: Line) -> bool:
        return self._current is not None and line.offset <= self._current < line.end

    def _strip(self, line: Line, y: int) -> tuple[Strip, Strip]:
        """What stays when the view goes sideways, and the line."""
        key = (line.offset, line.end)
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
        text = sanitise(line.data)
        if self.glyphs.ascii and not text.isascii():
            text = text.encode("ascii", "replace").decode()
        number = None if self._window is None else self._window.label(self.scroll_offset.y + y, line)
        head = sanitise(line.data[:HEAD_BYTES].partition(b"\r")[0]) if b"\r" in line.data else ""
        gutter, content = self._dress(LogLine(number, line.offset, text, head))
        current = self._is_current(line)
        if self._pattern is not None:
            content = marked(content, self._pattern, current=current)
        surface = "select" if current else self.surface
        return Strip(segments(gutter, self.palette, surface)), Strip(segments(content, self.palette, surface))

    def _cropped(self, strips: tuple[Strip, Strip], surface: str) -> Strip:
        gutter, strip = strips
        whole = self.scrollable_content_region.width  # without the scroll bar
        width = max(0, whole - gutter.cell_length)
        end = self._left + width
        blank = self.palette.style("text", surface)
        if strip.cell_length <= end:
            text = strip.crop(self._left, end).adjust_cell_length(width, blank)
        else:
            cut = self.glyphs.text("cut")
            kept = strip.crop(self._left, max(self._left, end - len(cut)))
            kept = kept.adjust_cell_length(max(0, width - len(cut)), blank)
            text = Strip([*kept, Segment(cut, self.palette.style("faint", surface))])
        return Strip([*gutter, *text]).adjust_cell_length(whole, blank)


def _plain(line: LogLine) -> Dressed:
    return Dressed((), (Piece(line.text),))


def _identity(line: Line) -> tuple[int, int, bool]:
    return (line.offset, line.end, line.complete)
