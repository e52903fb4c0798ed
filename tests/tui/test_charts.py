"""Utilization and Metrics: history of devices, curves of a run, spans, cursor, trouble with readings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from accel_tui.model.devices import DeviceView, Inventory, ok
from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_text
from accel_tui.tui.app import Options
from accel_tui.tui.panes.metrics import MetricsPane
from accel_tui.tui.panes.utilization import UtilizationPane
from accel_tui.tui.widgets.chart import Chart
from accel_tui.tui.widgets.heat import HeatStrip
from support import past
from support.fake_client import FakeSupervisor
from support.scene import NOW, cpu_view, inventory, key, run, runs, server, xpu_server
from support.scenes import fall_silent
from support.screening import SIZES, Stage, staged
from support.screens import assert_grid, text_grid

OWN = ("Devices", "Runs", "Utilization", "Log", "Metrics")
"""What is looked at here; other panes have grids of their own."""
by_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
MAXIMISED = (160, 45)


def told(devices: Inventory, known: tuple[Run, ...] = runs()) -> FakeSupervisor:
    """A supervisor that remembers the last minutes and the curves of its first run."""
    supervisor = FakeSupervisor(devices, known)
    supervisor.history = past.history(devices)
    supervisor.series = {known[0].id: past.curves()} if known else {}
    return supervisor


def asked(supervisor: FakeSupervisor, name: str) -> int:
    return sum(name == one for one, _ in supervisor.asked)


def named(name: str, size: tuple[int, int]) -> str:
    return f"charts-{name}-{size[0]}x{size[1]}"


def text_of(stage: Stage) -> str:
    return text_grid(stage.app)


@by_size
async def test_many_cards(size: tuple[int, int], tmp_path: Path) -> None:
    """The loss stands on their axis where no other pane shows it; one card is stale."""
    async with staged(told(server()), tmp_path, size, panes=OWN) as stage:
        await stage.press("4")
        assert_grid(stage.app, named("cards", size))


async def test_a_loss_that_is_older_than_the_span_is_said_and_has_no_axis_of_its_own(tmp_path: Path) -> None:
    supervisor = told(server())
    async with staged(supervisor, tmp_path, (160, 45), panes=OWN) as stage:
        await stage.press("4", "m")
        assert "no loss in this span" not in text_of(stage)
        stage.clock.now += 3600
        supervisor.tell("devices", replace(server(), time=time_text(stage.clock.now)).to_json())
        stage.app.desk.tick()
        await stage.until(lambda: "no loss in this span" in text_of(stage), "the word of the empty chart")


@by_size
async def test_the_cpu_alone(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(told(inventory(cpu_view(37))), tmp_path, size, panes=OWN) as stage:
        await stage.press("4")
        assert_grid(stage.app, named("cpu", size))


@by_size
async def test_nothing_was_read_and_no_run(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(inventory(cpu_view()), runs()[3:4]), tmp_path, size, panes=OWN) as stage:
        stage.app.desk.select(None)
        await stage.press("6" if size[0] == 80 else "4")
        assert_grid(stage.app, named("empty", size))


@by_size
async def test_utilization_is_denied(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(told(xpu_server()), tmp_path, size, panes=OWN) as stage:
        await stage.press("4")
        assert_grid(stage.app, named("denied", size))
        await stage.press("v")
        assert "Utilization is denied" not in text_of(stage)
        assert "memory, all cards" in text_of(stage)


@by_size
async def test_curves_of_a_run(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, size, panes=OWN) as stage:
        await stage.press("6", "left")
        assert_grid(stage.app, named("curves", size))


async def test_everything_on_one_axis(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, MAXIMISED, panes=OWN) as stage:
        await stage.press("4", "m", "left", *["left"] * 20)
        assert_grid(stage.app, named("maximised", MAXIMISED))


async def test_a_silent_supervisor(tmp_path: Path) -> None:
    supervisor = told(server())
    async with staged(supervisor, tmp_path, panes=OWN) as stage:
        await stage.press("4")
        await fall_silent(supervisor, stage, 38)
        assert_grid(stage.app, "charts-silent-120x40", varying="(Next try in 1 s\\.|Trying now\\.).*")


async def test_simulated_devices(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, options=Options(demo="server8"), panes=OWN) as stage:
        await stage.press("4")
        assert_grid(stage.app, "charts-simulated-120x40")


async def test_ascii_alone(tmp_path: Path) -> None:
    options = Options(ascii_only=True, theme="mono")
    async with staged(told(server()), tmp_path, (80, 24), options, panes=OWN) as stage:
        await stage.press("4")
        assert text_of(stage).isascii()
        assert_grid(stage.app, "charts-ascii-80x24")


async def test_new_samples_are_drawn_and_a_gap_stays_blank(tmp_path: Path) -> None:
    supervisor = told(inventory(cpu_view(37)))
    async with staged(supervisor, tmp_path, panes=OWN) as stage:
        await stage.press("4")
        before = stage.app.screen.query_one("#single", Chart).picture
        stage.clock.now += 60
        view = cpu_view(90)
        supervisor.tell("devices", replace(inventory(view), time=time_text(stage.clock.now)).to_json())
        await stage.until(lambda: "90 %" in text_of(stage), "the new value")
        after = stage.app.screen.query_one("#single", Chart).picture
        time, value = after.lines[0].points[-1]
        assert (round(time), value) == (round(NOW + 60), 90.0)
        assert abs(after.axis.last - before.axis.last - 60) < 10
        assert 0 < after.max_gap < 60, "a minute without a reading is no line"


async def test_the_picked_devices_alone(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, panes=OWN) as stage:
        stage.app.desk.pick([key("dd"), key("5d")])
        await stage.settle()
        assert "2 picked, 5 min" in text_of(stage)
        assert [row.label[0].text.strip() for row in stage.app.screen.query_one(HeatStrip)._rows] == ["3", "7"]


async def test_one_card_after_the_other(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, panes=OWN) as stage:
        await stage.press("4", "right_square_bracket")
        assert "card 0, 5 min" in text_of(stage)
        await stage.press("left_square_bracket", "left_square_bracket")
        assert "cpu, 5 min" in text_of(stage)
        await stage.press("escape")
        assert "all cards, 5 min" in text_of(stage)


async def test_spans_and_zoom(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, panes=OWN) as stage:
        await stage.press("4")
        seen = []
        for _ in range(6):
            await stage.press("t")
            seen.append(stage.app.desk.board.span)
        assert seen == [900.0, 3600.0, 21600.0, 86400.0, None, 300.0]
        await stage.press("minus", "minus", "plus")
        assert "15 min" in text_of(stage)


async def test_longer_spans_are_asked_for_once_and_thinned(tmp_path: Path) -> None:
    supervisor = told(server())
    async with staged(supervisor, tmp_path, panes=OWN) as stage:
        await stage.press("4", "t", "t", "t")
        given = [one for name, one in supervisor.asked if name == "devices_history"]
        assert given[0][0] == 900.0
        longer = [(seconds, chosen["points"]) for seconds, chosen in given[1:]]
        assert [(round(seconds), points) for seconds, points in longer] == [(3960, 600), (23760, 600)]
        stage.app.desk.tick()
        await stage.settle()
        assert asked(supervisor, "devices_history") == 3


async def test_the_cursor_is_the_same_moment_in_all_charts(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, (200, 50), panes=OWN) as stage:
        await stage.press("4", "left", "left", "left")
        moment = stage.app.desk.board.moment
        assert moment is not None
        assert NOW - 60 < moment < NOW
        assert stage.app.screen.query_one(MetricsPane).chart.picture.cursor == moment
        assert "at cursor" in text_of(stage)
        await stage.press("right")
        assert moment < (stage.app.desk.board.moment or 0.0) <= NOW
        await stage.press("escape")
        assert stage.app.desk.board.moment is None
        assert "at cursor" not in text_of(stage)


async def test_a_paused_picture_stands_still(tmp_path: Path) -> None:
    supervisor = told(inventory(cpu_view(37)))
    async with staged(supervisor, tmp_path, panes=OWN) as stage:
        await stage.press("4", "P")
        chart = stage.app.screen.query_one("#single", Chart)
        before = chart.picture.lines
        assert "paused at 12:41:07" in text_of(stage)
        stage.clock.now += 5
        supervisor.tell("devices", replace(inventory(cpu_view(90)), time=time_text(stage.clock.now)).to_json())
        await stage.until(lambda: "90" in str(stage.app.desk.board.devices[0].readings), "the new value")
        assert [line.points for line in chart.picture.lines] == [line.points for line in before]
        await stage.press("P")
        assert chart.picture.lines[0].points[-1][1] == 90.0


async def test_a_logarithmic_axis_and_another_figure(tmp_path: Path) -> None:
    async with staged(told(server()), tmp_path, panes=OWN) as stage:
        await stage.press("6", "x")
        chart = stage.app.screen.query_one(MetricsPane).chart
        assert chart.picture.scale.log
        assert "log axis" in text_of(stage)
        before = chart.picture.lines
        await stage.press("v")
        assert chart.picture.lines != before
        assert chart.picture.lines[0].last == "0.72"


async def test_progress_grows_the_curve_between_two_readings(tmp_path: Path) -> None:
    supervisor = told(server())
    first = runs()[0]
    async with staged(supervisor, tmp_path, panes=OWN) as stage:
        await stage.press("6")
        before = asked(supervisor, "run_metrics")
        stage.clock.now += 2
        progress = replace(first.progress, step=813, loss=0.5)
        supervisor.tell("run", replace(first, progress=progress).to_json())
        await stage.until(lambda: "loss 0.500" in text_of(stage), "the new loss")
        assert asked(supervisor, "run_metrics") == before
        stage.clock.now += 31
        stage.app.desk.tick()
        await stage.settle()
        assert asked(supervisor, "run_metrics") == before + 1


async def test_runs_without_curves_say_why(tmp_path: Path) -> None:
    known = (run("20261130-120000-aaaa", "tool", RunState.RUNNING, kind="command", started=60), *runs()[2:4])
    async with staged(told(server(), known), tmp_path, panes=OWN) as stage:
        stage.app.desk.select(known[0].id)
        await stage.press("6")
        supervisor_words = {0: "A command tells no figures.", 1: "has not started", 2: "told no figures"}
        for place, words in supervisor_words.items():
            stage.app.desk.select(known[place].id)
            await stage.settle()
            if place == 0:
                continue  # its curves are those that the fake gives to the first run
            assert words in text_of(stage)


async def test_hidden_panes_do_not_draw(tmp_path: Path) -> None:
    supervisor = told(server())
    async with staged(supervisor, tmp_path, (80, 24), panes=OWN) as stage:
        shown: list[object] = []
        for pane in (stage.app.screen.query_one(UtilizationPane), stage.app.screen.query_one(MetricsPane)):
            pane.show = shown.append  # type: ignore[method-assign,assignment] # a spy
        stage.app.desk.tick()
        await stage.settle()
        assert shown == []


def hostile_server() -> Inventory:
    views: list[DeviceView] = []
    for view in server().devices:
        device = replace(view.device, name="\x1b]52;c;aGk=\x07[@click=app.quit]x[/]")
        views.append(replace(view, device=device, readings={**view.readings, "power_watts": ok("\x1b[2J", "x")}))
    return inventory(*views)


async def test_nothing_hostile_reaches_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07\x9b2J\u202e[@click=app.quit]x[/]"
    first = replace(runs()[0], name=evil)
    supervisor = told(hostile_server(), (first,))
    supervisor.series = {first.id: [{**past.curves()[0], "name": evil}]}
    async with staged(supervisor, tmp_path, (200, 50), panes=OWN) as stage:
        for keys in (["4"], ["4", "v", "v", "v"], ["6"], ["6", "m"]):
            await stage.press(*keys)
            shown = text_of(stage)
            assert [letter for letter in shown if letter != "\n" and not letter.isprintable()] == []
        assert "[@click=app.quit]x[/]" in text_of(stage)
        assert stage.app.screen.query_one(HeatStrip)
