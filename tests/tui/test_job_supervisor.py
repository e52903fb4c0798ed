"""The main job from the Job pane on a real supervisor: open, change, preview, launch; and the verbs around it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from accel_tui.config.settings import load_settings
from accel_tui.jobs.session import load_session
from accel_tui.model.runs import RunResult, RunState
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.panes.job import JobPane
from accel_tui.tui.screens.confirm import Confirm
from accel_tui.tui.screens.consent import ConsentDialog
from accel_tui.tui.screens.save import SaveDialog
from accel_tui.tui.screens.sessions import SessionsDialog
from support.screening import COLOURS, Stage
from support.screens import text_grid
from support.supervising import Site, site

SESSION = """\
[session]
title = "Two programs"

[devices]
select = "cpu"

[[job]]
name = "greet"  # says hello
kind = "command"
[job.command]
argv = ["echo", "hello"]

[[job]]
name = "ask"
kind = "command"
[job.launch]
launcher = "torchrun"
processes = 2
[job.command]
argv = ["train.py"]
"""
TOKEN = "hf_" + "a" * 30

# Whole ways through the pane, each with a supervisor and runs of its own: minutes in all.
pytestmark = pytest.mark.slow


def work(place: Site) -> Path:
    """The folder that the screen is started in."""
    folder = place.base.parent / "work"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.asynccontextmanager
async def opened(
    place: Site, options: Options = Options(), size: tuple[int, int] = (160, 45), **variables: str  # noqa: B008
) -> AsyncIterator[Stage]:  # fmt: skip
    environment = {**place.environment, **COLOURS, "HOME": str(work(place)), **variables}
    settings = load_settings({"state_dir": str(place.base)}, environment)
    app = AccelApp(place.new_client, settings, environment, str(work(place)), options)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot)
        await stage.until(lambda: app.desk.board.inventory is not None, "the first word of the supervisor")
        yield stage


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "state") as found:
        yield found


@pytest.fixture
def file(place: Site) -> Path:
    path = work(place) / "programs.toml"
    path.write_text(SESSION)
    return path


def pane(stage: Stage) -> JobPane:
    return stage.app.screen_stack[0].query_one(JobPane)


async def planned(stage: Stage) -> None:
    def there() -> bool:
        draft = stage.app.desk.board.draft
        return draft is not None and pane(stage).settled(draft)

    await stage.until(there, "the plan")


async def opened_job(stage: Stage, file: Path, name: str) -> None:
    """Open a job by typing the path of its file."""
    await stage.press("2", "o")
    await asked(stage, SessionsDialog)
    await stage.press(*f"{file}#{name}", "enter")
    await stage.until(lambda: stage.app.desk.board.draft is not None, "the draft")
    await planned(stage)


async def field(stage: Stage, *path: str) -> None:
    """Put the cursor on a field of the form."""
    view = pane(stage).part.view
    await stage.until(lambda: view.has_focus and view.rows, "the form")
    assert view.move_to(path)


async def typed(stage: Stage, text: str, *path: str) -> None:
    """Type a text anew into a field."""
    await field(stage, *path)
    await stage.press("enter")
    await stage.until(lambda: pane(stage).part.editor.has_focus, "the line to type into")
    await stage.press("end", "ctrl+u", *text, "enter")


async def asked(stage: Stage, kind: type[Screen[Any]]) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, kind), f"the {kind.__name__}")


def argv(stage: Stage) -> Any:
    draft = stage.app.desk.board.draft
    assert draft is not None
    return draft.job["command"]["argv"]


async def test_open_change_preview_launch(place: Site, file: Path) -> None:
    async with opened(place) as stage:
        await opened_job(stage, file, "greet")
        assert "echo hello" in text_grid(stage.app)
        await stage.press("e")
        await typed(stage, "echo 'good day' $HOME", "command", "argv")
        await stage.until(lambda: argv(stage) == ["echo", "good day", "$HOME"], "the words in the draft")
        await planned(stage)
        assert "echo 'good day' '$HOME'" in text_grid(stage.app)
        assert "edited, not saved" in text_grid(stage.app)
        await stage.press("l")
        await stage.until(lambda: stage.app.desk.board.runs, "the run")
        identifier = stage.app.desk.board.selected
        assert identifier is not None
        run = place.finished(identifier)
        assert run.result is RunResult.SUCCEEDED
        assert place.client.log(identifier) == b"good day $HOME\n"
        assert not pane(stage).editing


async def test_a_variable_is_added_seen_and_taken_out(place: Site, file: Path) -> None:
    async with opened(place) as stage:
        await opened_job(stage, file, "greet")
        await stage.press("e", "slash", *"variables", "enter")
        await field(stage, "launch", "env")
        await stage.press("enter")
        await stage.until(lambda: pane(stage).part.editor.has_focus, "the line to type into")
        await stage.press(*"MY_NAME=some value", "enter")
        await planned(stage)
        assert "+ MY_NAME=some value" in text_grid(stage.app)
        assert "set by the job" in text_grid(stage.app)
        await field(stage, "launch", "env")
        await stage.press("backspace")
        await planned(stage)
        assert "MY_NAME" not in text_grid(stage.app)


async def test_a_wrong_field_says_why_and_stops_the_launch(place: Site, file: Path) -> None:
    async with opened(place) as stage:
        await opened_job(stage, file, "greet")
        await stage.press("e")
        await typed(stage, "soon", "launch", "time_limit")
        assert 'expected seconds, or a text such as "2h 30m"' in text_grid(stage.app)
        assert "1 field to correct" in text_grid(stage.app)
        await stage.press("l")
        assert not stage.app.desk.board.runs
        await field(stage, "launch", "time_limit")
        await stage.press("backspace")
        assert pane(stage).why_not("job.launch") is None


async def test_what_is_picked_comes_before_the_session(tmp_path: Path) -> None:
    with site(tmp_path / "state", "server8") as place:
        path = work(place) / "programs.toml"
        path.write_text(SESSION)
        async with opened(place, Options(demo="server8")) as stage:
            await opened_job(stage, path, "ask")
            assert "devices    cpu" in text_grid(stage.app)
            await stage.press("1", "g", "2")
            await planned(stage)
            assert "devices    gaudi:0,1" in text_grid(stage.app)
            assert "HABANA_VISIBLE_MODULES=0,1" in text_grid(stage.app)
            await stage.press("1", "escape", "2")
            await planned(stage)
            assert "devices    cpu" in text_grid(stage.app)


async def test_a_question_is_asked_and_answered(place: Site) -> None:
    program = work(place) / "shared.sh"
    program.write_text("#!/bin/sh\necho done\n")
    program.chmod(0o777)
    path = work(place) / "shared.toml"
    path.write_text(SESSION.replace('["echo", "hello"]', f'["{program}"]'))
    async with opened(place) as stage:
        await opened_job(stage, path, "greet")
        assert "asks first: program-shared" in text_grid(stage.app)
        await stage.press("u")
        await asked(stage, ConsentDialog)
        assert "others may change the program" in text_grid(stage.app)
        await stage.press("escape")
        assert not stage.app.desk.board.runs
        await stage.press("u")
        await asked(stage, ConsentDialog)
        await stage.press("y")
        await stage.until(lambda: stage.app.desk.board.runs, "the run")
        run = next(iter(stage.app.desk.board.runs.values()))
        assert place.finished(run.id).result is RunResult.SUCCEEDED


async def test_a_refusal_is_overridden(place: Site) -> None:
    path = work(place) / "lost.toml"
    path.write_text(SESSION.replace("[job.command]", '[job.launch]\ncwd = "nowhere"\n[job.command]', 1))
    async with opened(place) as stage:
        await opened_job(stage, path, "greet")
        assert "cwd refuses" in text_grid(stage.app)
        await stage.press("l")
        await asked(stage, ConsentDialog)
        assert "does not exist" in text_grid(stage.app)
        await stage.press("enter")  # the harmless answer is the default
        assert not stage.app.desk.board.runs
        await stage.press("l")
        await asked(stage, ConsentDialog)
        await stage.press("o")
        await stage.until(lambda: stage.app.desk.board.runs, "the run")
        run = next(iter(stage.app.desk.board.runs.values()))
        assert place.finished(run.id).result is RunResult.NOT_STARTED


async def test_the_session_is_saved_with_its_comments(place: Site, file: Path) -> None:
    async with opened(place) as stage:
        await opened_job(stage, file, "greet")
        await stage.press("e")
        await typed(stage, "echo bye", "command", "argv")
        await stage.press("w")
        await asked(stage, SaveDialog)
        await stage.press("enter")
        await asked(stage, Confirm)
        await stage.press("enter")
        assert "bye" not in file.read_text()
        await stage.press("w")
        await asked(stage, SaveDialog)
        await stage.press("enter")
        await asked(stage, Confirm)
        await stage.press("o")
        await stage.until(lambda: "bye" in file.read_text(), "the file")
        assert "# says hello" in file.read_text()
        await stage.until(lambda: not (stage.app.desk.board.draft or pane(stage)).edited, "the draft as saved")  # type: ignore[union-attr]  # a draft is there
        assert [job.name for job in load_session(file).jobs] == ["greet", "ask"]


async def test_a_new_job_is_filled_in_and_saved(place: Site) -> None:
    async with opened(place) as stage:
        await stage.press("e")
        await asked(stage, SessionsDialog)
        await stage.press(*"new command", "enter")
        await stage.until(lambda: stage.app.desk.board.draft is not None and pane(stage).editing, "the form")
        assert "1 field to correct" in text_grid(stage.app)
        await typed(stage, "true", "command", "argv")
        await planned(stage)
        await stage.press("w")
        await asked(stage, SaveDialog)
        await stage.press("end", "ctrl+u", *str(work(place) / "mine"), "enter")
        target = work(place) / "mine.toml"
        await stage.until(target.exists, "the file")
        assert load_session(target).jobs[0].model_dump()["command"]["argv"] == ["true"]


async def test_the_shell_script_runs_the_job(place: Site, file: Path) -> None:
    async with opened(place) as stage:
        await opened_job(stage, file, "greet")
        await stage.press("Y")
        await asked(stage, SaveDialog)
        assert "Copied to the clipboard" in text_grid(stage.app)
        assert stage.app.clipboard.startswith("#!/usr/bin/env bash")
        await stage.press("enter")
        script = work(place) / "greet.sh"
        await stage.until(script.exists, "the script")
        await stage.settle()
        done = subprocess.run(["bash", str(script)], capture_output=True, text=True, timeout=60)
        assert done.stdout == "hello\n"


async def test_secrets_never_appear(place: Site) -> None:
    path = work(place) / "secret.toml"
    path.write_text(SESSION.replace('["echo", "hello"]', f'["echo", "{TOKEN}"]'))
    async with opened(place, HF_TOKEN=TOKEN) as stage:
        await opened_job(stage, path, "greet")
        seen = [text_grid(stage.app)]
        await stage.press("e")
        await field(stage, "command", "argv")
        await stage.press("enter")
        seen.append(text_grid(stage.app))
        await stage.press("end", *" more", "enter")
        await stage.until(lambda: argv(stage) == ["echo", TOKEN, "more"], "the words in the draft")
        await planned(stage)
        seen.append(text_grid(stage.app))
        await stage.press("y", "p")
        seen += [text_grid(stage.app), stage.app.clipboard]
        await stage.press("escape", "w")
        await asked(stage, SaveDialog)
        await stage.press("end", "ctrl+u", *str(work(place) / "copy"), "enter")
        await stage.until(lambda: "not saved" in text_grid(stage.app), "the refusal")
        seen.append(text_grid(stage.app))
        assert not (work(place) / "copy.toml").exists()
        assert not [text for text in seen if TOKEN in text]
        assert "********" in seen[0]


async def test_edit_and_rerun_keeps_where_it_came_from(place: Site) -> None:
    identifier = place.submit([sys.executable, "-c", "print('one')"], name="quick")
    place.finished(identifier)
    async with opened(place) as stage:
        await stage.until(lambda: identifier in stage.app.desk.board.runs, "the run")
        await stage.press("3", "e")
        await stage.until(lambda: stage.app.desk.board.draft is not None, "the draft")
        await planned(stage)
        await stage.press("l")
        await stage.until(lambda: len(stage.app.desk.board.runs) == 2, "the second run")
        second = next(one for one in stage.app.desk.board.runs if one != identifier)
        assert place.finished(second).retry_of == identifier


async def test_a_busy_cpu_offers_the_queue(place: Site, file: Path) -> None:
    blocker = place.submit([sys.executable, "-c", "import time; time.sleep(600)"], "cpu", name="blocker")
    place.reach(blocker, RunState.RUNNING)
    async with opened(place) as stage:
        await stage.until(lambda: blocker in stage.app.desk.board.runs, "the run")
        await opened_job(stage, file, "greet")
        assert "the CPU is busy with blocker" in text_grid(stage.app)
        await stage.press("l")
        assert len(stage.app.desk.board.runs) == 1
        await stage.press("u")
        await stage.until(lambda: len(stage.app.desk.board.runs) == 2, "the queued run")


async def test_read_only_says_why_not(place: Site, file: Path) -> None:
    async with opened(place, Options(read_only=True)) as stage:
        await opened_job(stage, file, "greet")
        assert "the screen was opened with --read-only" in text_grid(stage.app)
        await stage.press("l")
        assert not stage.app.desk.board.runs
