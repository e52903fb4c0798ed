"""Times as text: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

import datetime


def time_text(seconds: float) -> str:
    """`seconds` since the epoch as `2026-01-31T12:41:07.250Z`."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_seconds(text: str) -> float:
    """The inverse of `time_text`; any RFC 3339 time with an offset is taken.

    Raises:
        ValueError: `text` is no such time.
    """
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return moment.timestamp()
