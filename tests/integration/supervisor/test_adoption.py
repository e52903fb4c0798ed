"""Whatever of ours is killed: runs go on, the queue goes on, records are true."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from accel_tui.client.connection import Client
from accel_tui.client.starting import lock_held
from accel_tui.keeper import processes
from accel_tui.model.errors import NotPossibleError, RunNotFoundError
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.protocol import paths
from support.runs import make_past
from support.supervising import Site
from support.waiting import wait_for

COUNT = 700


def _keeper(here: Site, identifier: str) -> int:
    state = json.loads((here.state / "runs" / identifier / "state.json").read_bytes())
    return int(state["keeper"][0])


def test_a_killed_supervisor_costs_neither_runs_nor_queue(here: Site, own_world: Path) -> None:
    gate = own_world / "gate"
    script = f"while ! test -e {gate}; do sleep 0.05; done; exit 5"
    running = here.submit(["sh", "-c", script], "cpu")
    queued = here.submit(["true"], "cpu")
    held = here.submit(["true"], "cpu")
    here.client.hold(held, "lunch")
    here.reach(running, RunState.RUNNING)
    here.kill()
    assert here.client.run(running).state is RunState.RUNNING
    assert here.client.run(queued).state is RunState.QUEUED
    assert here.client.run(held).held == "lunch"
    gate.touch()
    assert here.finished(running).exit_code == 5
    assert here.finished(queued).result is RunResult.SUCCEEDED
    here.client.release(held)
    here.finished(held)


def test_a_run_that_ended_while_nobody_looked_has_its_true_result_and_its_retry(here: Site, own_world: Path) -> None:
    gate, marker = own_world / "gate", own_world / "marker"
    script = f"while ! test -e {gate}; do sleep 0.05; done; test -e {marker} && exit 0; touch {marker}; exit 9"
    identifier = here.submit(["sh", "-c", script], launch={"retries": 1})
    here.reach(identifier, RunState.RUNNING)
    here.kill()
    gate.touch()
    record = here.state / "runs" / identifier / "exit.json"
    wait_for(lambda: record.read_bytes().strip(), what="the keeper's record")
    first = here.reach(identifier, RunState.FINISHED)
    assert first.exit_code == 9
    retry = wait_for(lambda: [run for run in here.client.runs() if run.retry_of == identifier])[0]
    assert here.finished(retry.id).exit_code == 0


def test_an_overnight_queue_goes_on_without_anybody(here: Site, own_world: Path) -> None:
    gate, done = own_world / "gate", own_world / "done"
    running = here.submit(["sh", "-c", f"while ! test -e {gate}; do sleep 0.05; done"], "cpu")
    here.submit(["touch", str(done)], "cpu")
    here.reach(running, RunState.RUNNING)
    here.kill()
    here.client.close()
    gate.touch()
    wait_for(done.exists, what="the queued run, with no client at all")
    assert here.finished("last").result is RunResult.SUCCEEDED


def test_a_run_without_its_keeper_is_told_as_such_and_can_be_stopped(here: Site) -> None:
    code = "import time; print('up', flush=True); time.sleep(600)"
    identifier = here.submit([sys.executable, "-c", code])
    wait_for(lambda: here.client.log(identifier) == b"up\n", what="the program")
    os.kill(_keeper(here, identifier), signal.SIGKILL)
    run = here.when(identifier, lambda run: run.notes)
    assert run.state is RunState.RUNNING
    assert "keeper" in run.notes[0]
    here.client.stop(identifier)
    ended = here.finished(identifier)
    assert (ended.result, ended.cause) == (RunResult.STOPPED, Cause.STOPPED_BY_USER)
    assert processes.tagged(identifier) == []


def test_keeper_and_supervisor_killed_together_lose_only_the_exit_code(here: Site, own_world: Path) -> None:
    gate = own_world / "gate"
    identifier = here.submit(["sh", "-c", f"while ! test -e {gate}; do sleep 0.05; done"])
    here.reach(identifier, RunState.RUNNING)
    keeper = _keeper(here, identifier)
    here.kill()
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: here.client.run(identifier).notes, what="the adoption without a keeper")
    gate.touch()
    run = here.finished(identifier)
    assert (run.result, run.cause) == (RunResult.LOST, Cause.KEEPER_LOST)
    assert run.ended is not None


def test_a_queued_run_whose_secret_died_waits_for_it(here: Site) -> None:
    code = "import os; print(os.environ['HF_TOKEN'])"
    blocker = here.submit(["sleep", "600"], "cpu")
    waiting = here.submit([sys.executable, "-c", code], "cpu", variables={"HF_TOKEN": "secret-of-mine"})
    here.reach(blocker, RunState.RUNNING)
    here.kill()
    assert here.client.run(waiting).held == "needs HF_TOKEN"
    here.client.stop(blocker, now=True)
    here.finished(blocker)
    with pytest.raises(NotPossibleError, match="HF_TOKEN"):
        here.client.release(waiting)
    here.client.release(waiting, {"HF_TOKEN": "secret-of-mine", "OTHER": "ignored"})
    here.finished(waiting)
    assert here.client.log(waiting) == b"secret-of-mine\n"


def test_damaged_folders_are_listed_and_cost_nothing_else(here: Site) -> None:
    good = here.submit(["true"])
    broken = {name: here.submit(["true"], name=name) for name in ("spec.json", "state.json", "exit.json", "all")}
    for identifier in (good, *broken.values()):
        here.finished(identifier)
    here.client.shutdown()
    for name, identifier in broken.items():
        folder = here.state / "runs" / identifier
        for path in folder.iterdir() if name == "all" else [folder / name]:
            if path.is_file():
                path.write_bytes(b"\0\xff{nonsense")
    (here.state / "index.sqlite3").write_bytes(b"no database at all" * 100)
    runs = {run.id: run for run in here.client.runs(everything=True)}
    assert runs[good].result is RunResult.SUCCEEDED
    for name in ("spec.json", "exit.json", "all"):
        assert (runs[broken[name]].result, runs[broken[name]].cause) == (RunResult.LOST, Cause.RECORD_DAMAGED), name
    assert here.finished(here.submit(["true"])).result is RunResult.SUCCEEDED


def test_a_folder_that_was_removed_is_forgotten(here: Site) -> None:
    identifier = here.submit(["true"])
    folder = Path(here.finished(identifier).folder)
    here.client.shutdown()
    assert not lock_held(str(here.state))
    folder.rename(folder.with_name("elsewhere"))
    assert here.client.runs(everything=True) == []


def test_a_finished_run_whose_folder_is_damaged_or_removed_later_is_told_as_such(here: Site) -> None:
    damaged, removed = (here.finished(here.submit(["true"])).id for _ in range(2))
    (here.state / "runs" / damaged / "exit.json").write_text("{")
    run = here.client.run(damaged)
    assert run.result is RunResult.SUCCEEDED, "what was recorded is not forgotten"
    assert "damaged since" in run.notes[-1]
    shutil.rmtree(here.state / "runs" / removed)
    with pytest.raises(RunNotFoundError):
        here.client.run(removed)
    assert removed not in [one.id for one in here.client.runs(everything=True)]


def test_requests_are_answered_while_a_long_past_is_read(here: Site) -> None:
    """Without its index, a supervisor with many old folders takes runs at once, and tells the old ones truly."""
    here.client.shutdown()
    make_past(here.state, COUNT)
    oldest = min(path.name for path in (here.state / "runs").iterdir())
    assert here.client.run(oldest).exit_code == (COUNT - 1) % 3
    submitted = here.submit(["true"], name="fresh")
    assert here.client.run("last").id == submitted
    assert here.finished("fresh").exit_code == 0
    assert here.client.run("job-0").id.endswith("-0000"), "the newest of its name"
    runs = here.client.runs(everything=True)
    assert len(runs) == COUNT + 1
    assert [run.created for run in runs] == sorted((run.created for run in runs), reverse=True)
    assert here.client.run("job-99").name == "job-99"


def test_the_index_is_rebuilt_from_the_folders_without_old_retries(here: Site) -> None:
    identifier = here.finished(here.submit(["false"], launch={"retries": 1})).id
    here.client.shutdown()
    for path in here.state.glob("index.sqlite3*"):
        path.unlink()
    runs = here.client.runs(everything=True)
    assert next(run.id for run in runs) == identifier
    assert len(runs) == 2


def test_a_supervisor_that_dies_before_it_answers_a_submission_costs_nothing(
    here: Site, own_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is on the disk, the answer is not on its way: the client asks the next one, with the secrets."""
    gate = own_world / "gate"
    blocker = here.submit(["sh", "-c", f"while ! test -e {gate}; do sleep 0.05; done"], "cpu")
    here.reach(blocker, RunState.RUNNING)
    send = Client._send
    losses: list[str] = []

    def lossy(self: Client, method: str, path: str, *rest: Any) -> Any:
        answer = send(self, method, path, *rest)
        if (method, path) == ("POST", paths.RUNS) and not losses:
            losses.append(json.loads(answer[1])["id"])
            here.kill()
            raise ConnectionResetError
        return answer

    monkeypatch.setattr(Client, "_send", lossy)
    code = "import os; print(os.environ['HF_TOKEN'])"
    identifier = here.submit([sys.executable, "-c", code], "cpu", variables={"HF_TOKEN": "secret-of-mine"})
    assert losses == [identifier]
    gate.touch()
    assert here.finished(identifier).result is RunResult.SUCCEEDED
    assert here.client.log(identifier) == b"secret-of-mine\n"
    assert len(here.client.runs()) == 2


def test_a_run_that_is_queued_after_the_clock_was_put_back_stands_last(here: Site) -> None:
    blocker = here.submit(["sleep", "600"], "cpu")
    first = here.submit(["true"], "cpu")
    here.reach(blocker, RunState.RUNNING)
    here.kill()
    path = here.state / "runs" / first / "state.json"
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "position": document["position"] + 86400}))
    second = here.submit(["true"], "cpu")
    reason = here.when(second, lambda run: run.waiting_for).waiting_for
    assert first in str(reason)
    here.client.stop(blocker, now=True)
    here.finished(second)
    assert here.client.run(first).state is RunState.FINISHED
