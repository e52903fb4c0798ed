"""A log of any size: the file itself is the buffer, and only the visible lines are read, cleaned and drawn."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.timer import Timer

from accel_tui.logs.lines import Line
from accel_tui.logs.search import Finder
from accel_tui.logs.source import ByteSource
from accel_tui.tui.widgets.folded import FoldedWindow
from accel_tui.tui.widgets.logline import Dressed, LogLine, Status, plain
from accel_tui.tui.widgets.logpicture import LogPicture, Window
from accel_tui.tui.widgets.logwindow import LogWindow
from accel_tui.tui.widgets.narrow import NarrowWindow
from accel_tui.tui.widgets.pace import Pace

SIDE_STEP = 8
_HELD_SECONDS = 0.05
_COUNTED_SECONDS = 0.02
"""How often somebody who waits for line numbers looks whether they are known."""


class LogView(LogPicture, can_focus=True, inherit_bindings=False):
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
        folds: bool = False,
        id: str | None = None,
    ) -> None:
        """
        Args:
            source: What is shown; `open` gives another.
            rate: Looks at the source per second; 0 leaves them to the caller. Where the terminal cannot keep up with
                what is drawn, there is one a second.
            folds: Show tracebacks, repeated lines and frames of progress bars as one row each, in sources that `open`
                gives.
            dress: Gives a line its looks: columns before it, roles. Texts that it adds must be clean.
        """
        super().__init__(None if source is None else LogWindow(source), dress or plain, id=id)
        self._rate = rate
        self._folds = folds
        self._folded: FoldedWindow | None = None
        self._narrow: NarrowWindow | None = None
        """The lines that are shown alone."""
        self._narrow_folds = False
        self._generation = 0
        self._counting: Window | None = None
        self._following = True
        self._steering = False
        self._anchor: int | None = None
        """The byte that comes to the top as soon as its number is known."""
        self._status = Status()
        self._timer: Timer | None = None
        self._pace = Pace(rate)
        self._replaced = 0
        self._searching = 0

    # What it is told

    def open(self, source: ByteSource | None) -> None:
        """Show another source, from its end on."""
        self._folded = self._narrow = None
        self._window = None if source is None else self._whole(LogWindow(source))
        self._generation = 0 if self._window is None else self._window.generation
        self._following, self._left, self._current, self._replaced = True, 0, None, 0
        self._selected = None
        self._start_over()

    def narrow(self, finder: Finder | None, *, folds: bool = False) -> None:
        """Show those lines alone that `finder` finds, or with None all again; the place in the log stays.

        With `folds` what belongs together among them is one row, as in the whole log.
        """
        window = self._window
        if window is not None:
            self._narrow = None if finder is None else NarrowWindow(window.base, finder)
            self._narrow_folds = folds
            self._rearrange(window)

    def _rearrange(self, old: Window) -> None:
        """Show what is wanted now in place of another window on the same source."""
        top = self.first_visible
        if self._narrow is None:
            self._window = self._whole(old.base)
        else:
            folded = self._folds and self._narrow_folds and not self._raw
            self._window = FoldedWindow(self._narrow) if folded else self._narrow
        self._anchor = None if top is None or self._following else top.offset
        self._start_over()

    def _whole(self, base: LogWindow) -> Window:
        """All lines, folded where that is wanted; what a person opened stays open."""
        if not self._folds or self._raw:
            return base
        if self._folded is None or self._folded.base is not base:
            self._folded = FoldedWindow(base)
        return self._folded

    def show_raw(self, raw: bool) -> None:
        """Show lines as they were written: every frame, nothing folded; or again what a person reads."""
        if raw != self._raw:
            self._raw = raw
            if self._window is not None:
                self._rearrange(self._window)
            self._forget()
            self.refresh()

    @property
    def raw(self) -> bool:
        """Lines are shown as they were written."""
        return self._raw

    def toggle_fold(self) -> bool:
        """Open the fold of the current line, or close it again; False where there is none."""
        line, window = self.line_here(), self._window
        if line is None or not isinstance(window, FoldedWindow) or not window.toggle(line.offset):
            return False
        self._folds_changed(window)
        return True

    def toggle_folds(self) -> bool | None:
        """Open all folds, or close all; whether they are open now, None where nothing is folded."""
        window = self._window
        if not isinstance(window, FoldedWindow):
            return None
        opened = window.toggle_all()
        self._folds_changed(window)
        return opened

    def _folds_changed(self, window: FoldedWindow) -> None:
        lines = self._visible[1]
        offset = lines[0].offset if lines else 0
        self._forget()
        self._settle(None if self._following else window.number_at(offset))
        self.refresh()

    def span(self, offset: int) -> tuple[int, int]:
        """Where the row that shows a byte begins and ends in the source."""
        window = self._window
        found = [] if window is None else window.lines(window.number_at(offset), 1)
        return (found[0].offset, found[0].end) if found else (offset, offset + 1)

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

    def go_to(self, offset: int, *, near: bool = False, open_fold: bool = True) -> None:
        """Show the line that holds a byte and mark it as the current one; following ends.

        It stands in the middle then; with `near` the view moves no further than it has to. A fold that hides it is
        opened, unless the line that the fold shows is good enough.
        """
        if self._window is None:
            return
        self._current = offset
        self._forget()
        if open_fold and isinstance(self._window, FoldedWindow) and self._window.reveal(offset):
            self._settle()
        self._set_following(False)
        number, top, height = self._window.number_at(offset), self.scroll_offset.y, self.size.height
        self._scroll_to_line(max(number - height + 1, min(top, number)) if near else number - height // 2)
        self.refresh()

    def step(self, offset: int, lines: int) -> int:
        """Where the line begins that is shown `lines` below the one that holds a byte; the last one at the ends."""
        window = self._window
        if window is None:
            return offset
        number = window.number_at(offset) + lines
        return window.offset_of(max(0, min(number, window.total - 1)))

    @property
    def finder(self) -> Finder | None:
        """What finds the lines that are shown; None where all are."""
        return None if self._narrow is None else self._narrow.finder

    async def go_to_line(self, number: int) -> None:
        """Show the line of that number (from 0) in the whole log, or its last, once all lines were counted."""
        window = self._window
        if window is None:
            return
        base = window.base
        while not base.counted and window is self._window:
            await asyncio.sleep(_COUNTED_SECONDS)
        if window is self._window:
            self.go_to(base.offset_of(max(0, min(number, base.total - 1))))

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Something that a person waits for looks through the log: what can wait does."""
        self._searching += 1
        try:
            yield
        finally:
            self._searching -= 1

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

    async def _count(self, window: Window) -> None:
        """Count all lines in small steps; then put the view where the same lines have their exact numbers."""
        exact = window.exact
        while not window.count():
            if window.exact and not exact:
                exact = True
                self._place_exactly(window)
            await asyncio.sleep(0)
            while window.exact and self._searching:  # what a person waits for comes before folds
                await asyncio.sleep(_HELD_SECONDS)
        self._counting = None
        self._place_exactly(window)

    def _place_exactly(self, window: Window) -> None:
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
        total = 0 if window is None else window.all_lines
        below = self.scroll_offset.y + self.size.height
        behind = 0 if self._following or window is None else max(0, window.below(below))
        exact = window is None or window.exact or not window.end
        status = Status(total, exact, behind, self._following, self._replaced)
        if status != self._status:
            self._status = status
            self.post_message(self.Changed(self, status))


def _identity(line: Line) -> tuple[int, int, bool]:
    return (line.offset, line.end + line.folded, line.complete)
