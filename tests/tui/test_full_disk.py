"""A disk that fills under a run: said, and from 95 % on a question that nobody answers by accident."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from accel_tui.tui.app import Options
from support.fake_client import FakeSupervisor
from support.scene import runs, server
from support.screening import Stage, staged
from support.screens import text_grid

WARNS = "disk 91 % full"
ASKS = "disk 96 % full and this log grows: free space, or stop the run (accel-tui stop ID)"
TITLE = "The disk is nearly full"
PANES = ("Devices", "Runs", "Log")


def noted(supervisor: FakeSupervisor, *notes: str) -> None:
    supervisor.tell("run", replace(runs()[0], notes=notes).to_json())


def stops(supervisor: FakeSupervisor) -> list[object]:
    return [what for verb, what in supervisor.asked if verb == "stop"]


def told(stage: Stage) -> list[str]:
    return [notice.message for notice in stage.app.desk.board.notices]


async def test_it_is_said_once_and_asked_from_95_percent_on(tmp_path: Path) -> None:
    supervisor = FakeSupervisor(server(), runs())
    async with staged(supervisor, tmp_path, panes=PANES) as stage:
        noted(supervisor, WARNS)
        await stage.until(lambda: any(WARNS in one for one in told(stage)), "the warning")
        assert TITLE not in text_grid(stage.app)
        noted(supervisor, ASKS)
        await stage.until(lambda: TITLE in text_grid(stage.app), "the question")
        assert "disk 96 % full" in text_grid(stage.app)
        await stage.press("k", "s", "j", "escape")
        assert TITLE not in text_grid(stage.app)
        noted(supervisor, ASKS.replace("96", "97"))
        await stage.settle()
        assert TITLE not in text_grid(stage.app), "it was answered"
        assert not stops(supervisor)
        assert len([one for one in told(stage) if "disk" in one]) == 1
        noted(supervisor)
        await stage.until(lambda: not stage.app.desk.board.runs[runs()[0].id].notes, "room")
        noted(supervisor, ASKS)
        await stage.until(lambda: TITLE in text_grid(stage.app), "the question, as there was room in between")
        await stage.press("S")
        await stage.until(lambda: bool(stops(supervisor)), "the stop")
        assert stops(supervisor) == [(runs()[0].id, False)]


async def test_the_question_waits_for_who_is_typing(tmp_path: Path) -> None:
    supervisor = FakeSupervisor(server(), runs())
    async with staged(supervisor, tmp_path, panes=PANES) as stage:
        await stage.press("ctrl+p")
        noted(supervisor, ASKS)
        await stage.until(lambda: any("disk" in one for one in told(stage)), "the warning")
        await stage.press("S")
        assert not stops(supervisor)
        await stage.press("escape")
        stage.app.desk.tick()
        await stage.until(lambda: TITLE in text_grid(stage.app), "the question")


async def test_a_screen_that_may_change_nothing_does_not_ask(tmp_path: Path) -> None:
    supervisor = FakeSupervisor(server(), runs())
    async with staged(supervisor, tmp_path, options=Options(read_only=True), panes=PANES) as stage:
        noted(supervisor, ASKS)
        await stage.until(lambda: any("disk" in one for one in told(stage)), "the warning")
        stage.app.desk.tick()
        await stage.settle()
        assert TITLE not in text_grid(stage.app)
