"""How the screen looks: text grids at three sizes, of states with a fixed clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.tui.app import Options
from support.fake_client import FakeSupervisor
from support.scene import cpu_view, inventory, runs, server, xpu_server
from support.scenes import fall_silent, give_logs, stopping
from support.screening import SIZES, staged
from support.screens import assert_grid

OWN = ("Devices", "Runs", "Start")
"""What is looked at here; other panes have grids of their own."""
by_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def named(name: str, size: tuple[int, int]) -> str:
    return f"{name}-{size[0]}x{size[1]}"


@by_size
async def test_a_busy_server(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, size, panes=OWN) as stage:
        assert_grid(stage.app, named("screen-busy", size))


@by_size
async def test_nothing_has_run_yet(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(inventory(cpu_view(), host="dev-laptop")), tmp_path, size, panes=OWN) as stage:
        assert_grid(stage.app, named("screen-first", size), varying=r"\d+ for (CPU|Gaudi|Intel GPU)")


@by_size
async def test_a_supervisor_that_went_away(size: tuple[int, int], tmp_path: Path) -> None:
    supervisor = FakeSupervisor(xpu_server(), runs()[3:])
    async with staged(supervisor, tmp_path, size, panes=OWN) as stage:
        await fall_silent(supervisor, stage, 38)
        assert_grid(stage.app, named("screen-silent", size))


async def test_it_is_labelled_as_simulated(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, options=Options(demo="server8"), panes=OWN) as stage:
        assert_grid(stage.app, "screen-simulated-120x40")


async def test_ascii_alone(tmp_path: Path) -> None:
    supervisor = FakeSupervisor(server(), runs())
    async with staged(supervisor, tmp_path, (80, 24), Options(ascii_only=True, theme="mono"), panes=OWN) as stage:
        assert_grid(stage.app, "screen-ascii-80x24")


async def test_too_small_says_what_it_needs(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, (52, 18), panes=OWN) as stage:
        assert_grid(stage.app, "screen-tiny-52x18")


@pytest.mark.parametrize(
    ("key", "name"),
    [("question_mark", "help"), ("ctrl+p", "palette"), ("s", "stop"), ("i", "explain"), ("enter", "details")],
)
@by_size
async def test_dialogs(key: str, name: str, size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, size, panes=OWN) as stage:
        await stage.press(key)
        assert_grid(stage.app, named(f"screen-{name}", size))


@by_size
async def test_a_stop_names_every_rank(size: tuple[int, int], tmp_path: Path) -> None:
    supervisor = stopping()
    give_logs(supervisor, tmp_path)
    async with staged(supervisor, tmp_path, size, panes=OWN) as stage:
        await stage.press("s")
        assert_grid(stage.app, named("screen-stopping", size))


@by_size
async def test_a_run_in_full(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), runs()), tmp_path, size, panes=OWN) as stage:
        await stage.press("3", "down", "down", "down", "i")
        assert_grid(stage.app, named("screen-run", size))
