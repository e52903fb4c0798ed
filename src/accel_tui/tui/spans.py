"""Spans of time that charts show: which there are, what they are called, and labels below a chart. Pure."""

from __future__ import annotations

import datetime
import math

from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.glyphs import clock, duration, moment
from accel_tui.tui.widgets.axis import Label
from accel_tui.tui.widgets.decimate import Axis

SPANS: tuple[float | None, ...] = (300.0, 900.0, 3600.0, 6 * 3600.0, 24 * 3600.0, None)
"""In seconds; None is the whole of the selected run."""
LONGEST_SECONDS = 24 * 3600.0
"""What the supervisor can be asked for."""
_MINUTES = (0.5, 1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 960, 1200, 1440)
_DAYS = (1.5, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 60, 90, 120, 180, 365)
_LENGTHS = (*(60.0 * minutes for minutes in _MINUTES), *(86400.0 * days for days in _DAYS))


def next_span(span: float | None, steps: int, *, run: bool) -> float | None:
    """Another span; the whole run is one of them only with `run`. Steps around both ends."""
    choices = [one for one in SPANS if one is not None or run]
    place = choices.index(span) if span in choices else 0
    return choices[(place + steps) % len(choices)]


def zoomed(span: float | None, longer: bool) -> float | None:
    """The next longer or shorter span of the fixed ones."""
    fixed = [one for one in SPANS if one is not None]
    here = fixed.index(span) if span in fixed else len(fixed)
    return fixed[max(0, min(len(fixed) - 1, here + (1 if longer else -1)))]


def word(span: float | None) -> str:
    """`5 min`, `6 h`, `whole run`."""
    if span is None:
        return "whole run"
    return f"{round(span / 60)} min" if span < 3600 else f"{round(span / 3600)} h"


def run_times(run: Run, now: float) -> tuple[float, float] | None:
    """When a run began and ended, or how far it is; None before it began."""
    if run.started is None:
        return None
    return time_seconds(run.started), now if run.ended is None else time_seconds(run.ended)


def whole(run: Run, now: float) -> Axis | None:
    """The whole of a run. While it goes on there is room behind it, so that the picture seldom has to be drawn anew."""
    times = run_times(run, now)
    if times is None:
        return None
    start, end = times
    if run.state is RunState.FINISHED:
        return Axis(max(end, start + 1.0), first=start)
    length = next((one for one in _LENGTHS if one >= end - start), end - start)
    return Axis(start + length, first=start)


def seconds_of(span: float | None, run: Run | None, now: float) -> float:
    """How long a span is; that of a run reaches from its begin to now or its end."""
    if span is not None:
        return span
    times = None if run is None else run_times(run, now)
    return 300.0 if times is None else max(60.0, times[1] - times[0])


def max_gap(span: float) -> float:
    """Readings further apart than this leave a gap: old ones are kept in wider steps."""
    return 12.0 if span <= 900 else 40.0 if span <= 6 * 3600 else 240.0


def labels(axis: Axis, columns: int, now: float, zone: datetime.tzinfo | None) -> tuple[Label, ...]:
    """Times below a chart, about every 18 columns; days where the chart is longer than one.

    The last one is now, four times in the time of a column; the others change when the columns move.
    """
    start, slot = axis.place(columns)
    length = slot * columns
    count = max(1, columns // 18)
    found = []
    for number in range(count + 1):
        x = start + length * number / count
        if number == count:
            x = axis.last if axis.slot is None else min(x, math.floor(now / slot * 4) * slot / 4)
        text = _text(x, length, now, zone)
        found.append(Label(start + length - slot * len(text) if number == count else x, text))
    return tuple(found)


def _text(x: float, length: float, now: float, zone: datetime.tzinfo | None) -> str:
    if length > 20 * 3600:
        text = moment(x, now, zone)
        return text[:5] if text[2:3] == ":" else text
    return clock(x, zone)[: 8 if length <= 1200 else 5]


def age(x: float, now: float) -> str:
    """`2 m 10 s ago`."""
    return "now" if now - x < 1 else f"{duration(math.floor(now - x))} ago"
