"""What is found of a failure: looked for once, kept with the run, and heeded by the retries."""

from __future__ import annotations

import json
from pathlib import Path

from accel_tui.model.runs import Diagnosis, Run
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


def test_a_damaged_one_is_found_anew(own_world: Path) -> None:
    with site(own_world / "state") as here:
        run = here.finished(here.submit(says("OSError: [Errno 28] No space left on device")))
        (Path(run.folder) / "diagnosis.json").write_text("garbage")
        _forget(here)
        assert found(here.client.run(run.id)) == found(run)


def _forget(here: Site) -> None:
    here.kill()
    (here.state / "index.sqlite3").unlink()
