"""Settings that a run feels: room on the disk, where its results go, and the mask of its submitter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.command_line import CommandLine

HUGE = str(1 << 60)


def test_a_run_is_refused_where_the_disk_has_too_little_room(cli: CommandLine) -> None:
    scarce = {"ACCEL_TUI_MINIMUM_FREE_BYTES": HUGE}
    refused = cli("run", "--devices", "none", "--", "true", environment=scarce).expect(6)
    assert "free-space" in refused.err
    assert "log.minimum_free_bytes" in refused.err
    assert cli("runs", "--all", "--json").json()["runs"] == []
    accepted = ("run", "--devices", "none", "--override", "free-space", "--wait", "--json", "--", "true")
    assert cli(*accepted, environment=scarce).expect(0).json()["result"] == "succeeded"


def test_check_and_plan_tell_of_too_little_room(cli: CommandLine, own_world: Path) -> None:
    scarce = {"ACCEL_TUI_MINIMUM_FREE_BYTES": HUGE}
    session = own_world / "s.toml"
    session.write_text('[[job]]\nname = "x"\nkind = "command"\n[job.command]\nargv = ["true"]\n')
    checks = cli("check", str(session), "--devices", "none", "--json", environment=scarce).expect(6).json()["checks"]
    assert [check["level"] for check in checks if check["id"] == "free-space"] == ["refusal"]
    assert cli("check", str(session), "--devices", "none").code == 0


def test_queued_runs_wait_for_room_and_start_when_there_is_some(cli: CommandLine, own_world: Path) -> None:
    """A supervisor of other settings finds them: nothing is started, nothing is lost."""
    blocker = cli.queue("sleep", "600", devices="cpu")
    waiting = cli.queue("true", devices="cpu")
    cli.wait_state(blocker, "running")
    cli("supervisor", "stop").expect(0)
    scarce = {"ACCEL_TUI_MINIMUM_FREE_BYTES": HUGE}
    cli("stop", blocker, "--now", "--wait", environment=scarce)
    shown = cli("show", waiting).expect(0).out
    assert "no run starts below" in shown
    assert cli.show(waiting)["state"] == "queued"
    cli("supervisor", "stop").expect(0)
    assert cli.wait_state(waiting, "finished")["result"] == "succeeded"


def test_results_go_to_the_artefacts_root_and_away_with_their_run(cli: CommandLine, own_world: Path) -> None:
    root = own_world / "scratch" / "of-mine"
    elsewhere = {"ACCEL_TUI_ARTEFACTS_ROOT": str(root)}
    kept = own_world / "kept"
    kept.mkdir()
    script = f"""
        cd "$ACCEL_TUI_STATE_DIR/runs/$ACCEL_TUI_RUN/artefacts" && echo big > model.bin && ln -s {kept} link
        touch {kept}/file
    """
    argv = ("run", "--devices", "none", "--name", "x", "--wait", "--json", "--", "sh", "-c", script)
    run = cli(*argv, environment=elsewhere).expect(0).json()
    assert (Path(run["folder"]) / "artefacts").resolve() == root / run["id"]
    assert (root / run["id"]).stat().st_mode & 0o777 == 0o700
    assert (root / run["id"] / "model.bin").read_text() == "big\n"
    cli("remove", "x").expect(0)
    assert list(root.iterdir()) == []
    assert (kept / "file").exists()


def test_an_artefacts_root_that_cannot_be_made_is_said(cli: CommandLine, own_world: Path) -> None:
    (own_world / "file").write_text("")
    elsewhere = {"ACCEL_TUI_ARTEFACTS_ROOT": str(own_world / "file" / "below")}
    refused = cli("run", "--devices", "none", "--", "true", environment=elsewhere)
    assert refused.code in (6, 9)
    assert "artefacts_root" in refused.err
    assert cli("runs", "--all", "--json").json()["runs"] == []


@pytest.mark.parametrize(("mask", "told"), [(0o027, "0027"), (0o002, "0002")])
def test_a_run_has_the_mask_of_its_submitter(cli: CommandLine, mask: int, told: str) -> None:
    before = os.umask(0o000)
    try:
        cli("devices").expect(0)  # the supervisor is started by a careless shell
        os.umask(mask)
        cli("run", "--devices", "none", "--name", "x", "--wait", "--", "sh", "-c", "umask").expect(0)
    finally:
        os.umask(before)
    assert cli("logs", "x").out.strip() == told
    folder = Path(cli.show("x")["folder"])
    state = folder.parent.parent
    open_ones = [path for path in state.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o077]
    assert open_ones == [], "whatever the masks, nothing of ours is open to others"


def test_a_supervisor_that_was_just_started_counts_what_waits(cli: CommandLine) -> None:
    cli.queue("sleep", "600", devices="cpu")
    cli.queue("true", devices="cpu")
    cli.wait_state("sleep", "running")
    for _ in range(3):
        cli("supervisor", "stop").expect(0)
        cli("devices").expect(0)
        status = cli("supervisor", "status", "--json").expect(0).json()
        assert (status["queued"], status["running"]) == (1, 1)
