"""When which part of a log was written: `log.times`, one `SECONDS SIZE` line a second while the log grows."""

from __future__ import annotations

import bisect
import math
import re
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.errors import UsageError
from accel_tui.model.times import time_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_times(path: Path) -> list[tuple[float, int]]:
    """The entries in order; torn or foreign lines, and ones that run backwards in time, are left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    entries: list[tuple[float, int]] = []
    for moment, size in _entries(data):
        if not entries or moment >= entries[-1][0]:
            entries.append((moment, size))
    return entries


def _entries(data: bytes) -> Iterator[tuple[float, int]]:
    """What the whole lines of `data` say, torn and foreign ones left out."""
    for line in data.split(b"\n"):
        parts = line.split()
        if len(parts) != 2:
            continue
        try:
            moment, size = float(parts[0]), int(parts[1])
        except ValueError:
            continue
        if math.isfinite(moment) and 0 <= size < 1 << 63:
            yield moment, size


class Times:
    """The entries while they are being written: 16 bytes for each second in which the log grew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self._read = 0
        self._moments = array("d")
        self._sizes = array("Q")

    def look(self) -> None:
        """Take in what was written since the last look."""
        try:
            with self._path.open("rb") as file:
                file.seek(0, 2)
                if file.tell() < self._read:
                    self._begin()
                file.seek(self._read)
                data = file.read()
        except OSError:
            return  # not there yet, or gone: what is known stays true
        whole = data.rfind(b"\n") + 1
        self._read += whole
        for moment, size in _entries(data[:whole]):
            if not self._sizes or (moment >= self._moments[-1] and size >= self._sizes[-1]):
                self._moments.append(moment)
                self._sizes.append(size)

    @property
    def last(self) -> float | None:
        """The newest moment."""
        return self._moments[-1] if self._moments else None

    def moment_of(self, offset: int) -> float | None:
        """When the byte at `offset` was there, within a second; None while that was not written down."""
        place = bisect.bisect_right(self._sizes, offset)
        return self._moments[place] if place < len(self._moments) else None

    def offset_at(self, moment: float) -> int:
        """How long the log was at that moment."""
        place = bisect.bisect_right(self._moments, moment)
        return self._sizes[place - 1] if place else 0


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
