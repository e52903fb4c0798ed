"""When which part of a log was written: `log.times`, one `SECONDS SIZE` line a second while the log grows."""

from __future__ import annotations

import re
from pathlib import Path

from accel_tui.model.errors import UsageError
from accel_tui.model.times import time_seconds

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_times(path: Path) -> list[tuple[float, int]]:
    """The entries in order; torn or foreign lines, and ones that run backwards in time, are left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    entries: list[tuple[float, int]] = []
    for line in data.split(b"\n"):
        parts = line.split()
        if len(parts) != 2:
            continue
        try:
            moment, size = float(parts[0]), int(parts[1])
        except ValueError:
            continue
        if moment == moment and size >= 0 and (not entries or moment >= entries[-1][0]):  # noqa: PLR0124 - NaN
            entries.append((moment, size))
    return entries


def offset_at(entries: list[tuple[float, int]], moment: float) -> int:
    """How long the log was at that moment (seconds since the epoch): what follows was written later, within a second.

    Without entries it is 0: nothing is left out that might be wanted.
    """
    offset = 0
    for written, size in entries:
        if written > moment:
            break
        offset = size
    return offset


def moment_of(text: str, now: float) -> float:
    """The moment that a person means by `10m`, `1h30m`, `2026-11-30T12:00:00Z`, in seconds since the epoch.

    Raises:
        UsageError: the text is neither a duration nor a time.
    """
    compact = text.strip().lower()
    parts = _DURATION.findall(compact)
    if parts and not _DURATION.sub("", compact).strip():
        return now - sum(float(amount) * _SECONDS[unit] for amount, unit in parts)
    try:
        return time_seconds(text.strip().replace(" ", "T"))
    except ValueError:
        raise UsageError(
            f"{text!r} is no time",
            remedy="write a duration such as 10m or 1h30m, or a time such as 2026-11-30T12:00:00Z",
        ) from None
