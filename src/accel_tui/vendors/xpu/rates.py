"""Counters that only grow, turned into rates; whatever is no rate is said to be none."""

from __future__ import annotations

import time
from collections.abc import Callable

from accel_tui.model.devices import Reading, ReadingStatus, ok

TOLERANCE = 0.02
"""A ratio may exceed 1 by so much: the two counters are not latched at the same instant."""

WAITS = "a rate needs two readings of the counter"
WENT_BACK = "the counter went back (a reset, or it wrapped): the next pair gives a rate"
STANDS_STILL = "the energy counter stands still"
NO_RATIO = "busy and elapsed time were counted in different units: the next pair gives a rate"


def pending(reason: str, source: str) -> Reading:
    """A reading that will have its number after another sample."""
    return Reading(ReadingStatus.PENDING, reason=reason, source=source)


class Counter:
    """One counter with the clock that it was read at: units of value per unit of clock since the reading before.

    A pair with the same clock is ignored and the older one kept, so that counters which are refreshed rarely still give
    a rate. Both numbers of a pair must come from one read.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = None
        self.why = WAITS
        """Why the last call gave none."""

    def rate(self, value: int, clock: int) -> float | None:
        """Δvalue / Δclock, None at first, without time between, and when either went back."""
        before = self._before
        if before is None:
            self._before, self.why = (value, clock), WAITS
            return None
        passed, grown = clock - before[1], value - before[0]
        if passed == 0 and grown == 0:
            self.why = WAITS
            return None
        self._before = (value, clock)
        if passed <= 0 or grown < 0:
            self.why = WENT_BACK
            return None
        return grown / passed

    def share(self, value: int, clock: int, tolerance: float = TOLERANCE) -> float | None:
        """As `rate` for two counters of one unit: 0 to 1, None outside, as the driver changes units between reads."""
        ratio = self.rate(value, clock)
        if ratio is not None and ratio > 1 + tolerance:
            self.why = NO_RATIO
            return None
        return None if ratio is None else min(1.0, ratio)


class Power:
    """Watts from an energy counter in microjoules and a clock in microseconds."""

    LEAST_MICROSECONDS = 100_000
    """The energy counter may stand still for so long."""
    LONGEST_SECONDS = 0.5
    """So long the last value stands for a counter that was asked again too early."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: tuple[int, int, float] | None = None
        self._watts: float | None = None

    def reading(self, energy: int, clock: int, source: str) -> Reading:
        """The mean power since the last read that was long enough ago; `pending` before there is one.

        A counter that stands still for longer has no value: no card that runs uses nothing.
        """
        last, now = self._last, self._now()
        if last is None:
            return self._begin(energy, clock, now, WAITS, source)
        grown, passed = energy - last[0], clock - last[1]
        if grown < 0 or passed < 0:
            return self._begin(energy, clock, now, WENT_BACK, source)
        if passed < self.LEAST_MICROSECONDS or not grown:
            if now - last[2] > self.LONGEST_SECONDS:
                self._watts = None
                return pending(STANDS_STILL, source)
            return pending(WAITS, source) if self._watts is None else ok(self._watts, source)
        self._last, self._watts = (energy, clock, now), round(grown / passed, 2)
        return ok(self._watts, source)

    def _begin(self, energy: int, clock: int, now: float, why: str, source: str) -> Reading:
        self._last, self._watts = (energy, clock, now), None
        return pending(why, source)
