"""The desk: the only writer of the board. Facts and choices come in; watchers get the newest board, bursts as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from textual.dom import DOMNode
from textual.signal import Signal

from accel_tui.client.facts import (
    Connected,
    DevicesRead,
    Fact,
    Heard,
    Lost,
    Noticed,
    RunRemoved,
    RunTold,
    Snapshot,
)
from accel_tui.model.devices import Inventory
from accel_tui.model.errors import AccelError
from accel_tui.model.runs import Run, RunState
from accel_tui.tui.board import SILENT_SECONDS, Board, Draft, Level, LinkState, Notice, OpenSession
from accel_tui.tui.trail import Trail

BURST_SECONDS = 0.1
"""Facts that arrive within this time are shown together."""
NOTICES_KEPT = 200


class Desk:
    """Holds the board of one screen. Used in the event loop alone."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        demo: str | None = None,
        read_only: bool = False,
        seen: Callable[[Inventory], Inventory] = lambda inventory: inventory,
    ) -> None:
        """
        Args:
            clock: Gives seconds since the epoch.
            seen: Makes of the supervisor's devices those of the person's own environment.
        """
        self._clock, self._seen = clock, seen
        self._board = Board(clock(), demo=demo, read_only=read_only)
        self._runs: dict[str, Run] = {}
        self._runs_changed = False
        self._signal: Signal[Board] | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self.trail = Trail()
        """The last minutes of every device; grows with the board."""

    @property
    def board(self) -> Board:
        """The newest board."""
        if self._runs_changed:
            self._runs_changed = False
            newest = sorted(self._runs.values(), key=lambda run: (run.created, run.id), reverse=True)
            self._board = replace(self._board, runs=MappingProxyType({run.id: run for run in newest}))
        return self._board

    @property
    def pending(self) -> bool:
        """Facts have arrived that nobody was shown yet."""
        return self._waiting is not None

    def open(self, owner: DOMNode) -> None:
        """Give the desk the node that its signal belongs to."""
        self._signal = Signal(owner, "board")

    def watch(self, node: DOMNode, show: Callable[[Board], Any]) -> None:
        """Have `show` called with every new board as long as `node` is mounted."""
        if self._signal is not None:
            self._signal.subscribe(node, show)

    def close(self) -> None:
        """Tell nobody any more."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._signal = None

    # What the supervisor says

    def hear(self, facts: Iterable[Fact]) -> None:
        """Take facts in; they are shown within `BURST_SECONDS`, the first devices at once."""
        empty = self._board.inventory is None
        for fact in facts:
            self._take(fact)
        if empty and self._board.inventory is not None:
            self._publish()
        elif self._waiting is None:
            self._waiting = asyncio.get_running_loop().call_later(BURST_SECONDS, self._publish)

    def tick(self) -> None:
        """A second has passed: ages grow, and a supervisor without a word becomes silent."""
        now = self._clock()
        link = self._board.link
        if link.state is LinkState.LIVE and link.last_word is not None and now - link.last_word > SILENT_SECONDS:
            link = replace(link, state=LinkState.SILENT)
        self._change(now=now, link=link)

    def _take(self, fact: Fact) -> None:
        link, now = self._board.link, self._clock()
        if isinstance(fact, Lost):
            lost = replace(
                link, state=LinkState.LOST, message=fact.message, remedy=fact.remedy, again=now + fact.again_seconds
            )
            self._board = replace(self._board, now=now, link=lost)
            return
        heard = replace(link, state=LinkState.LIVE, last_word=now, message="", remedy=None, again=None)
        if isinstance(fact, Connected):
            # What is shown stays that of before until the snapshot comes.
            heard = replace(heard, state=link.state, last_word=link.last_word, greeting=fact.greeting)
        elif isinstance(fact, Heard) and self._board.inventory is None:
            heard = link
        self._board = replace(self._board, now=now, link=heard)
        self._take_news(fact)

    def _take_news(self, fact: Fact) -> None:
        if isinstance(fact, Snapshot):
            self._runs = {run.id: run for run in fact.runs}
            self._runs_changed = True
            self._take_devices(fact.inventory)
        elif isinstance(fact, DevicesRead):
            self._take_devices(fact.inventory)
        elif isinstance(fact, RunTold):
            before = self._runs.get(fact.run.id)
            self._runs[fact.run.id] = fact.run
            self._runs_changed = True
            self._tell_end(before, fact.run)
        elif isinstance(fact, RunRemoved):
            self._runs_changed = self._runs.pop(fact.id, None) is not None or self._runs_changed
        elif isinstance(fact, Noticed):
            self._note(fact.message, Level.WARNING, None)

    def _tell_end(self, before: Run | None, run: Run) -> None:
        if before is None or before.state is RunState.FINISHED or run.state is not RunState.FINISHED:
            return
        result = "ended" if run.result is None else run.result.value
        summary = "" if run.diagnosis is None else f": {run.diagnosis.summary}"
        level = Level.NOTE if result in ("succeeded", "stopped") else Level.WARNING
        self._note(f"{run.name} {result}{summary}", level, None)

    def _take_devices(self, inventory: Inventory) -> None:
        inventory = self._seen(inventory)
        self._board = replace(self._board, inventory=inventory)
        self.trail.add(inventory)
        self._keep_picks()

    def _keep_picks(self) -> None:
        """Picks of devices that are gone are given back."""
        here = {view.device.key for view in self._board.devices}
        if not here.issuperset(self._board.picks):
            self.pick([key for key in self._board.picks if key in here])

    # What the person chooses

    def pick(self, keys: Iterable[str]) -> None:
        """Replace the picked devices."""
        wanted = set(keys)
        self._change(picks=tuple(view.device.key for view in self._board.devices if view.device.key in wanted))

    def select(self, run: str | None) -> None:
        """Have Log and Metrics follow another run."""
        if run != self._board.selected:
            self._change(selected=run)

    def look_into(self, file: str) -> None:
        """Have Log show that file in place of a run's log."""
        self._change(file=file)

    def look_at(self, span: float | None) -> None:
        """Have charts show another span of time."""
        if span != self._board.span:
            self._change(span=span)

    def point_at(self, moment: float | None) -> None:
        """Put the cursor of all charts at a time, or with None away."""
        if moment != self._board.moment:
            self._change(moment=moment)

    def draft(self, draft: Draft | None) -> None:
        """Replace the job that Launch would start."""
        if draft != self._board.draft:
            self._change(draft=draft)

    def session(self, session: OpenSession | None) -> None:
        """Remember which session file is open."""
        self._change(session=session)

    def busy(self, about: str, word: str | None) -> None:
        """Say that something about a run is being asked, or with None that it was answered."""
        others = {key: value for key, value in self._board.busy.items() if key != about}
        self._change(busy=others if word is None else {**others, about: word})

    def add_runs(self, runs: Iterable[Run]) -> None:
        """Add older runs that were asked for; what is known already is newer."""
        for run in runs:
            self._runs.setdefault(run.id, run)
        self._runs_changed = True
        self._change()

    def say(self, message: str | AccelError, level: Level | None = None, remedy: str | None = None) -> None:
        """Tell the person one sentence, at the lower right; an error stays until it was looked at."""
        if isinstance(message, AccelError):
            self._note(message.message, level or Level.ERROR, remedy or message.remedy)
        else:
            self._note(message, level or Level.NOTE, remedy)
        self._change()

    def read_notices(self) -> None:
        """All notices were looked at."""
        self._change(notices=tuple(replace(notice, seen=True) for notice in self._board.notices))

    def _note(self, message: str, level: Level, remedy: str | None) -> None:
        notice = Notice(self._clock(), message, level, remedy)
        self._board = replace(self._board, notices=(*self._board.notices, notice)[-NOTICES_KEPT:])

    # Telling

    def _change(self, **parts: Any) -> None:
        """Replace parts of the board and show it at once."""
        self._board = replace(self._board, **parts)
        self._publish()

    def _publish(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self._signal is not None:
            self._signal.publish(self.board)


def settings_of(board: Board) -> Mapping[str, Any]:
    """The settings that the supervisor was started with."""
    settings = board.link.greeting.get("settings", {})
    return settings if isinstance(settings, Mapping) else {}
