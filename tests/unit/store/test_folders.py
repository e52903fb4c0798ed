"""Run folders: made whole, listed, changed, removed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import stat
from pathlib import Path

import pytest

from accel_tui.model.errors import NotPossibleError, RunNotFoundError
from accel_tui.model.plans import Check, CheckLevel
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.store.folders import RunFolders
from accel_tui.store.identifiers import created_seconds, is_id, new_id
from accel_tui.store.reading import queued_run
from support.runs import CREATED, begin, end, make_run, plan_of, spec_of


@pytest.fixture
def folders(tmp_path: Path) -> RunFolders:
    return RunFolders(tmp_path / "runs")


def test_id_tells_its_time_and_is_new_each_time() -> None:
    assert re.fullmatch(r"20261130-120000-[0-9a-z]{4}", new_id(1796040000.0))
    assert created_seconds("20261130-120000-abcd") == 1796040000.0
    assert len({new_id() for _ in range(50)}) > 45


NO_IDS = [
    "", ".", "..", "../x", "20261130-120000", "20261130-120000-ABCD", "20261330-120000-abcd", "20261130-120000-ab/d",
    "20261130-120000-abcd\n", ".new-20261130-120000-abcd",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_IDS)
def test_what_is_no_id_never_becomes_a_path(folders: RunFolders, name: str) -> None:
    assert not is_id(name)
    with pytest.raises(RunNotFoundError):
        folders.path(name)


def test_created_run_is_queued_and_private(folders: RunFolders) -> None:
    identifier = make_run(folders, name="qwen", worker=b"zip", attempt=2, retry_of="20261130-115900-abcd")
    run = folders.read_run(identifier)
    assert (run.id, run.name, run.state, run.created) == (identifier, "qwen", RunState.QUEUED, CREATED)
    assert (run.attempt, run.retry_of, run.devices) == (2, "20261130-115900-abcd", ("cpu",))
    assert folders.spec(identifier)["schema"] == 1
    assert folders.plan(identifier) == plan_of(folders.path(identifier))
    assert folders.environment(identifier)["secret_names"] == []
    for path in [folders.root, *folders.root.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_half_made_run_is_never_listed(folders: RunFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            make_run(folders)
    assert list(folders.root.iterdir()) == []


def test_leftovers_of_a_crash_are_cleaned(folders: RunFolders) -> None:
    assert folders.clean() == 0
    identifier = make_run(folders)
    (folders.root / f".new-{identifier}-0011").mkdir()
    (folders.root / f".removed-{identifier}-0011" / "artefacts").mkdir(parents=True)
    assert folders.ids() == [identifier]
    assert folders.clean() == 2
    assert [entry.name for entry in folders.root.iterdir()] == [identifier]


def test_same_id_twice_is_refused(folders: RunFolders) -> None:
    identifier = make_run(folders)
    with pytest.raises(FileExistsError):
        make_run(folders, id=identifier)
    assert folders.ids() == [identifier]


def test_ids_are_those_of_real_folders_oldest_first(folders: RunFolders, tmp_path: Path) -> None:
    assert folders.ids() == []
    names = ["20261130-120000-abcd", "20251130-120000-zzzz", "20261130-120000-aaaa"]
    for name in names:
        make_run(folders, id=name)
    (folders.root / "notes.txt").write_text("")
    (folders.root / "20261130-120000-ffff").write_text("a file")
    (folders.root / "20261130-120000-gggg").symlink_to(folders.path(names[0]))
    assert folders.ids() == sorted(names)
    with pytest.raises(RunNotFoundError):
        folders.read_run("20261130-120000-gggg")
    with pytest.raises(RunNotFoundError):
        folders.read_run("20261130-120000-hhhh")


def test_state_keeps_unknown_fields_and_refuses_illegal_moves(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folders.write_state(identifier, invented=[1], held="needs HF_TOKEN")
    assert folders.read_run(identifier).held == "needs HF_TOKEN"
    document = folders.write_state(identifier, state=RunState.PREPARING, held=None)
    assert document["invented"] == [1]
    assert folders.read_run(identifier).state is RunState.PREPARING
    folders.write_state(identifier, state="queued")
    with pytest.raises(NotPossibleError, match="cannot become running"):
        folders.write_state(identifier, state="running")
    assert stat.S_IMODE((folders.path(identifier) / "state.json").stat().st_mode) == 0o600


def test_leaving_the_queue_is_written_at_once(folders: RunFolders) -> None:
    identifier = make_run(folders)
    plan = plan_of(folders.path(identifier), processes=2)
    assert folders.write_start(identifier, {"base": {"A": "1"}, "run": {"B": "2"}}, plan, lambda: "#!/bin/bash\n")
    run = folders.read_run(identifier)
    assert (run.state, run.held) == (RunState.PREPARING, None)
    assert folders.environment(identifier)["run"] == {"B": "2"}
    assert folders.plan(identifier).processes == 2
    assert (folders.path(identifier) / "run.sh").exists()
    folders.write_state(identifier, state="starting")
    with pytest.raises(NotPossibleError, match="cannot become preparing"):
        folders.write_start(identifier, {}, plan, str)


def test_what_did_not_change_since_the_submit_is_not_written_again(folders: RunFolders) -> None:
    identifier = folders.new_id()
    slow, quick = (Check("cwd", CheckLevel.PASS, "it is here", seconds=seconds) for seconds in (0.5, 0.1))
    plan = dataclasses.replace(plan_of(folders.path(identifier)), checks=(slow,))
    environment = {"base": {"A": "1"}, "secret_names": [], "run": {"A": "1"}}
    folders.create(spec_of(identifier), environment, plan, script="#!/bin/bash\n")
    script = folders.path(identifier) / "run.sh"
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    before = {path.name: path.stat().st_ino for path in folders.path(identifier).iterdir()}
    same = dataclasses.replace(plan, checks=(quick,))
    assert not folders.write_start(identifier, environment, same, lambda: "#!/bin/bash\nfalse\n")
    after = {path.name: path.stat().st_ino for path in folders.path(identifier).iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"state.json"}
    assert folders.read_run(identifier).state is RunState.PREPARING
    folders.write_state(identifier, state="queued")
    assert folders.write_start(identifier, {**environment, "run": {"A": "2"}}, same, lambda: "#!/bin/bash\nfalse\n")
    assert script.read_text() == "#!/bin/bash\nfalse\n"
    assert folders.environment(identifier)["run"] == {"A": "2"}


def test_a_run_is_told_as_its_folder_tells_it(folders: RunFolders) -> None:
    identifier = folders.new_id()
    spec, plan = spec_of(identifier), plan_of(folders.path(identifier))
    folders.create(spec, {"base": {}, "secret_names": []}, plan, held="needs HF_TOKEN")
    told = queued_run(folders.path(identifier), spec, plan.devices, "needs HF_TOKEN")
    assert told == folders.read_run(identifier)


def test_stop_is_asked_once_and_may_only_become_more_urgent(folders: RunFolders) -> None:
    identifier = make_run(folders)
    path = folders.path(identifier) / "stop.json"
    folders.request_stop(identifier, now=False, by="ana")
    first = json.loads(path.read_text())
    assert (first["now"], first["cause"], first["by"]) == (False, "stopped-by-user", "ana")
    folders.request_stop(identifier, now=False, by="ben")
    assert json.loads(path.read_text()) == first
    folders.request_stop(identifier, now=True, by="ben")
    assert json.loads(path.read_text()) == {**first, "now": True}
    folders.request_stop(identifier, now=False, by="ben")
    assert json.loads(path.read_text())["now"] is True


@pytest.mark.parametrize(
    ("cause", "result"),
    [
        (Cause.STOPPED_BY_USER, RunResult.STOPPED),
        (Cause.CHECK_REFUSED, RunResult.NOT_STARTED),
        (Cause.DEPENDENCY_FAILED, RunResult.NOT_STARTED),
        (Cause.LAUNCH_FAILED, RunResult.NOT_STARTED),
    ],
)
def test_run_that_never_started_gets_its_record(folders: RunFolders, cause: Cause, result: RunResult) -> None:
    identifier = make_run(folders, worker=b"zip")
    run = folders.finish(identifier, cause, "because")
    assert (run.state, run.result, run.cause, run.exit_code) == (RunState.FINISHED, result, cause, None)
    assert run.ended
    assert folders.finish(identifier, Cause.LAUNCH_FAILED) == run
    if cause is not Cause.STOPPED_BY_USER:
        assert run.diagnosis
        assert "because" in run.diagnosis.summary


def test_only_a_finished_run_is_removed_and_links_are_not_followed(folders: RunFolders, tmp_path: Path) -> None:
    identifier = make_run(folders)
    with pytest.raises(NotPossibleError, match="is queued"):
        folders.remove(identifier)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "weights").write_text("w")
    end(folders, identifier)
    (folders.path(identifier) / "artefacts" / "link").symlink_to(kept)
    folders.remove(identifier)
    assert folders.ids() == []
    assert list(folders.root.iterdir()) == []
    assert (kept / "weights").exists()


def test_damaged_documents_are_told_as_such(folders: RunFolders) -> None:
    identifier = make_run(folders)
    for name, read in (
        ("spec.json", folders.spec),
        ("plan.json", folders.plan),
        ("environment.json", folders.environment),
    ):
        path = folders.path(identifier) / name
        for content in (b"", b"{", b"[]", b'{"schema": 2}', b'{"schema":1}' if name == "plan.json" else b"\xff"):
            path.write_bytes(content)
            with pytest.raises(NotPossibleError, match="record is damaged"):
                read(identifier)
        path.unlink()
        with pytest.raises(NotPossibleError, match="is missing"):
            read(identifier)


def test_script_is_executable_by_its_owner_alone(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folders.write_script(identifier, "#!/bin/bash\n")
    folders.write_script(identifier, "#!/bin/bash\ntrue\n")
    assert stat.S_IMODE((folders.path(identifier) / "run.sh").stat().st_mode) == 0o700


def test_ten_thousand_runs_are_listed_in_one_look(folders: RunFolders) -> None:
    folders.root.mkdir()
    for number in range(10_000):
        (folders.root / f"20261130-{number:06d}-abcd").mkdir()
    valid = [f"20261130-{number:06d}-abcd" for number in range(10_000)]
    assert folders.ids() == [name for name in valid if is_id(name)]


def test_record_of_a_running_run_is_its_keepers(folders: RunFolders) -> None:
    identifier = make_run(folders)
    folder = begin(folders, identifier)
    with (folder / "lock").open("w") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(NotPossibleError, match="is running"):
            folders.finish(identifier, Cause.CHECK_REFUSED)
        assert folders.settle_lost(identifier).state is RunState.RUNNING
