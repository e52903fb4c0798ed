"""`view`: the log screen alone, over a file without a supervisor and over a run; on a real terminal too."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accel_tui.config.settings import load_settings
from accel_tui.model.errors import SupervisorError
from accel_tui.model.runs import Run
from accel_tui.tui.app import Options
from accel_tui.tui.viewing import ViewApp
from support import written
from support.fake_client import FakeSupervisor
from support.live_terminal import live_terminal
from support.scene import ZONE, runs, server
from support.screening import COLOURS, SIZES, Clock, Stage
from support.screens import assert_grid, text_grid
from support.waiting import wait_for
from support.world import SOURCE


@contextlib.asynccontextmanager
async def viewing(
    looked_at: Run | str, base: Path, supervisor: FakeSupervisor, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Stage]:
    clock = Clock()
    settings = load_settings({"config_dir": str(base / "config")}, {})
    app = ViewApp(
        supervisor.client, settings, COLOURS, str(base), Options(read_only=True), looked_at=looked_at, clock=clock,
        zone=ZONE,
    )  # fmt: skip
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, clock)
        await stage.settle()
        yield stage


def unreachable() -> FakeSupervisor:
    supervisor = FakeSupervisor(server())
    supervisor.silent = "nobody is asked about a file"
    return supervisor


async def test_a_file_is_shown_at_its_end_and_followed_without_a_supervisor(tmp_path: Path) -> None:
    log = tmp_path / "any.log"
    log.write_text("".join(f"line {number}\n" for number in range(500)))
    async with viewing(str(log), tmp_path, unreachable()) as stage:
        assert "line 499" in text_grid(stage.app)
        assert "any.log" in text_grid(stage.app)
        assert "following" in text_grid(stage.app)
        with log.open("a") as file:
            file.write("one more\n")
        await stage.until(lambda: "one more" in text_grid(stage.app), "the new line")
        assert "supervisor" not in text_grid(stage.app)
        await stage.press("slash", *"line 42", "enter")
        assert "11 hits" in text_grid(stage.app) or "of 11" in text_grid(stage.app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_run_alone(size: tuple[int, int], tmp_path: Path) -> None:
    failure = written.failure(tmp_path)
    others = tuple(one for one in runs() if one.id != failure.run.id)
    async with viewing(failure.run, tmp_path, FakeSupervisor(server(), others), size) as stage:
        await stage.until(lambda: stage.app.desk.board.inventory is not None, "the first word of the supervisor")
        await stage.until(lambda: stage.app.desk.board.run is not None, "the run, which is in no snapshot")
        assert_grid(stage.app, f"view-run-{size[0]}x{size[1]}")
        await stage.press("m", "1", "tab", "escape")
        assert "ChildFailedError" in text_grid(stage.app), "there are no other panes to go to"


def test_on_a_real_terminal(tmp_path: Path) -> None:
    log = tmp_path / "any.log"
    log.write_bytes(b"\x1b]52;c;aGk=\x07first\n" * 1000 + b"the last line\n")
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(SOURCE), "LANG": "C.UTF-8"}
    environment |= {"ACCEL_TUI_CONFIG_DIR": str(tmp_path / "config"), "ACCEL_TUI_STATE_DIR": str(tmp_path / "state")}
    argv = [sys.executable, "-m", "accel_tui", "view", "--file", str(log)]
    with live_terminal(argv, environment) as opened:
        opened.seen("the last line")
        with log.open("a") as file:
            file.write("and one more\n")
        opened.seen("and one more")
        opened.type("q")
        assert opened.ended() == 0
        assert b"52;c" not in opened.output
    assert not (tmp_path / "state").exists(), "a file is looked at without a supervisor"


def test_the_fake_that_is_not_asked_would_say_so() -> None:
    with pytest.raises(SupervisorError):
        unreachable().client().connect()


@pytest.mark.parametrize("key", ["\x0f", pytest.param("\x05", marks=pytest.mark.slow)], ids=["pager", "editor"])
def test_a_pager_or_editor_gets_the_clean_text_and_the_screen_comes_back(key: str, tmp_path: Path) -> None:
    log, seen, program = tmp_path / "any.log", tmp_path / "seen", tmp_path / "program"
    log.write_bytes(b"\x1b]52;c;aGk=\x07first\n" * 10 + b"the last line\n")
    program.write_text(
        f'#!/bin/sh\necho "the program has the terminal"\ncp "$2" "{seen}.new"\nmv "{seen}.new" "{seen}"\n'
    )
    program.chmod(0o700)
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(SOURCE), "LANG": "C.UTF-8"}
    environment |= {"ACCEL_TUI_CONFIG_DIR": str(tmp_path / "config"), "ACCEL_TUI_STATE_DIR": str(tmp_path / "state")}
    environment |= {"PAGER": f"{program} -x", "EDITOR": f"{program} -x", "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    argv = [sys.executable, "-m", "accel_tui", "view", "--file", str(log)]
    with live_terminal(argv, environment) as opened:
        opened.seen("the last line")
        opened.type(key)
        opened.seen("the program has the terminal")
        wait_for(lambda: opened.output.count(b"\x1b[?1049h") == 2, what="the screen to come back")
        before = opened.output.rindex(b"\x1b[?1049h")
        wait_for(lambda: b"the last line" in opened.output[before:], what="the log again")
        opened.type("q")
        assert opened.ended() == 0
    assert seen.read_text() == "first\n" * 10 + "the last line\n"
    assert list((tmp_path / "temporary").iterdir()) == [], "nothing is left behind"
