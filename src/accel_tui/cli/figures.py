"""Numbers and times as the product writes them."""

from __future__ import annotations

import itertools
import time

from accel_tui.model.times import time_seconds

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def duration(seconds: float) -> str:
    """The two largest units: `1 d 04 h`, `3 h 12 m`, `7 m 12 s`, `6 s`."""
    left = max(0, int(seconds))
    for (size, unit), (small, small_unit) in itertools.pairwise(_UNITS):
        if left >= size:
            return f"{left // size} {unit} {left % size // small:02d} {small_unit}"
    return f"{left} s"


def clock(text: str | None, *, now: float | None = None) -> str:
    """A UTC time of a document as local time: `12:41:07` today, `yesterday 21:44`, `Nov 28 16:02`; `–` for None."""
    if text is None:
        return "–"
    moment = time.localtime(time_seconds(text))
    today = time.localtime(time.time() if now is None else now)
    days = (today.tm_year, today.tm_yday)
    if (moment.tm_year, moment.tm_yday) == days:
        return time.strftime("%H:%M:%S", moment)
    midnight = time.mktime((*today[:3], 0, 0, 0, 0, 0, -1))
    before = time.localtime(midnight - 12 * 3600)
    if (moment.tm_year, moment.tm_yday) == (before.tm_year, before.tm_yday):
        return time.strftime("yesterday %H:%M", moment)
    layout = "%b %d %H:%M" if moment.tm_year == today.tm_year else "%Y-%m-%d %H:%M"
    return time.strftime(layout, moment)


def span(started: str | None, ended: str | None, *, now: float | None = None) -> str:
    """How long it ran, or has run so far; empty before the start."""
    if started is None:
        return ""
    end = time_seconds(ended) if ended else (time.time() if now is None else now)
    return duration(end - time_seconds(started))


def gibibytes(value: float | None) -> str:
    """Bytes as GiB with one decimal, for a column whose header names the unit."""
    return "–" if value is None else f"{value / 2**30:.1f}"


def size(value: float) -> str:
    """Bytes in the binary unit that fits: `88.2 GiB`, `312 MiB`, `96 B`."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 2**power:
            amount = value / 2**power
            return f"{amount:.1f} {unit}" if amount < 100 else f"{amount:.0f} {unit}"
    return f"{value:.0f} B"


def rate(value: float) -> str:
    """A rate with the unit left to its label: `41.2 k`, `812`."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} M"
    if value >= 1e4:
        return f"{value / 1e3:.1f} k"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def learning_rate(value: float) -> str:
    """`1.8e-5`: two digits and a short exponent."""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
