"""Gaudi cards as a person sees them: through the command line, a supervisor and real probe processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine
from support.gaudi import EIGHT, KEYS, GaudiHost, cells, csv
from support.waiting import wait_for

GIB = 1024


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GaudiHost:
    made = GaudiHost(tmp_path / "host")
    made.install_tool()
    for name, value in made.variables(tool=True).items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def accel(host: GaudiHost) -> Iterator[CommandLine]:
    line = CommandLine()
    yield line
    line.close()


def cards(accel: CommandLine) -> dict[int, dict[str, Any]]:
    """The cards by module ID, once every one of them has a first answer of the tool."""

    def answered() -> dict[int, dict[str, Any]] | None:
        document = accel("devices", "--json").expect(0).json()
        found = {card["module_id"]: card for card in document["devices"] if card["vendor"] == "gaudi"}
        readings = [card["readings"].get("power_watts", {}) for card in found.values()]
        return found if readings and all(one.get("status") not in (None, "pending") for one in readings) else None

    found = wait_for(answered, what="the first answer")
    assert found is not None
    return found


def planned(accel: CommandLine, host: GaudiHost, select: str) -> dict[str, Any]:
    session = host.folder / "session.toml"
    session.write_text('[[job]]\nname = "look"\nkind = "command"\n[job.command]\nargv = ["true"]\n')
    plan: dict[str, Any] = accel("plan", str(session), "--devices", select, "--json").expect(0).json()
    return plan


def test_bad_cells_and_rows_cost_themselves_alone(host: GaudiHost, accel: CommandLine) -> None:
    rows = [cells(slot) for slot in EIGHT]
    rows[2]["memory.used"] = "N/A"
    rows[4]["power.draw"] = "[N/A]"
    lines = csv(rows, list(rows[0])).splitlines()
    lines[6] = lines[6].rsplit(", ", 2)[0]
    host.behave(out="\r\n".join([*lines, lines[0]]) + "\r\n")
    found = cards(accel)
    assert sorted(found) == list(range(8))
    reasons = {
        found[2]["readings"]["memory_used_bytes"]["reason"],
        found[4]["readings"]["power_watts"]["reason"],
        found[5]["readings"]["power_watts"]["reason"],
    }
    assert len(reasons) == 3
    assert found[5]["readings"]["memory_used_bytes"]["value"] is None
    for module in (0, 1, 3, 6, 7):
        assert found[module]["readings"]["power_watts"]["value"] == 200.0 + module
        assert found[module]["readings"]["power_watts"]["source"] == "hl-smi"


def test_held_and_doubtful_cards_are_said_and_left_alone(host: GaudiHost, accel: CommandLine) -> None:
    used = {0: "672", 1: str(90 * GIB), 2: "672", 3: "900"}
    host.behave(cards=[cells(slot, **{"memory.used": used.get(slot.module, "672")}) for slot in EIGHT])
    host.hold(EIGHT[0], 4242, command="python train.py")
    found = cards(accel)
    assert found[0]["holders"] == [{"pid": 4242, "user": "nobody", "command": "python train.py", "run": None}]
    assert found[2]["holders"] == []
    table = accel("devices").expect(0).out
    assert table.count("○ free") == 7, "six cards and the CPU"
    assert "in use? (holder hidden or stale value)" in table

    held = planned(accel, host, "gaudi:0")
    assert any("held by another user" in check["message"] for check in held["checks"])
    doubt = planned(accel, host, "gaudi:1")
    assert any(check["level"] == "ask" and "in use?" in check["message"] for check in doubt["checks"])
    accel("run", "--devices", "gaudi:1", "--", "true").expect(6)
    chosen = planned(accel, host, "auto:gaudi:1")
    assert chosen["devices"] == [KEYS[2]], "neither the held one nor the doubtful one"
    pair = planned(accel, host, "auto:gaudi:2")
    assert pair["devices"] == [KEYS[2], KEYS[3]]


def test_a_group_that_is_not_to_be_had_is_said_by_every_verb(host: GaudiHost, accel: CommandLine) -> None:
    for verb in (("run",), ("exec",)):
        refused = accel(*verb, "--devices", "auto:gaudi:3", "--", "true").expect(4)
        assert "1, 2, 4 or all cards go together" in refused.err
    assert "8 cards are to be had here" in accel("env", "--devices", "auto:gaudi:9").expect(4).err
    for slot, pid in ((EIGHT[1], 4242), (EIGHT[4], 4243)):
        host.hold(slot, pid)
    wait_for(lambda: sum(bool(card["holders"]) for card in cards(accel).values()) == 2, what="both are seen as held")
    answer = accel("env", "--devices", "auto:gaudi:4").expect(8)
    assert answer.out == "", "exports without cards would be taken for the real ones"
    assert "waits for 4 free gaudi devices" in answer.err
    told = accel("env", "--devices", "gaudi:1,2").expect(0)
    assert "HABANA_VISIBLE_MODULES=1,2" in told.out
    assert "no group that is supported" in told.err
    assert "held by another user" in told.err


def test_a_tool_without_devices_says_it_in_its_own_words(host: GaudiHost, accel: CommandLine) -> None:
    host.behave(mode="fail", err="Error: no AIPs available\n")
    document = accel("devices", "--json").expect(0).json()
    assert len(document["devices"]) == 9
    told = next(problem for problem in document["problems"] if problem["code"] == "source-no-device")
    assert "no AIPs available" in told["message"]
    assert "driver" in told["remedy"]


def test_indexes_that_moved_are_told_once_the_supervisor_is_new(host: GaudiHost, accel: CommandLine) -> None:
    before = accel("devices", "--json").expect(0).json()
    assert not [problem for problem in before["problems"] if problem["code"] == "index-map-changed"]
    accel("supervisor", "stop").expect(0)
    first, second = (host.sysfs / f"class/accel/accel{EIGHT[number].index}" for number in (0, 1))
    moved = first.with_name("moved")
    first.rename(moved)
    second.rename(first)
    moved.rename(second)
    after = accel("devices", "--json").expect(0).json()
    told = next(problem for problem in after["problems"] if problem["code"] == "index-map-changed")
    assert "module 0 (0000:19:00.0) was index 2 and is 0" in told["message"]
    assert planned(accel, host, "gaudi:0")["devices"] == [KEYS[0]], "a module ID stays the same card"


def test_a_run_whose_card_falls_off_says_so(host: GaudiHost, accel: CommandLine) -> None:
    cards(accel)
    run = accel("run", "--devices", "gaudi:5", "--json", "--", "sleep", "600").expect(0).json()["id"]
    wait_for(lambda: accel.show(run)["state"] == "running", what="the run")
    assert accel.show(run)["notes"] == []
    host.behave(cards=[cells(slot) for slot in EIGHT if slot.module != 5])
    host.remove(EIGHT[5])
    notes = wait_for(lambda: accel.show(run)["notes"], what="the remark")
    assert notes[0].startswith(f"broken card: {KEYS[5]} (module 5) is lost")
    assert cards(accel)[5]["state"] == "lost"
    accel("stop", run, "--now", "--wait").expect(0)


def test_doctor_says_what_it_sees_without_a_supervisor(host: GaudiHost) -> None:
    host.bare("0000:ee:00.0")
    checks = CommandLine()("doctor", "--json").json()["checks"]
    by_id = {check["id"]: check for check in checks}
    assert "8 gaudi" in by_id["devices"]["message"] or "9 gaudi" in by_id["devices"]["message"]
    assert "0000:ee:00.0" in by_id["gaudi-not-driven"]["message"]
    assert "0000:19:00.0" not in by_id["gaudi-not-driven"]["message"]
