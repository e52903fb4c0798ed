"""Where in a log a person wants to go: a line, a share of it, a moment. Pure."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from accel_tui.logs.times import moment_of
from accel_tui.model.errors import UsageError
from accel_tui.tui.glyphs import moment, thousands

HELP = "a line (84), a share (50%), a time (12:41 or 10m for ten minutes ago)"
_NUMBER = re.compile(r"\d{1,12}")
_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAY = 86400


@dataclass(frozen=True)
class Target:
    """One of the three is given."""

    words: str
    """How it is called: `line 1 204`."""
    line: int | None = None
    """From 1."""
    share: float | None = None
    """From 0 to 1, of the log's bytes."""
    moment: float | None = None
    """Seconds since the epoch."""


def target(text: str, now: float, zone: datetime.tzinfo | None) -> Target | None:
    """What `text` means; None for what is neither a line nor a share nor a time."""
    text = text.strip()
    digits = text.replace(" ", "").replace("_", "")
    if _NUMBER.fullmatch(digits):
        line = max(1, int(digits))
        return Target(f"line {thousands(line)}", line=line)
    share = _SHARE.fullmatch(text)
    if share is not None:
        part = min(100.0, float(share[1]))
        return Target(f"{part:g} % of the log", share=part / 100)
    when = _clock(text, now, zone)
    if when is None:
        try:
            when = moment_of(text, now)
        except UsageError:
            return None
    return Target(f"what was written at {moment(when, now, zone)}", moment=when)


def _clock(text: str, now: float, zone: datetime.tzinfo | None) -> float | None:
    """The last time that a clock showed this."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups())
    if hour > 23 or minute > 59 or second > 59:
        return None
    day = datetime.datetime.fromtimestamp(now, zone)
    when = day.replace(hour=hour, minute=minute, second=second, microsecond=0).timestamp()
    return when if when <= now else when - _DAY
