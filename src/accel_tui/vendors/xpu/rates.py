"""Counters that only grow, turned into rates; whatever is no rate is said to be none."""

from __future__ import annotations

from accel_tui.model.devices import Reading, ReadingStatus, ok

TOLERANCE = 0.02
"""A ratio may exceed 1 by so much: the two counters are not latched at the same instant."""

WAITS = "a rate needs two readings of the counter"
WENT_BACK = "the counter went back (a reset, or it wrapped): the next pair gives a rate"
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

    def __init__(self) -> None:
        self._counter = Counter()
        self._last: tuple[int, int] | None = None
        self._watts: float | None = None

    def reading(self, energy: int, clock: int, source: str) -> Reading:
        """The mean power since the last read that was long enough ago; `pending` before there is one."""
        last = self._last
        if last is not None and energy >= last[0] and 0 <= clock - last[1] < self.LEAST_MICROSECONDS:
            return pending(WAITS, source) if self._watts is None else ok(self._watts, source)
        self._last = (energy, clock)
        watts = self._counter.rate(energy, clock)
        self._watts = None if watts is None else round(watts, 2)
        return pending(self._counter.why, source) if self._watts is None else ok(self._watts, source)
