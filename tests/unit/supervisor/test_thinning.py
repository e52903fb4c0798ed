"""Few points for many, in equal spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accel_tui.supervisor.thinning import thinned

VALUES = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=80)


@given(VALUES, st.integers(1, 30))
def test_thinned_points_are_means_in_order(values: list[float | None], most: int) -> None:
    points = [(float(time), time * 10, value) for time, value in enumerate(values)]
    found = thinned(points, most)
    assert len(found) <= most or found == [list(point) for point in points]
    assert [point[0] for point in found] == sorted({point[0] for point in found})
    if points:
        assert found[-1][:2] == list(points[-1][:2])
    known = [value for value in values if value is not None]
    for _, _, value in found:
        assert value is None or min(known) - 1e-6 <= value <= max(known) + 1e-6


def test_a_span_without_a_number_stays_a_gap() -> None:
    points = [(float(time), None if 40 <= time < 60 else 1.0) for time in range(100)]
    assert [value for _, value in thinned(points, 10)] == [1.0] * 4 + [None] * 2 + [1.0] * 4


def test_nothing_is_asked_nothing_is_thinned() -> None:
    points: list[list[float | None]] = [[1.0, 2.0], [3.0, None]]
    assert thinned(points, None) == thinned(points, 2) == points
    assert thinned([], 5) == []
    assert thinned([(5.0, 1.0), (5.0, 3.0), (5.0, 5.0)], 2) == [[5.0, 3.0]]
