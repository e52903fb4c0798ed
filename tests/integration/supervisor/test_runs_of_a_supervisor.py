"""Submitting, waiting, stopping, holding, moving, removing: through the socket, with real keepers and programs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.model.errors import FileError, NotPossibleError, RunNotFoundError, UsageError
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.protocol.sse import Event
from support.supervising import Site
from support.waiting import wait_for


def test_a_command_runs_and_its_output_and_end_are_told(here: Site) -> None:
    identifier = here.submit(["sh", "-c", "echo hello; exit 3"])
    run = here.finished(identifier)
    assert (run.result, run.exit_code, run.cause) == (RunResult.FAILED, 3, Cause.EXIT)
    assert run.created <= str(run.started) <= str(run.ended)
    assert here.client.log(identifier) == b"hello\n"
    assert here.client.log(identifier, 1, 3) == b"el"
    assert here.client.log(identifier, 100) == b""


def test_the_run_gets_the_environment_of_its_submitter(here: Site) -> None:
    here.client.connect()
    identifier = here.submit([sys.executable, "-c", "import os; print(os.environ['MINE'])"], variables={"MINE": "a b"})
    here.finished(identifier)
    assert here.client.log(identifier) == b"a b\n"


def test_a_program_that_is_not_there_is_not_started(here: Site) -> None:
    run = here.finished(here.submit(["/no/such/program"], yes=True, overrides=("command-program", "program")))
    assert (run.result, run.cause) == (RunResult.NOT_STARTED, Cause.LAUNCH_FAILED)


def test_stopping_a_running_run_ends_it(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    assert here.client.stop(identifier)["state"] == "stopping"
    run = here.finished(identifier)
    assert (run.result, run.cause) == (RunResult.STOPPED, Cause.STOPPED_BY_USER)
    assert "finished already" in here.client.stop(identifier)["note"]


def test_a_queued_run_can_be_held_released_and_stopped(here: Site) -> None:
    blocker = here.submit(["sleep", "600"], "cpu")
    waiting = here.submit(["true"], "cpu", name="waiting")
    here.reach(blocker, RunState.RUNNING)
    run = here.when(waiting, lambda run: run.waiting_for)
    assert run.state is RunState.QUEUED
    assert "CPU slot" in str(run.waiting_for)
    assert here.client.hold(waiting, "lunch")["held"] == "lunch"
    assert "held already" in here.client.hold(waiting)["note"]
    here.client.stop(blocker, now=True)
    here.finished(blocker)
    assert here.client.run(waiting).state is RunState.QUEUED
    assert here.client.release(waiting)["held"] is None
    assert here.finished(waiting).result is RunResult.SUCCEEDED
    with pytest.raises(NotPossibleError):
        here.client.hold(waiting)


def test_stopping_a_queued_run_makes_it_stopped(here: Site) -> None:
    here.submit(["sleep", "600"], "cpu")
    waiting = here.submit(["true"], "cpu")
    assert here.client.stop(waiting)["result"] == "stopped"
    assert here.finished(waiting).cause is Cause.STOPPED_BY_USER


def test_runs_start_first_in_first_out_and_can_be_moved(here: Site) -> None:
    blocker = here.submit(["sleep", "600"], "cpu")
    first, second, third = (here.submit(["true"], "cpu", name=name) for name in ("first", "second", "third"))
    urgent = here.submit(["true"], "cpu", name="urgent", priority=5)
    here.client.move(third)
    here.client.move(second, before=first)
    here.client.stop(blocker, now=True)
    runs = [here.finished(one) for one in (third, urgent, second, first)]
    starts = [str(run.started) for run in runs]
    assert starts == sorted(starts)
    with pytest.raises(NotPossibleError):
        here.client.move(first)


def test_a_run_waits_for_another_and_gives_up_when_that_failed(here: Site) -> None:
    slow = here.submit(["sleep", "600"], name="slow")
    anyway = here.submit(["true"], after=(("slow", "any"),))
    only_ok = here.submit(["true"], after=((slow, "ok"),))
    run = here.when(anyway, lambda run: run.waiting_for)
    assert slow in str(run.waiting_for)
    here.client.stop(slow, now=True)
    assert here.finished(anyway).result is RunResult.SUCCEEDED
    refused = here.finished(only_ok)
    assert (refused.result, refused.cause) == (RunResult.NOT_STARTED, Cause.DEPENDENCY_FAILED)


def test_a_failed_run_is_retried_and_waiting_passes_on_to_the_retry(here: Site, own_world: Path) -> None:
    marker = own_world / "tried"
    script = f"test -e {marker} && exit 0; touch {marker}; exit 7"
    first = here.submit(["sh", "-c", script], launch={"retries": 2})
    last = here.finished(first)
    assert (last.retry_of, last.attempt, last.result) == (first, 2, RunResult.SUCCEEDED)
    assert [run.attempt for run in here.client.runs()] == [2, 1]


def test_retries_come_to_an_end(here: Site) -> None:
    last = here.finished(here.submit(["false"], launch={"retries": 2}))
    assert (last.attempt, last.result) == (3, RunResult.FAILED)
    assert len(here.client.runs()) == 3


def test_a_time_limit_ends_the_run(here: Site) -> None:
    run = here.finished(here.submit(["sleep", "600"], launch={"time_limit": 0.2}))
    assert (run.result, run.cause) == (RunResult.FAILED, Cause.TIME_LIMIT)


def test_runs_are_found_by_id_name_prefix_and_last(here: Site) -> None:
    one = here.submit(["true"], name="alpha")
    two = here.submit(["true"], name="alpha")
    three = here.submit(["sleep", "600"], name="beta")
    for identifier in (one, two):
        here.finished(identifier)
    assert here.client.run("alpha").id == two
    assert here.client.run("last").id == three
    assert here.client.run(three[:-1]).id == three
    with pytest.raises(UsageError, match="fits 3 runs"):
        here.client.run(one[:6])
    for absent in ("gamma", "20", "../../etc", "%", ""):
        with pytest.raises((RunNotFoundError, UsageError)):
            here.client.run(absent)
    assert {run.id for run in here.client.runs(name="^al")} == {one, two}
    here.reach(three, RunState.RUNNING)
    assert [run.id for run in here.client.runs(state="running")] == [three]
    with pytest.raises(UsageError):
        here.client.runs(name="(")
    with pytest.raises(UsageError):
        here.client.runs(state="sleeping")


def test_a_finished_run_can_be_removed_and_a_live_one_cannot(here: Site) -> None:
    done = here.submit(["true"])
    live = here.submit(["sleep", "600"])
    folder = Path(here.finished(done).folder)
    here.client.remove(done)
    assert not folder.exists()
    with pytest.raises(RunNotFoundError):
        here.client.run(done)
    with pytest.raises(NotPossibleError):
        here.client.remove(live)


def test_a_job_that_is_none_is_refused_in_words(here: Site) -> None:
    submission = here.submission(["true"])
    for job in ({}, {"kind": "nonsense"}, {"kind": "command"}, {"kind": "command", "command": {"argv": "x"}}):
        changed = type(submission)(**{**submission.__dict__, "job": job})
        with pytest.raises((UsageError, FileError)):
            here.client.submit(changed)
    for select in ("gaudi:x", "cpu,cpu", ""):
        with pytest.raises(UsageError):
            here.client.submit(here.submission(["true"], select))
    assert here.client.runs() == []


def test_secrets_reach_the_run_and_nothing_else(here: Site, own_world: Path) -> None:
    secret = "quite-a-secret-4711"
    code = "import os,time; assert os.environ['HF_TOKEN'] and os.environ['MINE']; print('has both'); time.sleep(600)"
    identifier = here.submit(
        [sys.executable, "-c", code], launch={"env_from": ["MINE"]}, variables={"HF_TOKEN": secret, "MINE": secret}
    )
    wait_for(lambda: here.client.log(identifier) == b"has both\n", what="the run's word")
    found = [p for p in own_world.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert found == []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert secret.encode() not in process.read_bytes()
        except OSError:
            continue
    assert secret not in here.client.metrics()
    assert secret not in json.dumps(here.client.hello())


def test_events_begin_with_a_snapshot_and_miss_nothing(here: Site) -> None:
    here.client.connect()
    with contextlib.closing(here.new_client().events()) as events:
        _read_a_run(here, events)


def _read_a_run(here: Site, events: Iterator[Event]) -> None:
    first = next(events)
    assert first.name == "snapshot"
    assert first.data["runs"] == []
    assert first.data["inventory"]["devices"]
    identifier = here.submit(["true"])
    states = []
    for event in events:
        if event.name == "run" and event.data["id"] == identifier:
            states.append(event.data["state"])
            if event.data["state"] == "finished":
                break
    assert list(dict.fromkeys(states)) == ["queued", "preparing", "running", "finished"]
    here.client.remove(identifier)


def test_every_change_is_in_the_audit_with_who_made_it(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    here.client.stop(identifier, now=True)
    here.finished(identifier)
    here.client.remove(identifier)
    lines = [json.loads(line) for line in (here.state / "audit.log").read_text().splitlines()]
    assert [line["what"] for line in lines] == ["submit", "stop", "end", "remove"]
    assert all(line["run"] == identifier for line in lines)
    by = [line["by"] for line in lines if line["what"] != "end"]
    assert by == [{"uid": os.getuid(), "pid": os.getpid()}] * 3


def test_a_job_can_name_what_it_waits_for_itself(here: Site) -> None:
    first = here.finished(here.submit(["false"], name="first")).id
    run = here.finished(here.submit(["true"], launch={"after": ["first:ok"]}))
    assert (run.result, run.cause) == (RunResult.NOT_STARTED, Cause.DEPENDENCY_FAILED)
    assert here.finished(here.submit(["true"], launch={"after": [first]})).result is RunResult.SUCCEEDED


def test_a_run_that_is_submitted_again_keeps_its_own_retries(here: Site) -> None:
    first = here.finished(here.submit(["false"]))
    last = here.finished(here.submit(["false"], launch={"retries": 1}, retry_of=first.id))
    assert last.attempt == 3
