"""Times that stand in the lines of a log, and the place in it where a moment begins."""

from __future__ import annotations

import datetime
import functools
import re
import time
from typing import TYPE_CHECKING

from accel_tui.logs.lines import BLOCK, LONGEST_LINE, iterate, last_frame, line_start

if TYPE_CHECKING:
    from accel_tui.logs.source import ByteSource

_UTC = datetime.timezone.utc
_NEAR_BEGIN = 96
"""Bytes of a line in which its time is looked for: behind a rank's prefix and a level, not in what is said."""
_DATED = re.compile(
    rb"(?<![\d.])(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    rb"\s?(?:(Z|UTC)|([+-])(\d\d):?(\d\d))?(?!\d)"
)
"""Python's logging, ISO 8601, torch and most others."""
_GLOG = re.compile(rb"(?:^|[\s\[:])[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
"""torchrun and torch's C++, which leave the year out."""
_STEP = 4 * BLOCK
_PROBED = 4 * LONGEST_LINE
"""Bytes that are read for a line with a time; a log with fewer times counts as one without."""


def stamp_of(line: bytes, now: float | None = None) -> float | None:
    """The time that a line bears near its beginning, in seconds since the epoch; None without one.

    A time without a zone is local. glog's lacks the year: it is the last such day before `now` (default: the present).
    """
    head = last_frame(line)[:_NEAR_BEGIN]
    found = _DATED.search(head)
    if found is not None:
        return _moment(found)
    found = _GLOG.search(head)
    return None if found is None else _without_year(found, time.time() if now is None else now)


def _moment(found: re.Match[bytes]) -> float | None:
    minute = _minute(found.group(1, 2, 3, 4, 5), found.group(8, 9, 10, 11))
    second = int(found[6])
    return None if minute is None or second > 60 else minute + second + _fraction(found[7])


@functools.lru_cache(256)
def _minute(when: tuple[bytes, ...], place: tuple[bytes | None, ...]) -> float | None:
    """A minute of some place, in seconds since the epoch: thousands of lines share one."""
    utc, sign, hours, minutes = place
    zone: datetime.tzinfo | None = _UTC if utc else None
    try:
        if sign:
            shift = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
            zone = datetime.timezone(-shift if sign == b"-" else shift)
        year, month, day, hour, minute = map(int, when)
        moment = datetime.datetime(year, month, day, hour, minute, tzinfo=_UTC)
        return moment.replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError, OSError):  # such as the 31st of February
        return None


def _without_year(found: re.Match[bytes], now: float) -> float | None:
    month, day, hour, minute, second = (int(found[place]) for place in range(1, 6))
    year = time.localtime(now).tm_year
    for one in (year, year - 1):
        try:
            day_of = datetime.datetime(one, month, day, hour, minute, second, tzinfo=_UTC)
        except ValueError:
            continue
        moment = day_of.replace(tzinfo=None).timestamp() + _fraction(found[6])
        if moment <= now + 86400:  # clocks of two hosts differ
            return moment
    return None


def _fraction(digits: bytes | None) -> float:
    return float(b"0." + digits) if digits else 0.0


def offset_since(source: ByteSource, moment: float) -> int | None:
    """Where the first line begins that bears this time or a later one, by halving; the size where all are earlier.

    Lines without a time belong to the one before. None when no line near the beginning bears a time.
    """
    size = source.size()
    if _next_stamp(source, 0, size) is None:
        return None
    low, high = 0, size  # what stands before `low` is too early; what begins at `high` is not
    while high - low > _STEP:
        middle = line_start(source, (low + high) // 2)
        found = _next_stamp(source, middle, high) if middle > low else None
        if found is None or found[1] >= moment:
            high = middle if middle > low else low
        else:
            low = found[0]
    for line in iterate(source, low, size):
        stamp = stamp_of(line.data)
        if stamp is not None and stamp >= moment:
            return line.offset
    return size


def _next_stamp(source: ByteSource, start: int, end: int) -> tuple[int, float] | None:
    """Place and time of the first line from `start` on that bears one."""
    for line in iterate(source, start, min(end, start + _PROBED)):
        stamp = stamp_of(line.data)
        if stamp is not None:
            return line.offset, stamp
    return None
