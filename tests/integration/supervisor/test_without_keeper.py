"""Runs that lost their keeper: what was asked of it completes all the same, and nothing of the run is overlooked."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accel_tui.keeper import locks, processes
from accel_tui.model.runs import Cause, Run, RunResult, RunState
from support.supervising import Site, site
from support.waiting import wait_for

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
ESCAPED = """
import os, sys, time
if os.fork() == 0:
    if {new_session}:
        os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"], {{}})
    os._exit(0)
os.wait()
time.sleep(600)
"""


@pytest.fixture
def here(own_world: Path) -> Iterator[Site]:
    """With a short time between asking and killing."""
    with site(own_world / "state", ACCEL_TUI_GRACE_SECONDS="1") as opened:
        yield opened


def state(here: Site, identifier: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((here.state / "runs" / identifier / "state.json").read_bytes())
    return document


def up(here: Site, identifier: str) -> None:
    wait_for(lambda: here.client.log(identifier) == b"up\n", what="the program")


def kill_keeper(here: Site, identifier: str) -> None:
    keeper = state(here, identifier)["keeper"]
    assert processes.signal_exact(keeper[0], keeper[1], signal.SIGKILL)
    wait_for(lambda: not processes.alive(*keeper), what="the death of the keeper")


def test_a_stop_that_its_keeper_did_not_live_to_complete_is_completed(here: Site) -> None:
    identifier = here.submit([sys.executable, "-c", STUBBORN])
    up(here, identifier)
    here.client.stop(identifier)
    kill_keeper(here, identifier)
    run = here.finished(identifier)
    assert (run.result, run.cause) == (RunResult.STOPPED, Cause.STOPPED_BY_USER)


def test_a_stop_is_completed_by_the_next_supervisor_when_all_were_killed(here: Site) -> None:
    identifier = here.submit([sys.executable, "-c", STUBBORN])
    up(here, identifier)
    main = state(here, identifier)["main"]
    here.client.stop(identifier)
    here.kill()
    kill_keeper(here, identifier)
    assert processes.alive(*main)
    run = here.finished(identifier)
    assert (run.result, run.cause) == (RunResult.STOPPED, Cause.STOPPED_BY_USER)
    assert not processes.alive(*main)


def test_the_time_limit_holds_without_a_keeper(here: Site) -> None:
    identifier = here.submit([sys.executable, "-c", STUBBORN], launch={"time_limit": 3})
    up(here, identifier)
    kill_keeper(here, identifier)
    run = here.finished(identifier)
    assert (run.result, run.cause) == (RunResult.FAILED, Cause.TIME_LIMIT)


@pytest.mark.parametrize("new_session", [False, True])
def test_a_process_that_cleared_its_environment_still_counts(here: Site, *, new_session: bool) -> None:
    identifier = here.submit([sys.executable, "-c", ESCAPED.format(new_session=new_session)])
    up(here, identifier)
    records = state(here, identifier)
    here.kill()
    kill_keeper(here, identifier)
    assert processes.signal_exact(records["main"][0], records["main"][1], signal.SIGKILL)
    wait_for(lambda: not processes.alive(*records["main"]), what="the death of the main process")
    assert here.client.run(identifier).state is RunState.RUNNING, "the escaped process is all that is left of it"
    here.client.stop(identifier)
    run = here.finished(identifier)
    assert run.result is RunResult.STOPPED
    assert processes.remains(identifier, records["main"], [f"{run.folder}/log"]) == []


def test_a_card_is_free_when_the_last_escaped_process_of_a_run_is_ended(own_world: Path) -> None:
    """It inherited the lock, and nothing else says whose it is: no tag, no session, no log."""
    silent = ESCAPED.format(new_session=True).replace("print('up', flush=True)", "import os; os.closerange(0, 3)")
    with site(own_world / "state", "server8") as demo:
        ready = own_world / "ready"
        program = silent.replace("os.wait()", f"os.wait(); open({str(ready)!r}, 'w')")
        identifier = demo.submit([sys.executable, "-c", program], "gaudi:0")
        wait_for(ready.exists, what="the program")
        records = state(demo, identifier)
        kill_keeper(demo, identifier)
        assert processes.signal_exact(records["main"][0], records["main"][1], signal.SIGKILL)
        wait_for(lambda: not processes.alive(*records["main"]), what="the death of the main process")
        assert locks.held(records["locks"][0])
        demo.client.stop(identifier)
        assert demo.finished(identifier).result is RunResult.STOPPED
        assert not locks.held(records["locks"][0])
        assert demo.finished(demo.submit(["true"], "gaudi:0")).result is RunResult.SUCCEEDED


def test_who_merely_reads_the_log_is_no_part_of_the_run(here: Site) -> None:
    identifier = here.submit([sys.executable, "-c", STUBBORN])
    up(here, identifier)
    folder = here.state / "runs" / identifier
    with (folder / "log").open("rb"):
        found = processes.remains(identifier, None, [str(folder / "log")])
        assert {pid for pid, _ in found} == {state(here, identifier)["main"][0]}


def test_a_halted_keeper_is_woken_to_stop_its_run(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    os.kill(state(here, identifier)["keeper"][0], signal.SIGSTOP)
    here.client.stop(identifier)
    assert here.finished(identifier).result is RunResult.STOPPED


@pytest.mark.parametrize("name", ["spec.json", "state.json", "environment.json"])
def test_a_run_whose_file_is_damaged_goes_on_and_can_be_stopped(here: Site, name: str) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    (here.state / "runs" / identifier / name).write_text("garbage")
    here.kill()
    assert here.client.run(identifier).state is RunState.RUNNING
    assert identifier in [run.id for run in here.client.runs()]
    here.client.stop(identifier)
    ended = here.finished(identifier)
    # Without its specification nothing can be said of it but that; its end is recorded as it was.
    assert ended.result is (RunResult.LOST if name == "spec.json" else RunResult.STOPPED)
    assert json.loads((here.state / "runs" / identifier / "exit.json").read_bytes())["cause"] == "stopped-by-user"


def begin(here: Site, *, when: str) -> tuple[str, Run]:
    """A queued run that a supervisor was killed over, in the moment that `when` says."""
    identifier = here.submit(["sh", "-c", "echo once"], "cpu")
    run = here.client.run(identifier)
    folder = Path(run.folder)
    here.kill()
    document = json.loads((folder / "state.json").read_bytes())
    (folder / "state.json").write_text(json.dumps({**document, "state": when, "start": "0" * 16}))
    return identifier, run


def test_a_run_that_a_silent_keeper_holds_is_started_once_alone(here: Site) -> None:
    """The keeper was halted between its lock and the exec, and dies at last: the run begins then, and not before."""
    blocker = here.submit(["sleep", "600"], "cpu")
    here.reach(blocker, RunState.RUNNING)
    identifier, run = begin(here, when="preparing")
    keeper = locks_run(Path(run.folder) / "lock")
    here.client.stop(blocker, now=True)
    here.finished(blocker)
    assert here.client.run(identifier, wait=2).state is RunState.PREPARING
    os.close(keeper)
    assert here.finished(identifier).result is RunResult.SUCCEEDED
    assert here.client.log(identifier) == b"once\n"


@pytest.mark.parametrize("boot", ["this", "another"])
def test_a_run_whose_keeper_died_before_the_exec_was_never_begun_and_waits_on(here: Site, boot: str) -> None:
    blocker = here.submit(["sleep", "600"], "cpu")
    here.reach(blocker, RunState.RUNNING)
    identifier, run = begin(here, when="starting")
    path = Path(run.folder) / "state.json"
    document = json.loads(path.read_bytes())
    document["keeper"] = [2**22 - 1, 1]
    document["boot_id"] = document["boot_id"] if boot == "this" else "0" * 36
    path.write_text(json.dumps(document))
    assert here.client.run(identifier).state is RunState.QUEUED
    here.client.stop(blocker, now=True)
    assert here.finished(identifier).result is RunResult.SUCCEEDED
    assert here.client.log(identifier) == b"once\n"


def locks_run(path: Path) -> int:
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor
