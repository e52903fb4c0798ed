"""Where panes stand: no pane is lost, none overlaps another, whatever the size."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from accel_tui.tui.layouts import Mode, Wish, mode_of, places

ALL = ("devices", "job", "runs", "utilization", "log", "metrics", "start")


@pytest.mark.parametrize(
    ("size", "mode"),
    [
        ((200, 50), Mode.WIDE),
        ((180, 32), Mode.WIDE),
        ((179, 50), Mode.MIDDLE),
        ((110, 32), Mode.MIDDLE),
        ((109, 50), Mode.TABS),
        ((200, 31), Mode.TABS),
        ((80, 24), Mode.TABS),
        ((60, 20), Mode.TABS),
        ((59, 20), Mode.TINY),
        ((60, 19), Mode.TINY),
        ((1, 1), Mode.TINY),
    ],
)
def test_the_size_decides(size: tuple[int, int], mode: Mode) -> None:
    assert mode_of(Size(*size)) is mode


def test_three_layouts_show_what_the_design_says() -> None:
    rows = {"devices": 14, "runs": 9}
    wide = places(Mode.WIDE, Size(200, 48), ALL, Wish("devices", rows=rows))
    assert set(wide) == {"devices", "utilization", "log", "runs", "job", "metrics"}
    middle = places(Mode.MIDDLE, Size(120, 38), ALL, Wish("devices", rows=rows))
    assert set(middle) == {"devices", "utilization", "log", "runs", "job"}
    assert middle["devices"].region.width == 120
    tabs = places(Mode.TABS, Size(80, 21), ALL, Wish("devices", rows=rows))
    assert list(tabs) == ["devices", "runs", "log"]
    assert tabs["runs"].strip
    assert tabs["devices"].tab
    for name in ALL[:-1]:
        if name != "devices":
            assert list(places(Mode.TABS, Size(80, 21), ALL, Wish(name))) == [name]


def test_many_devices_take_less_than_half() -> None:
    found = places(Mode.MIDDLE, Size(120, 38), ALL, Wish("devices", rows={"devices": 69}))
    assert found["devices"].region.height == 18


def test_a_maximised_pane_stands_alone() -> None:
    found = places(Mode.WIDE, Size(200, 48), ALL, Wish("log", maximised=True))
    assert list(found) == ["log"]
    assert found["log"].region.size == Size(200, 48)


def test_the_room_of_an_absent_pane_goes_to_its_neighbour() -> None:
    found = places(Mode.WIDE, Size(200, 48), ("devices", "runs", "log"), Wish("devices", rows={"devices": 14}))
    assert sum(place.region.area for place in found.values()) == 200 * 48


@given(
    width=st.integers(60, 300),
    height=st.integers(17, 100),
    mode=st.sampled_from([Mode.WIDE, Mode.MIDDLE, Mode.TABS]),
    shown=st.sampled_from(ALL[:-1]),
    devices=st.integers(6, 80),
    runs=st.integers(3, 60),
    wider=st.integers(-100, 100),
    start=st.booleans(),
)
def test_panes_never_overlap_nor_leave_the_screen(
    width: int, height: int, mode: Mode, shown: str, devices: int, runs: int, wider: int, start: bool
) -> None:
    size = Size(width, height)
    if mode is not Mode.TABS and mode_of(Size(width, height + 2)) is not mode:
        return
    wish = Wish(shown, wider=wider, rows={"devices": devices, "runs": runs}, start=start)
    found = places(mode, size, ALL, wish)
    assert shown in found or start
    for place in found.values():
        assert place.region.width > 0
        assert place.region.height > 0
        assert size.region.contains_region(place.region)
    for one, other in combinations(found.values(), 2):
        assert not one.region.overlaps(other.region)
    assert sum(place.region.area for place in found.values()) == size.area
