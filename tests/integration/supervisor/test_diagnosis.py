"""What is found of a failure: looked for once, kept with the run, and heeded by the retries."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from accel_tui.model.runs import Diagnosis, Run, RunState
from support.supervising import Site, site
from support.waiting import wait_for

LOST = "terminate called\n  what():  level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"
TABLE = """
[[failure]]
id = "licence"
any = [{ regex = 'LIC-(?P<code>\\d{1,6})' }]
summary = "no licence is left ({code})"
next_step = "ask ana, then: accel-tui rerun {id}"
"""


def says(words: str, code: int = 1) -> list[str]:
    return ["sh", "-c", f"echo begin; printf '%s\\n' \"$1\"; exit {code}", "-", words]


def found(run: Run) -> Diagnosis:
    assert run.diagnosis
    return run.diagnosis


def kept(run: Run) -> dict[str, object]:
    document: dict[str, object] = json.loads((Path(run.folder) / "diagnosis.json").read_bytes())
    return document


def test_a_lost_card_is_not_tried_again_and_another_failure_is(own_world: Path) -> None:
    with site(own_world / "state", "b60x4") as here:
        lost = here.finished(here.submit(says(LOST), "xpu:1", launch={"retries": 2}))
        assert (found(lost).id, found(lost).line) == ("xpu-device-lost", 3)
        assert kept(lost)["again"] is False
        other = here.finished(here.submit(says("ValueError: x"), "xpu:1", launch={"retries": 1}))
        assert (other.attempt, found(other).id) == (2, "exit-code")
        assert {run.attempt for run in here.client.runs() if run.retry_of == lost.id} == set()


def test_the_users_own_table_counts_when_a_run_ends_and_not_afterwards(own_world: Path) -> None:
    tables = own_world / "config" / "failures"
    tables.mkdir(parents=True)
    with site(own_world / "state", ACCEL_TUI_CONFIG_DIR=str(own_world / "config")) as here:
        before = here.finished(here.submit(says("LIC-7 refused")))
        assert found(before).id == "exit-code"
        (tables / "own.toml").write_text(TABLE)
        run = here.finished(here.submit(says("LIC-7 refused")))
        assert found(run).summary == "no licence is left (7): LIC-7 refused"
        assert found(run).next_step == f"ask ana, then: accel-tui rerun {run.id}"
        assert found(here.client.run(before.id)).id == "exit-code"
        (tables / "own.toml").unlink()
        here.kill()
        (here.state / "index.sqlite3").unlink()
        assert found(here.client.run(run.id)) == found(run)
        succeeded = here.finished(here.submit(["sh", "-c", "echo LIC-7"]))
        assert succeeded.diagnosis is None
        assert not (Path(succeeded.folder) / "diagnosis.json").exists()


def test_what_ended_unseen_is_looked_at_by_the_supervisor_that_finds_it(own_world: Path) -> None:
    with site(own_world / "state") as here:
        gate = own_world / "gate"
        run_id = here.submit(
            ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; echo 'OSError: No space left on device'; exit 3"]
        )
        run = here.when(run_id, lambda run: run.started)
        here.kill()
        gate.touch()
        record = Path(run.folder) / "exit.json"
        wait_for(lambda: b"cause" in record.read_bytes(), what="the record of the keeper")
        assert not (Path(run.folder) / "diagnosis.json").exists()
        assert found(here.finished(run_id)).id == "disk-full"
        wait_for((Path(run.folder) / "diagnosis.json").exists, what="the kept diagnosis")
        assert kept(run)["line"] == 1


def test_ranks_on_several_gpus_that_say_nothing_for_long_are_remarked_on_while_they_run(own_world: Path) -> None:
    with site(own_world / "state", "b60x4") as here:
        silent = ["sh", "-c", "echo init; exec sleep 600"]
        launch = {"launcher": "torchrun", "processes": 2, "python": str(_pretended_torchrun(own_world))}
        run_id = here.submit(silent, "xpu:0,1", launch=launch, yes=True, overrides=("torch-stack",))
        log = Path(here.reach(run_id, RunState.RUNNING).folder) / "log"
        wait_for(lambda: log.stat().st_size > 0, what="the first word of the run")
        assert here.client.run(run_id).notes == ()
        long_ago = time.time() - 600
        os.utime(log, (long_ago, long_ago))
        (note,) = here.when(run_id, lambda run: run.notes).notes
        assert note.startswith("silent for 10 min: several GPUs")
        assert "CCL_ZE_IPC_EXCHANGE" in note
        os.utime(log)
        assert here.when(run_id, lambda run: not run.notes).state is RunState.RUNNING
        here.client.stop(run_id, now=True)


def _pretended_torchrun(folder: Path) -> Path:
    """An interpreter that does without torch: it runs what stands behind torchrun's options, once."""
    program = folder / "python"
    program.write_text('#!/bin/sh\nwhile [ "$1" != sh ]; do shift; done\nexec "$@"\n')
    program.chmod(0o755)
    return program


def test_a_damaged_one_is_found_anew(own_world: Path) -> None:
    with site(own_world / "state") as here:
        run = here.finished(here.submit(says("OSError: [Errno 28] No space left on device")))
        (Path(run.folder) / "diagnosis.json").write_text("garbage")
        _forget(here)
        assert found(here.client.run(run.id)) == found(run)


def _forget(here: Site) -> None:
    here.kill()
    (here.state / "index.sqlite3").unlink()
