"""Waiting for a condition without guessing how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T], *, seconds: float = 30.0, what: str = "the condition") -> T:
    """Ask `condition` until it gives a true value, and return that value.

    Raises:
        AssertionError: it stayed false for `seconds`. The bound only ends a broken test; it is no measurement.
    """
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s; last: {value!r}")
        time.sleep(0.02)  # a poll interval, not a wait: the condition alone decides
