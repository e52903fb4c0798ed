"""How the Job pane looks: text grids at three sizes, with a clock that stands still and a host that is invented."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from accel_tui.tui.app import Options
from accel_tui.tui.board import Draft
from accel_tui.tui.panes.job import JobPane
from accel_tui.tui.panes.job.editing import Editor, Finder
from support.fake_client import FakeSupervisor
from support.scene import key, runs, server
from support.scenes import TRAIN
from support.screening import Stage, staged
from support.screens import assert_grid

SIZES = ((80, 24), (120, 40), (160, 40))
OWN = ("Devices", "Job", "Runs", "Start")
by_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
VARIABLES = {"PATH": "/nowhere", "HLS_MODULE_ID": "3", "WORLD_SIZE": "8", "OMP_NUM_THREADS": "4"}


def variables(folder: Path) -> dict[str, str]:
    """The environment of the screen; paths of the test's own folder are told as `~`."""
    return {**VARIABLES, "HOME": str(folder)}


async def ready(stage: Stage) -> JobPane:
    """The Job pane once everything is planned and looked at."""
    pane = stage.app.screen.query_one(JobPane)

    def looked() -> bool:
        draft = stage.app.desk.board.draft
        return draft is not None and pane.settled(draft)

    await stage.until(looked, "the plan and its checks")
    return pane


def named(name: str, size: tuple[int, int]) -> str:
    return f"job-{name}-{size[0]}x{size[1]}"


def assert_job(stage: Stage, name: str) -> None:
    """The pane alone: others change by themselves."""
    assert_grid(stage.app, name, of=stage.app.screen.query_one(JobPane))


def opened(job: Mapping[str, Any] = TRAIN, select: str = "auto:gaudi:4") -> Draft:
    return Draft(job, select, "/lab/session.toml", "/lab", saved=job)


@by_size
async def test_the_draft_in_short(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(
        FakeSupervisor(server(), runs()), tmp_path, size, environment=variables(tmp_path), panes=OWN
    ) as stage:
        stage.app.desk.draft(opened())
        await ready(stage)
        await stage.press("2")
        assert_job(stage, named("short", size))


@by_size
async def test_the_form_with_a_wrong_field(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(
        FakeSupervisor(server(), runs()), tmp_path, size, environment=variables(tmp_path), panes=OWN
    ) as stage:
        stage.app.desk.pick([key("dd")])
        stage.app.desk.draft(opened())
        pane = await ready(stage)
        await stage.press("2", "e")
        await stage.until(lambda: pane.part.view.has_focus and pane.part.view.rows, "the form")
        assert pane.part.view.move_to(("data", "eval_fraction"))
        await stage.press("enter")
        await stage.until(lambda: pane.part.editor.has_focus, "the line to type into")
        await stage.press(*"1.5")
        assert_job(stage, named("form", size))


@by_size
async def test_no_job(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(
        FakeSupervisor(server(), runs()), tmp_path, size, environment=variables(tmp_path), panes=OWN
    ) as stage:
        await stage.press("2")
        assert_job(stage, named("none", size))


@by_size
async def test_a_search_and_only_changes(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(
        FakeSupervisor(server(), runs()), tmp_path, size, environment=variables(tmp_path), panes=OWN
    ) as stage:
        stage.app.desk.draft(opened())
        await ready(stage)
        await stage.press("2", "slash")
        await stage.until(lambda: stage.app.screen.query_one(Finder).has_focus, "the search")
        await stage.press(*"eval batch")
        assert_job(stage, named("search", size))
        await stage.press("escape", "d")
        assert_job(stage, named("changes", size))


async def test_two_keys_at_once_end_a_search_and_open_the_field(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, environment=variables(tmp_path), panes=OWN) as stage:
        stage.app.desk.draft(opened())
        await ready(stage)
        await stage.press("2", "slash")
        await stage.until(lambda: stage.app.screen.query_one(Finder).has_focus, "the search")
        await stage.press(*"learning")
        for _ in range(2):
            stage.app.post_message(Key("enter", "\r"))
        await stage.until(lambda: stage.app.screen.query_one(Editor).has_focus, "the line to type into")


async def test_lists_and_ascii(tmp_path: Path) -> None:
    job = {
        "name": "ask", "kind": "generate", "model": {"path": "Qwen/Qwen3-8B"}, "launch": {"python": "python3"},
        "generate": {"prompts": ["What is a class?", "How are names resolved?"], "arguments": {"do_sample": False}},
    }  # fmt: skip
    faked, options = FakeSupervisor(server(), runs()), Options(ascii_only=True, theme="mono")
    async with staged(faked, tmp_path, (80, 24), options, variables(tmp_path), panes=OWN) as stage:
        stage.app.desk.draft(opened(job, "cpu"))
        await ready(stage)
        await stage.press("2", "e")
        assert_job(stage, "job-lists-ascii-80x24")


async def test_a_job_of_a_kind_that_is_not_known(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, environment=variables(tmp_path), panes=OWN) as stage:
        await stage.press("2")
        stage.app.desk.draft(Draft({"name": "x", "kind": "trian"}))
        await stage.settle()
        assert_job(stage, "job-unknown-120x40")
