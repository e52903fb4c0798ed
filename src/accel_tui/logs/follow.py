"""Following a log to its end and beyond, for faces that print lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from accel_tui.logs.lines import Line, iterate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accel_tui.logs.source import ByteSource

POLL_SECONDS = 0.1
"""Asking for the size costs nothing and works on network file systems, where notifications do not."""


def follow(
    source: ByteSource,
    start: int,
    stop: Callable[[], bool],
    wait: Callable[[float], object] = time.sleep,
) -> Iterator[Line]:
    """Lines from `start` on, as they are completed; blocks between them.

    When the source is replaced or cut, it goes on from the new beginning.

    Args:
        stop: Asked between two looks. Once it says yes, what is there is given out, an unfinished line as well, and it
            ends.
        wait: Waits for so many seconds, or less.
    """
    position, generation = start, source.generation
    while True:
        ending = stop()  # before the size is asked: what was written before the end is then never missed
        size = source.size()
        if source.generation != generation:
            position, generation = 0, source.generation
        for line in iterate(source, position, size):
            if not line.complete and not line.discarded and not ending:
                break
            position = line.end
            yield line
        if ending:
            return
        wait(POLL_SECONDS)
