"""Log, Utilization and Metrics over a real supervisor and a real run whose log grows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.model.runs import RunState
from accel_tui.tui.app import Options
from accel_tui.tui.panes.log import LogPane
from accel_tui.tui.widgets.chart import Chart
from accel_tui.tui.widgets.multiples import Multiples
from support.screening import Stage, over
from support.screens import text_grid
from support.supervising import Site, site

TALKER = """
import pathlib, sys, time
for number in range(200):
    print('line', number, flush=True)
print('ValueError: something is wrong', file=sys.stderr, flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    print('line', number, flush=True)
    number += 1
    time.sleep(0.05)
sys.exit(3)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "state") as found:
        yield found


def lines_of(stage: Stage) -> int:
    return stage.app.screen.query_one(LogPane).view.status.total


async def test_a_growing_log_is_followed_searched_and_left_to_its_end(place: Site, tmp_path: Path) -> None:
    end = tmp_path / "end"
    identifier = place.submit([sys.executable, "-u", "-c", TALKER, str(end)], name="talker")
    place.when(identifier, lambda _: b"wrong" in place.client.log(identifier))
    async with over(place) as stage:
        await stage.until(lambda: lines_of(stage) > 200, "the log")
        assert "following" in text_grid(stage.app)
        before = lines_of(stage)
        await stage.until(lambda: lines_of(stage) > before + 3, "more of the log")
        await stage.press("5", "left_curly_bracket")
        assert "ValueError: something is wrong" in text_grid(stage.app)
        await stage.until(lambda: "lines behind" in text_grid(stage.app), "what is behind")
        await stage.press("m", "slash", *"line 17", "enter")
        await stage.until(lambda: "of 11 hits" in text_grid(stage.app), "the hits")
        await stage.press("escape", "end")
        end.touch()
        await stage.until(lambda: "exit code 3" in text_grid(stage.app), "how it failed")
        assert "behind" not in text_grid(stage.app)
    assert place.client.run(identifier).exit_code == 3


async def test_utilization_of_the_host_is_drawn(place: Site) -> None:
    async with over(place) as stage:
        chart = stage.app.screen.query_one("#single", Chart)
        await stage.press("4")
        await stage.until(lambda: chart.picture.lines and len(chart.picture.lines[0].points) > 2, "some samples")
        assert "cpu, 5 min" in text_grid(stage.app)
        await stage.press("v")
        assert "memory, cpu, 5 min" in text_grid(stage.app)


async def test_what_was_read_before_the_screen_was_opened_is_there(tmp_path: Path) -> None:
    with site(tmp_path / "state", "server8") as place:
        key = next(view.device.key for view in place.client.devices().devices)
        name = "utilization_percent"

        def samples() -> int:
            return len(place.client.devices_history(60, devices=[key], readings=[name])[key].get(name, []))

        place.client.hello()
        identifier = place.submit([sys.executable, "-c", "import time; time.sleep(600)"], "gaudi:0", yes=True)
        place.reach(identifier, RunState.RUNNING)
        async with over(place, Options(demo="server8")) as stage:
            await stage.until(lambda: samples() > 3, "some recorded samples")
        async with over(place, Options(demo="server8")) as stage:
            await stage.until(lambda: len(stage.app.desk.trail.points(key, name)) > 3, "the recorded samples")
            tiles = stage.app.screen.query_one(Multiples)
            assert tiles.tiling() is not None
            assert "simulated" in text_grid(stage.app)
            for _ in range(2):
                await stage.press("4", "t")
            await stage.until(lambda: "1 h" in text_grid(stage.app), "the longer span")
