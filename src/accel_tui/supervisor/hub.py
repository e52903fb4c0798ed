"""The event stream: facts about runs are never dropped, of samples a slow reader gets the newest."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from accel_tui.protocol import sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BACKLOG = 20_000
"""Facts that may wait for one reader. Beyond it the link is closed: the reader comes back to a fresh snapshot."""


class Subscriber:
    """One reader's waiting events."""

    def __init__(self) -> None:
        self.facts: deque[bytes] = deque()
        self.sample: bytes | None = None
        self.wake = asyncio.Event()
        self.closed = False


class Hub:
    """Gives every event to every reader; used from the event loop alone."""

    def __init__(self) -> None:
        self._readers: set[Subscriber] = set()
        self._number = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self._readers)

    def fact(self, name: str, document: Callable[[], str]) -> None:
        """Tell something that must arrive; `document` makes its JSON text, and only when someone listens."""
        self._number += 1
        if not self._readers:
            return
        event = sse.encode(name, document(), self._number)
        for reader in self._readers:
            if len(reader.facts) >= BACKLOG:
                reader.closed = True
            else:
                reader.facts.append(event)
            reader.wake.set()

    def sample(self, name: str, document: Callable[[], str]) -> None:
        """Tell something that the next of its kind replaces."""
        self._number += 1
        if not self._readers:
            return
        event = sse.encode(name, document(), self._number)
        for reader in self._readers:
            reader.sample = event
            reader.wake.set()

    def close(self) -> None:
        """End every stream, once what waits is sent."""
        self._closed = True
        for reader in self._readers:
            reader.closed = True
            reader.wake.set()

    async def stream(self, snapshot: Callable[[], str], keepalive: float) -> AsyncIterator[bytes]:
        """A snapshot, then everything that happens after it, with a comment where nothing does."""
        reader = Subscriber()
        reader.closed = self._closed
        self._readers.add(reader)
        try:
            yield sse.encode("snapshot", snapshot(), self._number)
            while True:
                batch = b"".join(reader.facts) + (reader.sample or b"")
                reader.facts.clear()
                reader.sample = None
                if batch:
                    yield batch
                    continue
                if reader.closed:
                    return
                reader.wake.clear()
                try:
                    await asyncio.wait_for(reader.wake.wait(), keepalive)
                except asyncio.TimeoutError:
                    yield sse.KEEPALIVE
        finally:
            self._readers.discard(reader)
