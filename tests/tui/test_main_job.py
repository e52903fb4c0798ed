"""The main job from the screen on a real supervisor: by Pilot, in tmux, and across the death of the screen."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.model.runs import RunResult, RunState
from accel_tui.protocol.messages import Submission
from support.live_terminal import live_terminal
from support.main_job import Seen, main_job, training_session
from support.screening import over
from support.screens import text_grid
from support.supervising import Site, site
from support.waiting import wait_for

XTERM = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
TMUX_KEYS = {"slash": "/", "enter": "Enter", "escape": "Escape", "space": "Space", "end": "End"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return training_session(tmp_path / "work")


def assert_done(place: Site) -> None:
    """The first run was stopped and has saved, the second goes on and is the first one's job again."""
    second, first = place.client.runs()
    assert (first.result, first.state) == (RunResult.STOPPED, RunState.FINISHED)
    assert second.state is not RunState.FINISHED
    assert second.retry_of == first.id
    assert first.devices == ("cpu",)
    events = (Path(first.folder) / "events/rank-0.jsonl").read_text()
    assert '"checkpoint"' in events
    assert '"WHO":"me"' in (Path(first.folder) / "spec.json").read_text().replace(" ", "")


async def test_the_main_job_by_pilot(place: Site, session: Path) -> None:
    async with over(place) as stage:
        for step in main_job(session):
            await stage.pilot.press(*step.keys)
            try:
                await stage.until(lambda step=step: step.seen(text_grid(stage.app)), step.what, settle=False)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{text_grid(stage.app)}") from None
    assert_done(place)


def test_the_main_job_in_tmux(place: Site, session: Path, tmp_path: Path) -> None:
    """The same keys, typed into a terminal multiplexer, whose screen is read back."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with Tmux(tmp_path / "tmux", place) as tmux:
        tmux.wait_for(lambda text: "shareable" in text, "the screen")
        for step in main_job(session):
            tmux.press(*step.keys)
            tmux.wait_for(step.seen, step.what)
        tmux.press("q")
        tmux.wait_for(lambda text: "1 run goes on" in text, "the shell")
    assert_done(place)


def test_a_screen_that_is_killed_in_training_loses_nothing(place: Site, session: Path) -> None:
    environment = {**place.environment, **XTERM}
    argv = [sys.executable, "-m", "accel_tui"]
    with live_terminal(argv, environment, cwd=str(place.base.parent)) as opened:
        opened.seen("shareable")
        identifier = submit_training(place, session)
        opened.seen("'loss'")
        opened.signal(signal.SIGKILL)
        assert opened.ended() == -signal.SIGKILL
    before = losses(place, identifier)
    place.when(identifier, lambda _: len(losses(place, identifier)) > len(before) + 3)
    with live_terminal(argv, environment, cwd=str(place.base.parent)) as again:
        again.seen("'loss'")
        again.seen(f"'step': {len(losses(place, identifier))}")  # the log goes on where it was
        again.seen("1 running")
    place.client.stop(identifier)
    run = place.finished(identifier)
    assert run.result is RunResult.STOPPED
    steps = losses(place, identifier)
    assert steps == list(range(1, len(steps) + 1))  # complete: every step, once, in order
    assert run.progress.step == len(steps)


def submit_training(place: Site, session: Path) -> str:
    from accel_tui.client.submitter import split_environment
    from accel_tui.jobs.paths import resolve_paths
    from accel_tui.jobs.session import load_session

    job = resolve_paths(load_session(session).jobs[0], session.parent)
    base, secrets = split_environment(place.environment, ())
    submission = Submission(job.model_dump(mode="json"), "cpu", base, str(session.parent), secrets)
    return str(place.client.submit(submission)["id"])


def losses(place: Site, identifier: str) -> list[int]:
    """The steps that the log holds."""
    lines = place.client.log(identifier).decode().splitlines()
    return [int(line.rpartition(" ")[2].rstrip("}")) for line in lines if line.endswith("}")]


class Tmux:
    """A session of a tmux server of its own with the screen in it."""

    def __init__(self, folder: Path, place: Site, size: tuple[int, int] = (120, 40)) -> None:
        folder.mkdir()
        self._socket, self._place, self._size = folder / "socket", place, size

    def __enter__(self) -> Tmux:
        width, height = map(str, self._size)
        command = f"{shlex.quote(sys.executable)} -m accel_tui; exec cat"
        self._run("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, command)
        return self

    def __exit__(self, *_: object) -> None:
        self._run("kill-server")

    def press(self, *keys: str) -> None:
        for key in keys:
            named = TMUX_KEYS.get(key)
            self._run("send-keys", *([named] if named else ["-l", key]))

    def wait_for(self, seen: Seen, what: str) -> None:
        shown = [""]

        def look() -> object:
            shown[0] = self._run("capture-pane", "-p")
            return seen(shown[0])

        try:
            wait_for(look, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{shown[0]}") from None

    def _run(self, *arguments: str) -> str:
        environment = {**self._place.environment, **XTERM, "HOME": os.environ["HOME"]}
        environment.pop("TMUX", None)
        argv = ["tmux", "-S", str(self._socket), *arguments]
        cwd = self._place.base.parent
        done = subprocess.run(argv, env=environment, cwd=cwd, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout
