"""Times and sizes of documents as the product writes them."""

from __future__ import annotations

import time

from accel_tui.model.times import time_seconds
from accel_tui.text.glyphs import duration, learning_rate, loss, memory, moment, rate, size

__all__ = ["clock", "duration", "learning_rate", "loss", "memory", "rate", "size", "span"]


def clock(text: str | None, *, now: float | None = None) -> str:
    """A UTC time of a document as local time, its day named where it is not today; `–` for None."""
    return "–" if text is None else moment(time_seconds(text), time.time() if now is None else now)


def span(started: str | None, ended: str | None, *, now: float | None = None) -> str:
    """How long it ran, or has run so far; empty before the start."""
    if started is None:
        return ""
    end = time_seconds(ended) if ended else (time.time() if now is None else now)
    return duration(end - time_seconds(started))
