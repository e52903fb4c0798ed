"""What is left over: orphans and their end, old runs and their deletion."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from accel_tui.keeper import processes
from accel_tui.model.devices import Device, DeviceView, Holder, Inventory
from accel_tui.supervisor import strays
from support.command_line import CommandLine
from support.schemas import check
from support.waiting import wait_for

ORPHAN = "setsid sh -c 'trap \"\" TERM; sleep 600 & echo $$ >pid.new && mv pid.new pid; wait; wait' >/dev/null 2>&1 &"
"""Leaves a shell behind whose parent is gone, which ignores SIGTERM and has a child."""


def abandon(folder: Path, **variables: str) -> int:
    """Start an orphan in `folder`; its pid."""
    subprocess.run(["sh", "-c", ORPHAN], cwd=folder, env={**os.environ, **variables}, check=True)
    wait_for((folder / "pid").exists, what="the orphan")
    return int((folder / "pid").read_text())


def test_an_orphan_of_a_finished_run_is_listed_and_ended_after_a_question(cli: CommandLine, tmp_path: Path) -> None:
    over = cli.queue("true")
    cli.wait_state(over, "finished")
    check("orphans", cli("orphans", "--json").expect(0).json())
    pid = abandon(tmp_path, ACCEL_TUI_RUN=over)
    start = processes.start_time(pid)
    assert start is not None
    listed = cli("orphans", "--json").expect(0).json()
    check("orphans", listed)
    mine = {one["pid"]: one for one in listed["orphans"]}
    assert pid in mine
    assert (mine[pid]["run"], mine[pid]["mine"], mine[pid]["devices"]) == (over, True, [])
    below = processes.descendants(pid)
    assert all("is one" in mine[child]["reason"] for child, _ in below)
    asked = cli("orphans", "--end", str(pid), "--json").expect(6).json()
    check("error", asked)
    assert asked["error"]["checks"][0]["level"] == "ask"
    assert processes.alive(pid, start)
    assert below
    cli("orphans", "--end", str(pid), "--yes", "--now").expect(0)
    assert not any(processes.alive(*process) for process in [(pid, start), *below])
    assert "end-orphan" in Path(os.environ["ACCEL_TUI_STATE_DIR"], "audit.log").read_text()
    cli("orphans", "--end", str(pid), "--yes").expect(8)
    cli("orphans", "--end", str(os.getpid()), "--yes").expect(8)


def test_who_holds_a_card_is_judged_by_parent_session_and_run(tmp_path: Path) -> None:
    pid = abandon(tmp_path, RANK="3", WORLD_SIZE="4")
    start = processes.start_time(pid)
    assert start is not None
    below = processes.descendants(pid)
    try:
        card = Device("pci:0000:17:00.0", "gaudi", "hpu", "HL-325L")
        holders = tuple(Holder(one, "x", None) for one in (pid, below[0][0], os.getpid(), 2**22 - 1))
        inventory = Inventory("h", "2026-01-01T00:00:00.000Z", (DeviceView(card, holders=holders),))

        def found(run: str | None, live: frozenset[str]) -> dict[int, Any]:
            orphans = strays.find(inventory, lambda one: run if one == pid else None, live, lambda _: False)
            return {orphan.pid: orphan for orphan in orphans}

        loose = found(None, frozenset())
        assert set(loose) == {pid, below[0][0]}, "not this process, whose parent lives, and none that is gone"
        assert loose[pid].reason == "rank 3 of a launcher that is gone"
        assert loose[pid].devices == (card.key,)
        assert 0 <= loose[pid].age_seconds < 3600
        assert pid not in found("20260101-000000-aaaa", frozenset({"20260101-000000-aaaa"}))
        assert pid in found("20260101-000000-aaaa", frozenset()), "of another state folder, but it holds a card"
    finally:
        for process in [(pid, start), *below]:
            processes.signal_exact(*process, 9)


def test_prune_deletes_what_is_old_and_nothing_that_is_needed(cli: CommandLine) -> None:
    first, second, third = (cli.queue("true", name=name) for name in ("first", "second", "third"))
    for one in (first, second, third):
        cli.wait_state(one, "finished")
    blocker = cli.queue("sleep", "600")
    cli.queue("true", flags=("--after", f"{second}:ok", "--after", blocker))
    dry = cli("prune", "--older-than", "0", "--dry-run", "--json").expect(0).json()
    check("prune", dry)
    assert [run["id"] for run in dry["runs"]] == [first, third]
    assert [one["id"] for one in dry["kept"]] == [second]
    assert dry["bytes"] >= 4096
    assert cli.show(first)["state"] == "finished"
    assert cli("prune", "--older-than", "1d", "--json").expect(0).json()["runs"] == []
    kept = cli("prune", "--older-than", "0", "--keep", "1", "--dry-run", "--json").expect(0).json()
    assert [run["id"] for run in kept["runs"]] == [first]
    cli("prune", "--older-than", "0").expect(0)
    left = {run["id"] for run in cli("runs", "--all", "--json").expect(0).json()["runs"]}
    assert (len(left), left & {first, second, third}) == (3, {second})
    cli("prune", "--older-than", "soon").expect(2)


def test_what_was_done_is_told_beside_what_failed(cli: CommandLine) -> None:
    held = cli.queue("true", flags=("--after", cli.queue("sleep", "600")))
    answer = cli("stop", held, "nobody", "--json").expect(7)
    document = answer.json()
    check("error", document)
    check("done", document)
    assert [run["id"] for run in document["runs"]] == [held]
    assert [failure["ref"] for failure in document["failures"]] == ["nobody"]
    assert json.loads(answer.out)["error"]["code"] == "no-such-run"
