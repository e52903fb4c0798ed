"""Searching in the Log pane: the line in which one types, the count of hits, and going from one to the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from accel_tui.logs.lines import line_start
from accel_tui.logs.matches import Matches
from accel_tui.logs.search import Both, Finder, Hit, Needle, backward, forward
from accel_tui.logs.severity import Problems
from accel_tui.logs.source import ByteSource
from accel_tui.model.errors import UsageError
from accel_tui.tui.glyphs import thousands
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.logview import LogView
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_TYPING_SECONDS = 0.15
"""A pause in typing this long starts the counting."""
_TELL_SECONDS = 0.2
TURN_SECONDS = 0.003
"""Searching goes on for so long before others get their turn: a key takes several turns, so one must be short."""


class FindLine(Horizontal):
    """One line: what is looked for, how often it is there, and the keys."""

    DEFAULT_CSS = """
    FindLine { height: 1; display: none; }
    FindLine.-open { display: block; }
    FindLine #find-sign { width: 2; }
    FindLine Input { width: 2fr; max-width: 48; }
    FindLine #found { width: 3fr; margin-left: 2; }
    """

    class Sought(Message):
        """What is looked for is another; `needle` is None when nothing is."""

        def __init__(self, needle: Needle | None, *, go: bool) -> None:
            super().__init__()
            self.needle = needle
            self.go = go
            """Go to the nearest hit."""

    def __init__(self, keys: Cell) -> None:
        """`keys` is shown at the right while there is room."""
        super().__init__(id="find")
        self._keys = keys
        self._regex = False
        self._needle: Needle | None = None

    def compose(self) -> ComposeResult:
        yield Lines([(Piece("/ ", "accent", bold=True),)], id="find-sign")
        yield Input(placeholder="text; ^r for a regular expression", compact=True, id="find-text")
        yield Lines([()], id="found")

    @property
    def input(self) -> Input:
        return self.query_one(Input)

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self) -> None:
        """Begin, or go on, to type."""
        self.add_class("-open")
        self.screen.set_focus(self.input)
        self.input.action_select_all()

    def close(self) -> None:
        """Look for nothing any more."""
        self.remove_class("-open")
        self.input.value = ""
        self._needle = None
        self.post_message(self.Sought(None, go=False))

    def toggle_regex(self) -> None:
        """Take the text as a regular expression, or as it is."""
        self._regex = not self._regex
        self._seek(go=False)

    def tell(self, count: Cell) -> None:
        """Say how many hits there are."""
        mode = Piece(f"   regex {'on' if self._regex else 'off'}", "muted")
        self.query_one("#found", Lines).show([Ends(count, (*self._keys, mode))])

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self._seek(go=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._seek(go=True)

    def _seek(self, *, go: bool) -> None:
        text = self.input.value
        try:
            needle = Needle(text, regex=self._regex) if text else None
        except UsageError as fault:
            self.input.add_class("-invalid")
            self.tell((Piece(fault.message, "error"),))
            return
        self.input.remove_class("-invalid")
        self._needle = needle
        self.tell(())
        self.post_message(self.Sought(needle, go=go))


class Search:
    """Hits of one needle in the view: counted beside everything else, visited in both directions."""

    def __init__(self, view: LogView, line: FindLine, moved: Callable[[], None]) -> None:
        """`moved` is called when hits were found or forgotten."""
        self._view, self._line, self._hits_changed = view, line, moved
        self.needle: Needle | None = None
        self._within: Finder | None = None
        self._matches: Matches | None = None
        self._counting = False

    def set(self, needle: Needle | None, within: Finder | None) -> None:
        """Look for something else, or in other lines: those that `within` finds."""
        if needle is not None and needle == self.needle and within is self._within and self._matches is not None:
            self._tell(self._matches)
            return
        self.needle, self._within = needle, within
        source = self._view.source
        self._view.highlight(None if needle is None else needle.pattern)
        finder = self.finder
        self._matches = None if finder is None or source is None else Matches(source, finder)
        self._counting = False
        self._hits_changed()
        self.count()

    @property
    def finder(self) -> Finder | None:
        """What counts as a hit."""
        if self.needle is None or self._within is None:
            return self.needle
        return Both(self._within, self.needle)

    def places(self) -> Iterable[int]:
        """Bytes at which hits begin, at most one for every stretch of the log: enough for a map."""
        return () if self._matches is None else self._matches.places

    def count(self) -> None:
        """Go on counting where the log has grown."""
        if self._matches is not None and not self._counting:
            self._counting = True
            self._view.run_worker(self._count(self._matches), group="hits", exclusive=True)

    async def _count(self, matches: Matches) -> None:
        if not matches.position:
            await asyncio.sleep(_TYPING_SECONDS)
        with self._view.searching():
            await self._count_all(matches)
        self._counting = False
        self._tell(matches)

    async def _count_all(self, matches: Matches) -> None:
        told = turn = time.monotonic()
        while not matches.step():
            now = time.monotonic()
            if now - turn > TURN_SECONDS:
                await asyncio.sleep(0)
                turn = time.monotonic()
            if now - told > _TELL_SECONDS:
                told = now
                self._tell(matches)

    def _tell(self, matches: Matches) -> None:
        if matches is not self._matches:
            return
        self._hits_changed()
        count = f"{thousands(matches.count)} {'hit' if matches.count == 1 else 'hits'}"
        if not matches.done:
            share = int(100 * matches.position / max(1, matches.seen))
            self._line.tell((Piece(count), Piece(f" so far, {share} % searched", "muted")))
            return
        if not matches.count:
            self._line.tell((Piece("no hits", "warn"),))
            return
        here = self._view.current
        start = None if here is None else matches.number_at(here)
        hit = None if start is None else matches.hit(start)
        if start is not None and hit is not None and hit.start == here:
            self._line.tell((Piece(f"{thousands(start + 1)} of {count}"),))
        else:
            self._line.tell((Piece(count),))

    def moved(self) -> None:
        """The current line is another: say which hit it is."""
        if self._matches is not None and self._matches.done:
            self._tell(self._matches)


async def seek(view: LogView, finder: Finder, *, ahead: bool, here: bool = False, around: bool = True) -> bool | None:
    """Go to the next hit (`ahead`) or the one before; with `here` a visible one counts as the next.

    Returns False when there is none, and None when it was found only beyond the end, or the beginning, of the log.
    Others get their turn between two pieces.
    """
    source = view.source
    if source is None:
        return False
    end = source.size()
    trouble = isinstance(finder, Problems)
    first, last = view.page
    current = view.current
    if current is None or not first <= current < last:
        current = None
    if ahead:
        after = first - 1 if here or current is None else current
        if trouble and current is not None and after == current:
            after = view.span(current)[1] - 1  # a traceback that is shown as one line is one trouble
        passes = [forward(source, finder, after, end), forward(source, finder, -1, after + 1)]
    else:
        before = last if here or current is None else line_start(source, current)
        if trouble and before not in (last, 0):
            before = view.span(before)[0]
        passes = [backward(source, finder, before), _behind(source, finder, before, end)]
    turn = time.monotonic()
    for number, hits in enumerate(passes[: 2 if around else 1]):
        for hit in hits:
            if hit is None:
                if time.monotonic() - turn > TURN_SECONDS:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
                continue
            view.go_to(hit.start, open_fold=not trouble)
            return None if number else True
    return False


def _behind(source: ByteSource, finder: Finder, before: int, end: int) -> Iterator[Hit | None]:
    """From the end of the log down to where the search began."""
    for hit in backward(source, finder, end):
        if hit is not None and hit.start < before:
            return
        yield hit


async def seek_first(view: LogView, hits: Iterator[Hit | None]) -> bool:
    """Go to the first of `hits`; False when there is none. Others get their turn between two pieces."""
    turn = time.monotonic()
    for hit in hits:
        if hit is not None:
            view.go_to(hit.start)
            return True
        if time.monotonic() - turn > TURN_SECONDS:
            await asyncio.sleep(0)
            turn = time.monotonic()
    return False
