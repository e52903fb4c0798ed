"""Places in a log that a person goes to: a line, a share, a time, marks, and the line that says why it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeGuard

from accel_tui.logs.lines import line_start
from accel_tui.logs.search import forward
from accel_tui.logs.severity import Problems, Severity
from accel_tui.logs.stamps import offset_since
from accel_tui.model.runs import Run
from accel_tui.tui.board import Level
from accel_tui.tui.panes.log.going import HELP, Target, target

if TYPE_CHECKING:
    from accel_tui.logs.times import Times
    from accel_tui.tui.panes.log import LogPane


class Places:
    """Marks by log, and how to get somewhere."""

    def __init__(self, pane: LogPane, changed: Callable[[], None]) -> None:
        """`changed` is called when marks came or went."""
        self._pane, self._changed = pane, changed
        self._marks: dict[str, set[int]] = {}
        self._key = ""

    def open(self, key: str | None) -> None:
        """Another log is shown; marks of one stay as long as the screen."""
        self._key = key or ""

    @property
    def marks(self) -> set[int]:
        """Beginnings of marked lines."""
        return self._marks.setdefault(self._key, set())

    def is_marked(self, offset: int) -> bool:
        return offset in self.marks

    def on_map(self) -> Iterable[tuple[int, str]]:
        """For the map."""
        return ((place, "accent") for place in self.marks)

    def mark(self) -> None:
        """Mark the line that is marked as the current one, else the last visible; again takes it away."""
        line = self._pane.view.line_here()
        if line is None:
            return
        self.marks.symmetric_difference_update({line.offset})
        self._pane.view.redress()
        self._changed()

    def next_mark(self) -> None:
        """The next one below, or from the beginning on."""
        view = self._pane.view
        here = view.current if view.current is not None else view.page[0] - 1
        places = sorted(self.marks)
        view.go_to(next((place for place in places if place > here), places[0]))

    def ask(self, times: Times | None) -> None:
        """Ask where to, and go there."""
        from accel_tui.tui.screens.ask import AskLine

        def wrong(text: str) -> str | None:
            found = self._target(text)
            if found is None:
                return f"no line, share or time: {text}"
            return self._why_not(found, times)

        def go(text: str | None) -> None:
            found = None if text is None else self._target(text)
            if found is not None:
                self._go(found, times)

        self._pane.app.push_screen(AskLine("Go to", HELP, wrong), go)

    def typed(self, words: str, times: Times | None) -> tuple[str, Callable[[], object]] | None:
        """What the palette offers for words that name a place in the log."""
        found = self._target(words) if self._pane.view.source is not None else None
        if found is None or self._why_not(found, times) is not None:
            return None
        return f"go to {found.words}", lambda: self._go(found, times)

    def _target(self, text: str) -> Target | None:
        services = self._pane.services
        return target(text, services.clock(), services.zone)

    def _why_not(self, found: Target, times: Times | None) -> str | None:
        if found.moment is None or _recorded(times):
            return None
        source = self._pane.view.source
        if source is None or offset_since(source, found.moment) is None:
            return "this log has no record of times, and its lines bear none"
        return None

    def _go(self, found: Target, times: Times | None) -> None:
        view, source = self._pane.view, self._pane.view.source
        if source is None:
            return
        if found.line is not None:
            self._pane.run_worker(view.go_to_line(found.line - 1), group="go", exclusive=True)
            return
        size = source.size()
        place = int(size * found.share) if found.share is not None else 0
        if found.moment is not None:
            place = times.offset_at(found.moment) if _recorded(times) else offset_since(source, found.moment) or 0
        view.go_to(line_start(source, min(place, max(0, size - 1))))

    async def cause(self, run: Run | None) -> None:
        """The line of the diagnosis, else the first that tells of an error."""
        view, source = self._pane.view, self._pane.view.source
        if source is None:
            return
        line = None if run is None or run.diagnosis is None else run.diagnosis.line
        if line is not None:
            await view.go_to_line(line - 1)
            return
        from accel_tui.tui.panes.log.finding import seek_first

        if not await seek_first(view, forward(source, Problems(Severity.ERROR), -1, source.size())):
            self._pane.services.desk.say("no line tells of an error", Level.NOTE)


def _recorded(times: Times | None) -> TypeGuard[Times]:
    """Whether the keeper wrote down when this log grew."""
    return times is not None and times.last is not None
