"""Planning beside the typing: the newest question is answered, then its files are looked at; nothing is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from accel_tui.tui.background import in_thread
from accel_tui.tui.panes.job import outlook
from accel_tui.tui.panes.job.outlook import Outlook, Question

PAUSE_SECONDS = 0.15
"""Typing goes on: a plan is made when it rests this long."""


class Planner:
    """Holds the newest outlook. Used in the event loop alone; what it does takes place in threads."""

    def __init__(
        self,
        start: Callable[[Coroutine[Any, Any, None]], object],
        changed: Callable[[], None],
        wrong: Callable[[], bool],
    ) -> None:
        """
        Args:
            start: Runs a coroutine as a worker.
            changed: Told when there is something new to show.
            wrong: Whether a field is wrong now: the last good plan then stays.
        """
        self._start, self._changed, self._wrong = start, changed, wrong
        self.outlook: Outlook | None = None
        """The newest plan; its checks are those of the one before until files were looked at."""
        self._asked: Question | None = None
        self._answered: Question | None = None
        self._unexamined: Outlook | None = None
        self._planning = self._examining = False

    @property
    def settled(self) -> bool:
        """Everything asked is answered."""
        return not self._planning and not self._examining and self._asked is self._answered

    def ask(self, question: Question | None) -> None:
        """What is to be planned now; None for nothing."""
        if question is None or question == self._asked:
            return
        self._asked = question
        if not self._planning:
            self._start(self._plan())

    def forget(self) -> None:
        """Another job is on the board: nothing of the old one is of use."""
        self._asked = self._answered = self.outlook = self._unexamined = None

    async def _plan(self) -> None:
        self._planning = True
        try:
            while (asked := self._asked) is not None and asked is not self._answered:
                if self._answered is not None:
                    await asyncio.sleep(PAUSE_SECONDS)
                if asked is not self._asked:
                    continue
                found = await in_thread("accel-tui plans", partial(outlook.planned, asked))
                if self._asked is not None:
                    self._answered = asked
                    self._take(found)
        finally:
            self._planning = False
        self._changed()

    def _take(self, found: Outlook) -> None:
        before = self.outlook
        if found.plan is None and before is not None and self._wrong():
            return
        self.outlook = found if before is None else replace(found, checks=before.checks)
        self._changed()
        self._unexamined = found
        if not self._examining:
            self._start(self._examine())

    async def _examine(self) -> None:
        self._examining = True
        try:
            while (found := self._unexamined) is not None:
                self._unexamined = None
                done = await in_thread("accel-tui looks at files", partial(outlook.examined, found))
                if self.outlook is not None and self.outlook.question is found.question:
                    self.outlook = done
        finally:
            self._examining = False
        self._changed()
