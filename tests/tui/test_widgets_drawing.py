"""Bars, dots, axes and heat: pure drawing, compared as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.palette import HEAT
from accel_tui.tui.widgets.axis import Label, axis_line
from accel_tui.tui.widgets.bar import bar, parts_bar
from accel_tui.tui.widgets.decimate import Axis, Point, Scale, decimate
from accel_tui.tui.widgets.heat import heat_cell, heat_legend
from accel_tui.tui.widgets.pieces import Cell, Piece, cell, cell_width, fit, joined, spread
from accel_tui.tui.widgets.raster import Ink, Raster

SIGNS, ASCII = Glyphs(), Glyphs(ascii=True)


def text(content: Cell) -> str:
    return "".join(piece.text for piece in content)


@pytest.mark.parametrize(
    ("share", "unicode", "ascii_text"),
    [
        (None, "      ", "      "),
        (math.nan, "      ", "      "),
        (0.0, "──────", "......"),
        (0.001, "╸─────", "-....."),
        (0.25, "━╸────", "=-...."),
        (0.5, "━━━───", "===..."),
        (0.999, "━━━━━╸", "=====-"),
        (1.0, "━━━━━━", "======"),
        (7.0, "━━━━━━", "======"),
    ],
)
def test_bars(share: float | None, unicode: str, ascii_text: str) -> None:
    assert text(bar(share, 6, "util", SIGNS)) == unicode
    assert text(bar(share, 6, "util", ASCII)) == ascii_text


def test_a_bar_is_two_styles() -> None:
    assert [piece.role for piece in bar(0.5, 10, "mem", SIGNS)] == ["mem", "track"]


@given(st.lists(st.floats(0, 100), max_size=5), st.floats(0, 200), st.integers(0, 60))
def test_parts_always_fill_the_width(amounts: list[float], total: float, width: int) -> None:
    parts = [(amount, "series-1") for amount in amounts]
    assert cell_width(parts_bar(parts, total, width, SIGNS)) == width


def test_heat_tells_unknown_from_gap_from_nothing() -> None:
    content = heat_cell([None, 0.0, 0.5, None, 1.0], SIGNS)
    assert text(content) == " ▆▆┊▆"
    assert [piece.role for piece in content[1:]] == [HEAT[0], HEAT[3], "warn", HEAT[6]]
    assert text(heat_cell([None, 0.0, 0.5, None, 1.0], ASCII)) == "  +?@"
    assert text(heat_cell([0.0, 0.3, 0.5, 0.7, 1.0], SIGNS, by_glyph=True)) == " ░▒▓█"
    assert text(heat_legend(SIGNS)) == "0 ▆▆▆▆▆▆▆ 100 %"


def test_a_sliding_axis_stands_still_within_a_slot() -> None:
    places = [Axis(last, slot=16.0).place(18) for last in (1600.0, 1603.0, 1615.9, 1616.0)]
    assert places[0] == places[1] == places[2] == (1600.0 - 17 * 16, 16.0)
    assert places[3] == (1600.0 - 16 * 16, 16.0)
    assert Axis(1615.9, slot=16.0).column(1615.9, 18) == 17


def test_a_whole_axis_holds_both_ends() -> None:
    axis = Axis(1500.0)
    assert (axis.column(0, 100), axis.column(1500, 100), axis.column(750, 100)) == (0, 99, 50)


def test_spikes_and_last_values_survive_decimation() -> None:
    points: list[Point] = [(float(x), 1.0) for x in range(1000)]
    points[500], points[501] = (500.0, 99.0), (501.0, -5.0)
    spans = decimate(points, 0.0, 100.0, 10)
    assert spans[5] is not None
    assert (spans[5].low, spans[5].high, spans[5].last) == (-5.0, 99.0, 1.0)


def test_sparse_points_are_joined_but_gaps_stay_blank() -> None:
    points: list[Point] = [(0.0, 0.0), (4.0, 4.0), (5.0, None), (8.0, 8.0), (20.0, 1.0)]
    spans = decimate(points, 0.0, 1.0, 21, max_gap=5.0)
    known = [place for place, span in enumerate(spans) if span is not None]
    assert known == [0, 1, 2, 3, 4, 8, 20]
    assert spans[2] is not None
    assert spans[2].mean == pytest.approx(2.5)


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.one_of(st.none(), st.floats(-1e6, 1e6))), max_size=200),
    st.integers(1, 80),
    st.floats(0.5, 100),
)
def test_decimation_never_invents_a_value(points: list[tuple[float, float | None]], count: int, slot: float) -> None:
    points.sort(key=lambda point: point[0])
    values = [value for _, value in points if value is not None]
    for span in decimate(points, 100.0, slot, count):
        if span is not None:
            assert min(values) - 1e-6 <= span.low <= span.high <= max(values) + 1e-6
            assert span.low <= span.last <= span.high


@pytest.mark.parametrize(
    ("ink", "rows"),
    [
        ("braille", ["   ⢀⡠⠊", " ⢀⠔⠁  ", "⠔⠁    "]),
        ("block", ["    ▄▀", "  ▄▀  ", "▄▀    "]),
        ("ascii", ["    .'", "  .'  ", ".'    "]),
    ],
)
def test_a_line_in_every_ink(ink: Ink, rows: list[str]) -> None:
    raster = Raster(6, 3, ink)
    points: list[Point] = [(float(x), float(x)) for x in range(raster.columns)]
    raster.line(decimate(points, 0, 1, raster.columns), Scale(0, raster.columns - 1), "series-1")
    drawn = [text(raster.drawn(row)) for row in range(3)]
    if ink == "braille":
        assert all(letter == " " or 0x2800 < ord(letter) < 0x2900 for row in drawn for letter in row)
        assert [row.count(" ") for row in drawn] == sorted(row.count(" ") for row in drawn)
    else:
        assert drawn == rows


def test_a_jump_is_an_unbroken_stroke() -> None:
    raster = Raster(1, 3)
    raster.line(decimate([(0.0, 0.0), (1.0, 100.0)], 0, 1, 2), Scale(), "series-1")
    assert [text(raster.drawn(row)) for row in range(3)] == ["⢸", "⢸", "⡸"]


def test_an_area_is_bright_at_its_edge_and_rests_on_a_faint_line() -> None:
    raster = Raster(2, 2)
    raster.area(decimate([(0.0, 100.0), (1.0, 100.0), (2.0, 0.0), (3.0, 0.0)], 0, 1, 4), Scale(), "util")
    assert [text(raster.drawn(row)) for row in range(2)] == ["⣿ ", "⣿⣀"]
    top, bottom = raster.drawn(0), raster.drawn(1)
    assert (top[0].role, top[0].fill) == ("util", False)
    assert (bottom[0].role, bottom[0].fill) == ("util", True)
    assert bottom[1].role == "track"


def test_scales() -> None:
    assert Scale(1.0, 100.0, log=True).middle == pytest.approx(10.0)
    assert Scale(1.0, 100.0, log=True).share(10.0) == pytest.approx(0.5)
    assert Scale(5.0, 5.0).share(5.0) == 0.0
    assert Scale.around([1.0, 3.0]).share(3.0) < 1.0
    assert Scale.around([]).high == 1.0
    assert not Scale.around([0.0, 3.0], log=True).log
    assert Scale.around([2.0, 2.0]).low < 2.0 < Scale.around([2.0, 2.0]).high


def test_labels_stand_at_their_columns_and_never_overlap() -> None:
    axis = Axis(100.0)
    labels = [Label(0, "09:29"), Label(2, "09:30"), Label(50, "10:33"), Label(100, "12:41")]
    assert text(axis_line(labels, axis, 4, 20)) == "    09:29          12:41"
    assert text(axis_line(labels, axis, 0, 24)) == "09:29       10:33  12:41"
    assert text(axis_line([Label(-50, "gone"), Label(100, "end")], axis, 0, 10)) == "       end"
    assert text(axis_line([], axis, 0, 3)) == "   "


@given(st.text(max_size=40), st.text(max_size=10), st.integers(0, 30))
def test_fitted_text_has_exactly_its_width(one: str, other: str, width: int) -> None:
    for align in ("left", "right", "centre"):
        assert cell_width(fit(cell(one, Piece(other, "muted")), width, align)) == width


def test_cut_text_ends_in_a_sign() -> None:
    assert text(fit(cell("qwen3-lora"), 6)) == "qwen3…"
    assert text(fit(cell("qwen3-lora"), 6, cut="..")) == "qwen.."
    assert text(fit(cell("漢字漢字"), 4)) == "漢 …"
    assert text(fit(cell("größe"), 5, ascii_only=True)) == "gr??e"


def test_ends_keep_the_right_one_while_there_is_room() -> None:
    assert text(spread(cell("left"), cell("right"), 12)) == "left   right"
    assert text(spread(cell("a longer left"), cell("right"), 16)) == "a longer … right"
    assert text(spread(cell("a longer left"), cell("right"), 8)) == "a longe…"


def test_neighbours_of_one_style_are_one_run() -> None:
    assert joined([Piece("a"), Piece("b"), Piece("", "warn"), Piece("c", "warn")]) == (Piece("ab"), Piece("c", "warn"))
