"""All drawing widgets at three sizes, as the text they put on the screen."""

from __future__ import annotations

import pytest

from accel_tui.config.shipped import shipped_folder
from accel_tui.tui.theme import load_themes, without_colour
from accel_tui.tui.widgets.axis import Label
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.decimate import Axis
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.heat import HeatRow, HeatStrip
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Ends, Piece, Rule
from support.dialog_gallery import DialogGallery
from support.gallery import NOW, Gallery
from support.log_gallery import LogGallery
from support.screens import assert_grid, picture, rows, text_grid

THEMES = load_themes(shipped_folder("themes")).palettes


@pytest.mark.parametrize("size", [(200, 60), (120, 50), (80, 46)])
async def test_every_widget_at_three_sizes(size: tuple[int, int]) -> None:
    app = Gallery()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert_grid(app, f"gallery-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", [(160, 20), (120, 14), (80, 12)])
async def test_a_log_at_three_sizes(size: tuple[int, int]) -> None:
    app = LogGallery()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert_grid(app, f"log-{size[0]}x{size[1]}")


@pytest.mark.parametrize("size", [(160, 50), (120, 40), (80, 24)])
async def test_a_dialog_at_three_sizes(size: tuple[int, int]) -> None:
    app = DialogGallery()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert_grid(app, f"dialog-{size[0]}x{size[1]}")


async def test_ascii_is_ascii() -> None:
    app = Gallery(THEMES["mono"], ascii_only=True)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        assert text_grid(app).isascii()
        assert_grid(app, "gallery-ascii-120x50")


@pytest.mark.parametrize("view", [Gallery, LogGallery, DialogGallery])
async def test_without_colour_nothing_but_weight_and_reversal_is_drawn(
    monkeypatch: pytest.MonkeyPatch, view: type[Gallery] | type[LogGallery]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = view(without_colour())
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        for row in rows(app):
            for segment in row:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    assert colour is None or colour.is_default, segment


@pytest.mark.parametrize("name", sorted(THEMES))
async def test_every_theme_draws(name: str) -> None:
    app = Gallery(THEMES[name])
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        assert "88.2/128" in text_grid(app)
        assert picture(app).startswith("<svg")


async def test_a_change_of_theme_reaches_what_is_drawn_line_by_line() -> None:
    from accel_tui.tui.palette import theme_of

    app = Gallery()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        before = {str(segment.style) for row in rows(app) for segment in row}
        app.register_theme(theme_of(THEMES["chalk"]))
        app.theme = "chalk"
        await pilot.pause()
        await pilot.pause()
        after = {str(segment.style) for row in rows(app) for segment in row}
        assert before.isdisjoint(after - {"None", "none", ""}), before & after


async def test_charts_and_strips_share_their_columns() -> None:
    app = Gallery()
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.pause()
        strip = app.query_one(HeatStrip)
        chart = Chart()
        await app.query_one("#utilization", Frame).mount(chart)
        await pilot.pause()
        assert chart.columns == strip.columns


async def test_exactly_one_title_is_a_chip() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        title = str(app.query_one("#devices", Frame).border_title)
        assert title.startswith("[$chip-style $on_accent on $accent] 1 Devices ")
        app.query_one(Grid).blur()
        await pilot.pause()
        assert all("on $accent" not in str(frame.border_title) for frame in app.query(Frame))


async def test_the_same_data_again_draws_nothing() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        while any(chart._repaint_required for chart in app.query(Chart)):  # still drawing the first time
            await pilot.pause()
        before = text_grid(app)
        app.fill(NOW)
        for chart in app.query(Chart):
            assert not chart._repaint_required
        await pilot.pause()
        assert text_grid(app) == before


HOSTILE = (
    "\x1b]52;c;aGk=\x07",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[?1049l",
    "\x1bc\x1b#8",
    "\x9b2J\x9d0;t\x9c",
    "\x1bP$q\x1b\\\\",
    "\u202eevil\u2066",
    "a\nb\rc\td\x7f\x18",
    "[@click=app.quit]x[/] [red]y",
)


@pytest.mark.parametrize("text", HOSTILE)
async def test_foreign_text_is_text_everywhere(text: str) -> None:
    app = Gallery()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        told = (Piece(text), Piece("end", "muted"))
        app.query_one("#devices", Frame).tell(told, told)
        app.query_one("#figures", Lines).show([Ends(told, told)])
        app.query_one("#memory", Lines).show([Rule(text)])
        picture_ = Picture(
            (Line(((0.0, 1.0), (1.0, 2.0)), "util", text),),
            y_labels=(text, text, text),
            x_labels=(Label(0.0, text),),
            events=(Label(0.5, text),),
        )
        app.query_one("#curves", Chart).show(picture_)
        app.query_one(HeatStrip).show([HeatRow(told, ((0.0, 1.0),), told)], Axis(1.0), labels=[Label(0.0, text)])
        app.query_one(Grid).show([], empty=[told])
        await pilot.pause()
        shown = text_grid(app)
        assert not [
            letter for letter in shown if not (letter.isprintable() or letter == "\n") or letter in "\u202e\u2066"
        ]
        assert app.is_running
        if text.startswith("[@"):
            assert "[@click=app.quit]x[/]" in shown
