"""The screen on a real supervisor: what is picked, stopped, run again, removed, and what happens when it dies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.model.runs import Run, RunResult, RunState
from accel_tui.tui.app import Options
from accel_tui.tui.board import LinkState
from accel_tui.tui.panes.runs import RunsPane
from accel_tui.tui.screens.confirm import Confirm
from accel_tui.tui.screens.stop import StopDialog
from accel_tui.tui.widgets.grid import Grid
from support.screening import Stage, over
from support.screens import text_grid
from support.supervising import Site, site

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "state") as found:
        yield found


def run_of(stage: Stage, identifier: str) -> Run | None:
    return stage.app.desk.board.runs.get(identifier)


async def reached(stage: Stage, identifier: str, state: RunState) -> None:
    def there() -> bool:
        run = run_of(stage, identifier)
        return run is not None and run.state is state

    await stage.until(there, f"{state.value} of {identifier}")


async def test_the_cpu_is_picked_and_given_back(place: Site) -> None:
    async with over(place) as stage:
        await stage.press("1", "end", "space")
        assert stage.app.desk.board.picks == ("cpu",)
        assert "picked   cpu" in text_grid(stage.app)
        await stage.press("escape")
        assert not stage.app.desk.board.picks


async def test_a_group_is_proposed_and_judged(tmp_path: Path) -> None:
    with site(tmp_path / "state", "server8") as place:
        async with over(place, Options(demo="server8")) as stage:
            await stage.press("1", "g")
            assert len(stage.app.desk.board.picks) == 2
            assert "picked   gaudi:0,1   a supported group of 2" in text_grid(stage.app)
            await stage.press("g", "g")
            assert "picked   gaudi:0-3   a supported group of 4" in text_grid(stage.app)
            await stage.press("x", "home", "space", "shift+down", "shift+down")
            assert "picked   gaudi:0-2" in text_grid(stage.app)
            assert "no supported group of 3" in text_grid(stage.app)
            for _ in range(5):
                await stage.press("down")
            await stage.press("space")  # card 7 needs a reset
            assert "cannot be picked" in text_grid(stage.app)


async def test_a_run_is_stopped_after_a_question(place: Site) -> None:
    identifier = place.submit(SLEEP, name="sleeper")
    place.reach(identifier, RunState.RUNNING)
    async with over(place) as stage:
        await reached(stage, identifier, RunState.RUNNING)
        await stage.press("s")
        assert isinstance(stage.app.screen, StopDialog)
        await stage.press("escape")
        assert place.client.run(identifier).state is RunState.RUNNING
        await stage.press("s", "s")
        await reached(stage, identifier, RunState.FINISHED)
        assert "then ended" in text_grid(stage.app)
        await stage.press("escape")
        assert "stopped by you" in text_grid(stage.app)
    assert place.client.run(identifier).result is RunResult.STOPPED


async def test_a_stubborn_run_is_forced(place: Site) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(600)"
    identifier = place.submit([sys.executable, "-u", "-c", stubborn], name="stubborn")
    place.when(identifier, lambda run: b"ready" in place.client.log(identifier))
    async with over(place) as stage:
        await reached(stage, identifier, RunState.RUNNING)
        await stage.press("s", "s")
        await reached(stage, identifier, RunState.STOPPING)
        await stage.until(lambda: "left" in text_grid(stage.app), "the countdown")
        assert "SIGKILL until none is left" in text_grid(stage.app)
        await stage.press("k")
        await reached(stage, identifier, RunState.FINISHED)
    assert place.client.run(identifier).signal == "SIGKILL"


async def test_a_finished_run_is_run_again_copied_and_removed(place: Site) -> None:
    identifier = place.submit(["true"], name="quick")
    place.finished(identifier)
    async with over(place) as stage:
        await reached(stage, identifier, RunState.FINISHED)
        await stage.press("3", "y", "r")
        await stage.until(lambda: len(stage.app.desk.board.runs) == 2, "the second run")
        second = next(one for one in stage.app.desk.board.runs if one != identifier)
        assert stage.app.desk.board.selected == second
        await reached(stage, second, RunState.FINISHED)
        assert place.client.run(second).retry_of == identifier
        await stage.press("delete")
        assert isinstance(stage.app.screen, Confirm)
        await stage.press("enter")  # the harmless answer is the default
        assert run_of(stage, second) is not None
        await stage.press("delete", "r")
        await stage.until(lambda: run_of(stage, second) is None, "the removal")
    assert [run.id for run in place.client.runs()] == [identifier]


async def test_editing_hands_the_job_to_the_draft(place: Site) -> None:
    identifier = place.submit(["true"], name="quick")
    place.finished(identifier)
    async with over(place) as stage:
        await reached(stage, identifier, RunState.FINISHED)
        await stage.press("3", "e")
        await stage.until(lambda: stage.app.desk.board.draft is not None, "the draft")
        draft = stage.app.desk.board.draft
        assert draft is not None
        assert draft.job["command"]["argv"] == ["true"]
        assert draft.retry_of == identifier
        assert not draft.edited


async def test_runs_are_filtered(place: Site) -> None:
    for name in ("alpha", "beta"):
        place.finished(place.submit(["true"], name=name))
    async with over(place) as stage:
        await stage.until(lambda: len(stage.app.desk.board.runs) == 2, "both runs")
        await stage.press("3", "slash", *"alp", "enter")
        grid = stage.app.screen.query_one(RunsPane).query_one(Grid)
        assert len(grid.rows) == 1
        await stage.press("slash", *"zzz")
        assert "No run matches 'alpzzz'." in text_grid(stage.app)
        await stage.press("escape")
        assert len(grid.rows) == 2


async def test_a_supervisor_that_is_killed_comes_back_by_itself(place: Site) -> None:
    identifier = place.submit(SLEEP, name="sleeper")
    place.reach(identifier, RunState.RUNNING)
    async with over(place) as stage:
        await reached(stage, identifier, RunState.RUNNING)
        before = place.kill()
        await stage.until(lambda: stage.app.desk.board.link.greeting.get("pid") not in (None, before), "a new one")
        await stage.until(lambda: stage.app.desk.board.link.state is LinkState.LIVE, "the return of the link")
        run = run_of(stage, identifier)
        assert run is not None
        assert run.state is RunState.RUNNING


async def test_read_only_says_why_not(place: Site) -> None:
    identifier = place.submit(SLEEP, name="sleeper")
    place.reach(identifier, RunState.RUNNING)
    async with over(place, Options(read_only=True)) as stage:
        await reached(stage, identifier, RunState.RUNNING)
        await stage.press("s")
        assert not isinstance(stage.app.screen, StopDialog)
        assert "stop: the screen was opened with --read-only" in text_grid(stage.app)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_try_makes_uses_and_trains_a_tiny_model(tmp_path: Path, torch_python: str) -> None:
    with site(tmp_path / "state", ACCEL_TUI_PYTHON=torch_python) as place:
        async with over(place) as stage:
            assert "Four ways to begin" in text_grid(stage.app)
            await stage.pilot.press("t")
            await stage.until(lambda: len(finished(stage)) == 3, "three runs", seconds=300, settle=False)
            runs = stage.app.desk.board.runs
        assert {run.name for run in runs.values()} == {"quickstart-model", "generate", "train"}
        assert {run.result for run in runs.values()} == {RunResult.SUCCEEDED}


def finished(stage: Stage) -> list[Run]:
    return [run for run in stage.app.desk.board.runs.values() if run.state is RunState.FINISHED]
