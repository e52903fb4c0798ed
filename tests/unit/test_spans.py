"""Spans of charts, their tiles and their curves: pure parts of the chart panes."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from accel_tui.model.runs import Progress, RunState
from accel_tui.tui import spans
from accel_tui.tui.curves import AGAIN_SECONDS, Curves
from accel_tui.tui.panes.utilization.arrange import arrange
from accel_tui.tui.panes.utilization.readings import stopped_at
from accel_tui.tui.widgets.decimate import Axis
from accel_tui.tui.widgets.multiples import LEAST_HEIGHT, LEAST_WIDTH, Tiling
from support.past import curves
from support.scene import NOW, run

UTC = datetime.timezone.utc


@given(st.integers(1, 64), st.integers(1, 250), st.integers(1, 80))
def test_tiles_fit_and_none_is_too_small(count: int, width: int, height: int) -> None:
    tiling = Tiling.best(count, Size(width, height))
    if tiling is None:
        return
    rows = -(-count // tiling.across)
    assert tiling.across * tiling.width + (tiling.across - 1) * 2 <= width + 2
    assert rows * tiling.height <= height
    assert tiling.width >= LEAST_WIDTH
    assert tiling.height >= LEAST_HEIGHT


@given(st.integers(0, 64), st.integers(1, 250), st.integers(1, 80), st.booleans())
def test_parts_fill_the_room_and_no_more(devices: int, width: int, height: int, loss: bool) -> None:
    found = arrange(Size(width, height), devices, loss=loss)
    assert found.loss + found.single + found.strip + found.tiles <= height
    assert devices == 0 or found.single or found.strip or found.tiles
    assert not found.loss or loss


@pytest.mark.parametrize(
    ("size", "devices", "parts"),
    [
        (Size(118, 11), 8, (0, 0, 0, 11)),
        (Size(60, 10), 8, (0, 0, 0, 10)),
        (Size(60, 10), 1, (5, 5, 0, 0)),
        (Size(80, 21), 8, (12, 0, 9, 0)),
        (Size(156, 41), 8, (12, 0, 9, 20)),
    ],
)
def test_arrangements_of_the_pictures(size: Size, devices: int, parts: tuple[int, ...]) -> None:
    found = arrange(size, devices, loss=True)
    assert (found.loss, found.single, found.strip, found.tiles) == parts


def test_the_whole_of_a_live_run_is_drawn_anew_seldom() -> None:
    live = run("20261130-090000-aaaa", "a", RunState.RUNNING, started=3 * 3600)
    axis = spans.whole(live, NOW)
    assert axis == Axis(NOW + 3600, first=NOW - 3 * 3600) or axis == Axis(NOW, first=NOW - 3 * 3600)
    ends = {spans.whole(live, NOW + seconds) for seconds in range(0, 3600, 60)}
    assert len(ends) <= 2
    done = replace(live, state=RunState.FINISHED)
    assert spans.whole(done, NOW) == Axis(NOW, first=NOW - 3 * 3600)
    assert spans.whole(run("20261130-090000-bbbb", "b", RunState.QUEUED), NOW) is None


def test_labels_begin_and_end_with_the_axis() -> None:
    labels = spans.labels(Axis(NOW, 5.0), 60, NOW, UTC)
    assert [label.text for label in labels] == ["12:36:10", "12:37:50", "12:39:30", "12:41:06"]
    day = spans.labels(Axis(NOW, 1440.0), 60, NOW, UTC)
    assert [label.text for label in day] == ["yesterday 12:48", "yesterday 20:48", "04:48", "12:36"]


def test_readings_that_stopped() -> None:
    assert stopped_at([(1.0, 5.0), (2.0, 6.0)], 10.0, 12.0) is None
    assert stopped_at([(1.0, 5.0), (2.0, None), (9.0, None)], 20.0, 12.0) == 1.0
    assert stopped_at([], 20.0, 12.0) is None


def test_curves_are_read_seldom_and_grow_with_progress() -> None:
    known, live = Curves(), run("20261130-090000-aaaa", "a", RunState.RUNNING, started=600)
    assert known.follow(live, NOW)
    known.load(live.id, curves())
    assert known.names()[:2] == ["loss", "grad_norm"]
    count = len(known.points("loss"))
    for step in (5, 5, 6):
        assert not known.follow(replace(live, progress=Progress(step=step, loss=0.5)), NOW + step)
    assert len(known.points("loss")) == count + 2
    assert known.last("loss") == 0.5
    assert known.at("loss", NOW + 5.5) == (0.5, 5.0)
    assert known.at("loss", 0.0) == (None, None)
    assert known.follow(live, NOW + AGAIN_SECONDS + 1)
    ended = replace(live, state=RunState.FINISHED)
    assert known.follow(ended, NOW + AGAIN_SECONDS + 2)
    assert not known.follow(ended, NOW + 10 * AGAIN_SECONDS)
    known.load("another", curves())
    assert not known.follow(None, NOW)
    assert known.names() == []
