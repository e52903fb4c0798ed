"""What a folder says: each numbered rule of the architecture page, and every kind of damage."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from accel_tui.keeper.processes import tagged
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.store.folders import RunFolders
from support.runs import begin, end, make_run, tell
from support.waiting import wait_for

RESULT = {"event": "result", "ok": True}


@pytest.fixture
def folders(tmp_path: Path) -> RunFolders:
    return RunFolders(tmp_path / "runs")


@contextmanager
def keeper_lives(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_1_the_record_decides(folders: RunFolders) -> None:
    identifier = make_run(folders)
    begin(folders, identifier)
    folder = end(folders, identifier, exit_code=3)
    with keeper_lives(folder):
        run = folders.read_run(identifier)
    assert (run.state, run.result, run.cause, run.exit_code) == (RunState.FINISHED, RunResult.FAILED, Cause.EXIT, 3)
    assert (run.started, run.ended) == ("2026-11-30T12:00:01.000Z", "2026-11-30T12:00:09.000Z")


def test_1_a_reserved_record_is_none(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    (folder / "exit.json").write_text(" " * 4096)
    with keeper_lives(folder):
        assert folders.read_run(identifier).state is RunState.RUNNING


def test_2_a_queued_run_outlives_a_reboot(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folders.write_state(identifier, boot_id="another", waiting_for="a free card")
    run = folders.read_run(identifier)
    assert (run.state, run.waiting_for) == (RunState.QUEUED, "a free card")


def test_3_a_run_of_another_boot_is_lost(folders: RunFolders) -> None:
    identifier = make_run(folders)
    begin(folders, identifier, boot_id="another")
    run = folders.read_run(identifier)
    assert (run.state, run.result, run.cause) == (RunState.FINISHED, RunResult.LOST, Cause.REBOOT)
    assert run.diagnosis
    assert "restarted" in run.diagnosis.summary


def test_3_a_worker_that_told_its_end_before_the_reboot_is_believed(folders: RunFolders) -> None:
    identifier = make_run(folders, kind="train", worker=b"zip")
    tell(begin(folders, identifier, boot_id="another"), 0, RESULT)
    run = folders.read_run(identifier)
    assert (run.result, run.cause) == (RunResult.SUCCEEDED, Cause.REBOOT)


def test_4_a_held_lock_means_that_it_runs(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    tell(folder, 0, {"event": "phase", "phase": "training"}, {"event": "step", "step": 3, "total": 9})
    with keeper_lives(folder):
        run = folders.read_run(identifier)
        assert (run.state, run.progress.phase, run.progress.step) == (RunState.RUNNING, "training", 3)
        folders.request_stop(identifier)
        assert folders.read_run(identifier).state is RunState.STOPPING


def test_5_a_tagged_process_means_that_it_runs_without_a_keeper(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    (folder / "lock").touch()
    environment = {**os.environ, "ACCEL_TUI_RUN": identifier}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=environment) as process:
        wait_for(lambda: tagged(identifier), what="the process with the tag")
        run = folders.read_run(identifier)
        assert run.state is RunState.RUNNING
        assert "keeper was killed" in run.notes[0]
        assert folders.settle_lost(identifier).state is RunState.RUNNING
        process.communicate()
    assert folders.read_run(identifier).cause is Cause.KEEPER_LOST


@pytest.mark.parametrize(
    ("events", "result"),
    [
        ({}, RunResult.LOST),
        ({0: RESULT}, RunResult.LOST),
        ({0: RESULT, 1: RESULT}, RunResult.SUCCEEDED),
        ({0: RESULT, 1: {"event": "result", "ok": False}}, RunResult.FAILED),
        ({1: {"event": "result", "ok": False}}, RunResult.FAILED),
        ({0: {**RESULT, "stopped": True}, 1: RESULT}, RunResult.STOPPED),
    ],
)
def test_6_without_a_keeper_the_worker_decides(
    folders: RunFolders, events: dict[int, dict[str, object]], result: RunResult
) -> None:
    identifier = make_run(folders, kind="train", worker=b"zip", processes=2)
    folder = begin(folders, identifier)
    for rank, event in events.items():
        tell(folder, rank, {"event": "start", "pid": 1}, event)
    run = folders.read_run(identifier)
    assert (run.state, run.result, run.cause) == (RunState.FINISHED, result, Cause.KEEPER_LOST)
    settled = folders.settle_lost(identifier)
    assert settled == run
    tell(folder, 0, RESULT)
    tell(folder, 1, RESULT)
    assert folders.settle_lost(identifier).ended == settled.ended


def test_6_settling_uses_the_blocks_that_the_keeper_reserved(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    (folder / "exit.json").write_text(" " * 4096)
    number = (folder / "exit.json").stat().st_ino
    run = folders.settle_lost(identifier)
    assert (run.result, run.cause, run.exit_code) == (RunResult.LOST, Cause.KEEPER_LOST, None)
    assert (folder / "exit.json").stat().st_ino == number
    assert (folder / "exit.json").stat().st_size == 4096


DAMAGE: dict[str, bytes] = {
    "empty": b"",
    "cut": b'{"schema": 1, "na',
    "zeros": b"\0" * 512,
    "not UTF-8": b"\xff\xfe\xff",
    "a list": b"[1, 2]",
    "a number": b"7",
    "of a later schema": b'{"schema": 2, "name": "x", "kind": "y", "state": "running", "cause": "exit"}',
    "without a schema": b'{"name": "x", "kind": "y", "state": "running", "cause": "exit"}',
    "of other types": b'{"schema": 1, "name": 3, "kind": [], "state": {}, "cause": 5}',
    "nested": b"[" * 100_000,
    "huge": b" " * (17 * 1024 * 1024),
}


@pytest.mark.parametrize("name", ["spec.json", "state.json", "exit.json"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_7_a_damaged_file_makes_the_record_damaged(folders: RunFolders, name: str, damage: str) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    (folder / name).write_bytes(DAMAGE[damage])
    run = folders.read_run(identifier)
    if (name, damage) == ("exit.json", "empty"):  # the same as reserved: nothing was written
        assert run.cause is Cause.KEEPER_LOST
        return
    assert (run.state, run.result, run.cause) == (RunState.FINISHED, RunResult.LOST, Cause.RECORD_DAMAGED)
    assert run.diagnosis
    assert name in run.diagnosis.summary
    before = (folder / name).read_bytes()
    assert folders.settle_lost(identifier) == run
    assert (folder / name).read_bytes() == before
    folders.remove(identifier)


@pytest.mark.parametrize("name", ["spec.json", "state.json"])
def test_7_a_missing_file_makes_the_record_damaged(folders: RunFolders, name: str) -> None:
    identifier = make_run(folders)
    (folders.path(identifier) / name).unlink()
    assert folders.read_run(identifier).cause is Cause.RECORD_DAMAGED


def test_7_a_pipe_a_folder_or_a_link_in_place_of_a_file_is_damage(folders: RunFolders, tmp_path: Path) -> None:
    identifier = make_run(folders)
    path = folders.path(identifier) / "spec.json"
    content = path.read_bytes()
    (tmp_path / "spec.json").write_bytes(content)
    path.unlink()
    path.symlink_to(tmp_path / "spec.json")
    assert folders.read_run(identifier).cause is Cause.RECORD_DAMAGED
    path.unlink()
    os.mkfifo(path)
    assert folders.read_run(identifier).cause is Cause.RECORD_DAMAGED
    path.unlink()
    path.mkdir()
    assert folders.read_run(identifier).cause is Cause.RECORD_DAMAGED


def test_7_a_living_keeper_outweighs_damage(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    with keeper_lives(folder):
        for name in ("state.json", "spec.json"):
            (folder / name).write_bytes(b"{")
            run = folders.read_run(identifier)
            assert run.state is RunState.RUNNING
            assert name in " ".join(run.notes)


def test_damaged_state_does_not_take_a_good_record_away(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = end(folders, identifier)
    (folder / "state.json").write_bytes(b"")
    run = folders.read_run(identifier)
    assert (run.result, run.cause) == (RunResult.SUCCEEDED, Cause.EXIT)
    assert "state.json" in run.notes[0]


def test_damaged_plan_or_events_cost_no_more_than_themselves(folders: RunFolders) -> None:
    identifier = make_run(folders, kind="train", worker=b"zip")
    folder = end(folders, identifier)
    (folder / "plan.json").write_bytes(b"{")
    (folder / "events" / "rank-0.jsonl").write_bytes(b"\xff{]\n" + b'{"event": "result", "ok": true}\n{"event"')
    (folder / "events" / "rank-x.jsonl").write_bytes(b"?")
    (folder / "events" / "rank-1.jsonl").mkdir()
    run = folders.read_run(identifier)
    assert (run.result, run.devices) == (RunResult.SUCCEEDED, ())


def test_odd_times_and_lists_are_left_out(folders: RunFolders) -> None:
    identifier = make_run(folders, after=[["20261130-115900-abcd", "ok"], "20261130-115900-abce", 7, []], attempt="x")
    end(folders, identifier, started="yesterday", ended=7)
    run = folders.read_run(identifier)
    assert (run.after, run.attempt) == (("20261130-115900-abcd", "20261130-115900-abce"), 1)
    assert run.ended is None
