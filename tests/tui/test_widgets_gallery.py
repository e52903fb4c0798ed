"""All drawing widgets at three sizes, as the text they put on the screen."""

from __future__ import annotations

import pytest

from accel_tui.config.shipped import shipped_folder
from accel_tui.tui.theme import load_themes, without_colour
from accel_tui.tui.widgets.chart import Chart
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.heat import HeatStrip
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
        assert str(app.query_one("#devices", Frame).border_title).count("[$chip-style $on_accent on $accent] 1 Devices ") == 1
        app.query_one(Grid).blur()
        await pilot.pause()
        assert all("on $accent" not in str(frame.border_title) for frame in app.query(Frame))


async def test_the_same_data_again_draws_nothing() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        before = text_grid(app)
        app.fill(NOW)
        for chart in app.query(Chart):
            assert not chart._repaint_required
        await pilot.pause()
        assert text_grid(app) == before
