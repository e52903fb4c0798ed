"""One thread for each card, so that a call which hangs costs that card's answer and no other's."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any


class Hung(Exception):  # noqa: N818 - says what is so
    """A card did not answer in time; its thread is left in the driver."""


class _Lane:
    def __init__(self, name: str) -> None:
        self.asked: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self.busy_since: float | None = None
        threading.Thread(target=self._run, name=f"card {name}", daemon=True).start()

    def _run(self) -> None:
        while True:
            task, answers = self.asked.get()
            try:
                answer: Any = task()
            except Exception as error:  # told to whoever asked
                answer = error
            self.busy_since = None
            answers.put(answer)


class Lanes:
    """Runs one task for each key side by side, within a common time."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}

    def each(self, tasks: Iterable[tuple[str, Callable[[], Any]]], seconds: float) -> dict[str, Any]:
        """The answer of each task by key: its value, or the exception that it raised, or `Hung`.

        A key whose task of an earlier call has not come back is not asked again.
        """
        end = time.monotonic() + seconds
        found: dict[str, Any] = {}
        started: list[tuple[str, queue.SimpleQueue[Any]]] = []
        for key, task in tasks:
            lane = self._lanes.setdefault(key, _Lane(key)) if key not in self._lanes else self._lanes[key]
            if lane.busy_since is not None:
                found[key] = Hung(f"the driver has not come back from a call for {self._waited(lane):.0f} s")
                continue
            answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
            lane.busy_since = time.monotonic()
            lane.asked.put((task, answers))
            started.append((key, answers))
        for key, answers in started:
            try:
                found[key] = answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                found[key] = Hung(
                    f"the driver has not come back from a call for {self._waited(self._lanes[key]):.0f} s"
                )
        return found

    @staticmethod
    def _waited(lane: _Lane) -> float:
        since = lane.busy_since
        return 0.0 if since is None else time.monotonic() - since
