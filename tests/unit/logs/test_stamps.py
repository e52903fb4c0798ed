"""Times in lines, and the first line of a moment, as a look at every line finds it."""

from __future__ import annotations

import datetime
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.stamps import offset_since, stamp_of
from support.bytes_source import FakeSource

NOON = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.timezone.utc).timestamp()
LOCAL_NOON = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        (b"2026-11-30T12:00:00.250Z step 1", NOON + 0.25),
        (b"[rank1]: 2026-11-30 14:00:00+02:00 INFO", NOON),
        (b"[default0]:2026-11-30 12:00:00,500 - trainer - INFO - begun", LOCAL_NOON + 0.5),
        (b"[INFO|trainer.py:12] 2026-11-30 12:00:00,000 >> begun", LOCAL_NOON),
        (b"W1130 12:00:00.125000 71 torch/run.py:792] warning", LOCAL_NOON + 0.125),
        (b"[rank0]:[E1130 12:00:00.125 ProcessGroup.cpp] fault", LOCAL_NOON + 0.125),
        (b"50%|##\rnew 2026-11-30T12:00:00Z", NOON),
        (b"2026-02-31 12:00:00 no such day", None),
        (b"E9930 99:00:00 no such day", None),
        (b"x" * 200 + b"2026-11-30T12:00:00Z is said, not the line's time", None),
        (b"{'loss': 1.2}", None),
    ],
)
def test_the_time_of_a_line(line: bytes, moment: float | None) -> None:
    assert stamp_of(line, now=NOON + 86400) == moment


def test_glog_of_last_year() -> None:
    january = time.mktime((2027, 1, 2, 0, 0, 0, 0, 0, -1))
    assert stamp_of(b"I1130 12:00:00.000000 1 a.py:1] x", now=january) == LOCAL_NOON


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 90), st.booleans(), st.integers(0, 60_000)), min_size=1, max_size=40),
    st.integers(-10, 4000),
)
def test_the_place_is_that_of_the_first_line_not_earlier(parts: list[tuple[int, bool, int]], after: int) -> None:
    seconds, lines = 0, []
    for step, stamped, filler in parts:
        seconds += step
        moment = datetime.datetime.fromtimestamp(NOON + seconds, datetime.timezone.utc)
        lead = moment.strftime("%Y-%m-%dT%H:%M:%SZ ").encode() if stamped else b"     "
        lines.append(lead + b"y" * filler + b"\n")
    stamps = [stamp_of(line) for line in lines]
    known = [number for number, stamp in enumerate(stamps) if stamp is not None and stamp >= NOON + after]
    wanted = None
    if any(stamps):
        wanted = sum(map(len, lines[: known[0]] if known else lines))
    assert offset_since(FakeSource(b"".join(lines)), NOON + after) == wanted
