"""How signs, numbers and times are written."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from accel_tui.text import glyphs
from accel_tui.text.glyphs import GIB, GLYPHS, MIB, Glyphs
from accel_tui.tui.palette import ROLES

UTC = datetime.timezone.utc
NOW = datetime.datetime(2026, 11, 30, 12, 41, 7, tzinfo=UTC).timestamp()


def test_every_sign_is_one_cell_and_has_a_role() -> None:
    for name, glyph in GLYPHS.items():
        assert cell_len(glyph.unicode) == 1, name
        assert glyph.ascii.isascii(), name
        assert cell_len(glyph.ascii) == (2 if name == "cut" else 1), name
        assert glyph.role in ROLES, name


def test_states_differ_without_colour() -> None:
    states = ("running", "free", "other-user", "idle-held", "stale", "queued", "succeeded", "failed", "stopped", "lost")
    for table in (Glyphs(), Glyphs(ascii=True), Glyphs(rare=False)):
        assert len({table.text(state) for state in states}) == len(states)


def test_rare_signs_alone_fall_back() -> None:
    table = Glyphs(rare=False)
    assert (table.text("queued"), table.text("stale"), table.text("running")) == ("q", "?", "●")
    assert (Glyphs(ascii=True).text("running"), Glyphs(ascii=True).degree, Glyphs().degree) == ("*", "C", "°C")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (6, "6 s"),
        (59.9, "59 s"),
        (60, "1 m 00 s"),
        (432, "7 m 12 s"),
        (1865, "31 m 05 s"),
        (11520, "3 h 12 m"),
        (18120, "5 h 02 m"),
        (100800, "1 d 04 h"),
        (-3, "0 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert glyphs.duration(seconds) == text


@pytest.mark.parametrize(
    ("back", "text"),
    [
        (0, "12:41:07"),
        (12 * 3600, "00:41:07"),
        (14 * 3600 + 57 * 60, "yesterday 21:44"),
        (44 * 3600 + 39 * 60, "Nov 28 16:02"),
        (330 * 86400, "Jan 4 12:41"),
        (400 * 86400, "Oct 26 2025"),
    ],
)
def test_moments(back: float, text: str) -> None:
    assert glyphs.moment(NOW - back, NOW, UTC) == text


def test_clock_is_the_readers() -> None:
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert (glyphs.clock(NOW, UTC), glyphs.clock(NOW, east)) == ("12:41:07", "14:41:07")


def test_quantities() -> None:
    assert glyphs.memory(88.2 * GIB, 128 * GIB) == ("88.2", "/128")
    assert glyphs.memory(0.7 * GIB) == ("0.7", "")
    assert [glyphs.percent(value) for value in (0, 0.4, 88.5, 89.5, 100)] == ["0", "0", "89", "90", "100"]
    assert glyphs.thousands(41210) == "41 210"
    assert glyphs.thousands(999) == "999"
    assert [glyphs.size(value) for value in (512, 412 * MIB, 3.3 * GIB, 812 * GIB)] == [
        "512 B",
        "412 MiB",
        "3.3 GiB",
        "812 GiB",
    ]
    assert [glyphs.data_rate(value) for value in (1.2e9, 0.3e9, 12)] == ["1.2 GB/s", "300 MB/s", "12 B/s"]


def test_rates() -> None:
    values = (2.31, 18.4, 540.0, 999.6, 1_900.0, 41_200.0, 1_250_000.0)
    assert [glyphs.rate(value) for value in values] == ["2.31", "18.4", "540", "1.0 k", "1.9 k", "41.2 k", "1.2 M"]


def test_figures_of_training() -> None:
    assert [glyphs.loss(value) for value in (1.2518, 3.4, float("nan"), float("inf"))] == [
        "1.252",
        "3.400",
        "nan",
        "inf",
    ]
    assert [glyphs.learning_rate(value) for value in (1.8e-5, 5e-5, 2e-4, 0.0, 1.0)] == [
        "1.8e-5",
        "5e-5",
        "2e-4",
        "0",
        "1e0",
    ]


def test_differences() -> None:
    assert glyphs.signed(-31.4, "GiB", 1) == "-31.4 GiB"
    assert glyphs.signed(38, "%") == "+38 %"
    assert glyphs.signed(0.0271, decimals=3) == "+0.027"
    assert glyphs.signed(-0.0001, "GiB", 1) == "0.0 GiB"


@given(st.floats(min_value=0, max_value=1e14))
def test_widths_are_bounded(value: float) -> None:
    """A column that was made for the largest value holds every value."""
    assert len(glyphs.rate(value)) <= len("999999.9 G")
    assert len(glyphs.size(value)) <= len("1023 TiB")
    assert len(glyphs.data_rate(value)) <= len("1000.0 TB/s")
