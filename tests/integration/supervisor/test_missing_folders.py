"""Run folders that somebody removes or swaps under a living supervisor: told as gone, and nothing waits for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from accel_tui.model.errors import RunNotFoundError
from accel_tui.model.runs import RunResult, RunState
from support.supervising import Site
from support.waiting import wait_for


def remove(folder: Path, aside: Path, how: str) -> None:
    """Take the folder away, or put a link in its place."""
    if how == "removed":
        shutil.rmtree(folder)
    else:
        folder.rename(aside)
        folder.symlink_to(aside)


def gone(here: Site, identifier: str) -> bool:
    try:
        here.client.run(identifier)
    except RunNotFoundError:
        return True
    return False


@pytest.mark.parametrize("how", ["removed", "linked"])
def test_a_queue_goes_on_past_folders_that_are_gone(here: Site, own_world: Path, how: str) -> None:
    gate = own_world / "gate"
    running = here.submit(["sh", "-c", f"while ! test -e {gate}; do sleep 0.05; done"], "cpu")
    queued = here.submit(["true"], "cpu")
    last = here.submit(["true"], "cpu")
    here.reach(running, RunState.RUNNING)
    for identifier in (running, queued):
        remove(here.state / "runs" / identifier, own_world / identifier, how)
    gate.touch()
    assert here.finished(last).result is RunResult.SUCCEEDED
    wait_for(lambda: gone(here, running) and gone(here, queued), what="both to be told as gone")
    assert [run.id for run in here.client.runs()] == [last]
    assert not (here.state / "reports").exists()


def test_a_queued_run_without_its_folder_cannot_be_stopped_and_says_so(here: Site) -> None:
    running = here.submit(["sleep", "600"], "cpu")
    queued = here.submit(["true"], "cpu")
    shutil.rmtree(here.state / "runs" / queued)
    with pytest.raises(RunNotFoundError):
        here.client.stop(queued)
    assert gone(here, queued)
    here.client.stop(running, now=True)


def test_a_running_run_without_its_folder_is_stopped_all_the_same(here: Site) -> None:
    identifier = here.submit(["sleep", "600"], "cpu")
    here.reach(identifier, RunState.RUNNING)
    shutil.rmtree(here.state / "runs" / identifier)
    here.client.stop(identifier)
    assert here.finished(here.submit(["true"], "cpu")).result is RunResult.SUCCEEDED
    assert gone(here, identifier)


def test_a_queued_run_that_lost_its_environment_is_listed_as_damaged(here: Site) -> None:
    blocker = here.submit(["sleep", "600"], "cpu")
    queued = here.submit(["true"], "cpu")
    here.reach(blocker, RunState.RUNNING)
    (here.state / "runs" / queued / "environment.json").unlink()
    here.kill()
    damaged = here.client.run(queued)
    assert damaged.result is RunResult.LOST
    assert damaged.diagnosis is not None
    assert "environment.json" in damaged.diagnosis.summary
    assert queued in [run.id for run in here.client.runs()]
