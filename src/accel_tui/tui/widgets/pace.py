"""How often to look, where the terminal decides how much can be shown. Pure."""

from __future__ import annotations

SLOW_RATE = 1.0
"""Looks a second on a terminal that does not keep up."""
_LATE_SECONDS = 0.4
"""A tick that comes later than this was held up: writing to the terminal stops the event loop when it is not read."""
_LATE_TICKS, _GOOD_TICKS = 2, 30


class Pace:
    """Falls to one look a second after two late ones, and goes back after half a minute without any."""

    def __init__(self, rate: float) -> None:
        self._wanted = rate
        self._rate = rate
        self._last: float | None = None
        self._late = self._good = 0

    def tick(self, now: float) -> float:
        """A tick came; the rate from now on. `now` is in seconds of any clock that never goes back."""
        late = self._last is not None and now - self._last > 1 / self._rate + _LATE_SECONDS
        self._last = now
        self._late, self._good = (self._late + 1, 0) if late else (0, self._good + 1)
        if self._late >= _LATE_TICKS and self._wanted > SLOW_RATE:
            self._change(SLOW_RATE)
        elif self._rate < self._wanted and self._good >= _GOOD_TICKS:
            self._change(self._wanted)
        return self._rate

    def pause(self) -> None:
        """No ticks for a while, which is nobody's fault."""
        self._last = None

    def _change(self, rate: float) -> None:
        if rate != self._rate:
            self._rate, self._late, self._good, self._last = rate, 0, 0, None
