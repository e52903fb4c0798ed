"""Invented cards on the command line: allocations, cards that strangers have open, and words that fit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from support.command_line import CommandLine
from support.schemas import check

INSIDE = {"SLURM_JOB_ID": "7", "HABANA_VISIBLE_MODULES": "2,3"}
MODULES = ("sh", "-c", "echo modules $HABANA_VISIBLE_MODULES")


def _demo(name: str) -> Iterator[CommandLine]:
    line = CommandLine("--demo", name)
    yield line
    line.close()


@pytest.fixture
def gaudi3(own_world: object) -> Iterator[CommandLine]:
    """Eight cards that nobody uses."""
    yield from _demo("gaudi3")


@pytest.fixture
def server8(own_world: object) -> Iterator[CommandLine]:
    """Eight cards, of which strangers have 4 and 5."""
    yield from _demo("server8")


def test_cards_outside_the_allocation_are_not_yours(gaudi3: CommandLine) -> None:
    listed = gaudi3("devices", "--json", environment=INSIDE).expect(0).json()
    check("devices", listed)
    states = {device["module_id"]: device["state"] for device in listed["devices"] if device["vendor"] == "gaudi"}
    assert states == {module: "operational" if module in (2, 3) else "not-yours" for module in range(8)}
    assert gaudi3("devices", environment=INSIDE).out.count("not-yours") == 6
    assert gaudi3(environment=INSIDE).out.count("not-yours") == 6
    assert "not-yours" not in gaudi3("devices").out  # another shell of the same user


def test_auto_stays_inside_the_allocation(gaudi3: CommandLine) -> None:
    ended = gaudi3("run", "--devices", "auto:gaudi:2", "--follow", "--", *MODULES, environment=INSIDE).expect(0)
    assert "modules 2,3" in ended.out
    for wanted in ("auto:gaudi:4", "auto:gaudi:3"):
        refused = gaudi3("run", "--devices", wanted, "--", "true", environment=INSIDE).expect(4)
        assert "can never give" in refused.err
    # Nothing that can never start stands in the queue, so what comes behind runs.
    asked = gaudi3("run", "--devices", "gaudi:0", "--json", "--", "true", environment=INSIDE).expect(6).json()
    assert [one["id"] for one in asked["error"]["checks"] if one["level"] == "ask"] == ["not-yours"]
    gaudi3("run", "--devices", "gaudi:0", "--yes", "--wait", "--", "true", environment=INSIDE).expect(0)


def test_an_odd_group_and_an_idle_card_are_questions(gaudi3: CommandLine) -> None:
    """Two ranks on modules 1,2, and two cards for one process: said why, and answered with --yes alone."""
    for words, identifier in (
        (("--launcher", "torchrun"), "device-group"),
        (("--launcher", "python"), "one-process"),
    ):
        given = ("run", "--devices", "gaudi:1,2", *words, "--override", "torch-stack", "--json", "--", "true")
        asked = gaudi3(*given).expect(6).json()
        assert [one["id"] for one in asked["error"]["checks"] if one["level"] == "ask"] == [identifier]
        assert asked["error"]["remedy"]


def test_the_allocation_of_a_queued_run_outlives_the_supervisor(gaudi3: CommandLine) -> None:
    gaudi3("run", "--devices", "gaudi:2", "--name", "first", "--", "sleep", "600").expect(0)
    gaudi3("run", "--devices", "auto:gaudi:1", "--name", "second", "--", "sleep", "600", environment=INSIDE).expect(0)
    gaudi3.wait_state("second", "running")
    third = gaudi3.queue(*MODULES, devices="none")
    gaudi3.wait_state(third, "finished")
    ident = gaudi3("run", "--devices", "auto:gaudi:1", "--json", "--", *MODULES, environment=INSIDE).json()["id"]
    pid = gaudi3.supervisor()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert gaudi3.show(ident)["state"] == "queued"
    gaudi3("stop", "first", "--now", "--wait").expect(0)
    gaudi3.wait_state(ident, "finished")
    assert gaudi3("logs", ident).out == "modules 2\n"


def test_a_card_that_a_stranger_has_open_is_waited_for(server8: CommandLine) -> None:
    ident = server8("run", "--devices", "gaudi:4", "--json", "--", "true").expect(0).json()["id"]
    server8("run", "--devices", "gaudi:0", "--wait", "--", "true").expect(0)
    waiting = server8.show(ident)
    assert waiting["state"] == "queued"
    assert "is held by another user's process 88121 (mw)" in waiting["waiting_for"]
    assert "for gaudi:4: " in server8("show", ident).out
    process = server8.start("exec", "--devices", "gaudi:4", "--", "true")
    assert process.stderr is not None
    assert b"held by another user's process 88121 (mw)" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_hints_name_the_demonstration_and_runs_say_that_they_ran_on_the_cpu(gaudi3: CommandLine) -> None:
    queued = gaudi3("run", "--devices", "gaudi:0", "--name", "ended", "--", "true").expect(0)
    assert "accel-tui --demo gaudi3 logs -f" in queued.err
    failed = gaudi3("run", "--devices", "gaudi:0", "--wait", "--", "false").expect(1)
    assert "accel-tui --demo gaudi3 logs" in failed.err
    assert "on the CPU: its devices are simulated" in failed.err
    assert "it runs on the CPU" in gaudi3("show", "ended").out
    assert gaudi3.show("ended")["simulated"] is True
    assert "accel-tui --demo gaudi3 runs" in gaudi3("show", "nobody").expect(7).err


def test_a_program_in_the_foreground_is_given_no_place_among_the_runs(gaudi3: CommandLine) -> None:
    seen = gaudi3("exec", "--devices", "gaudi:0", "--", "env").expect(0).out
    assert "HABANA_VISIBLE_MODULES=0" in seen
    assert "/runs/" not in seen
    assert "/runs/" not in gaudi3("env", "--devices", "gaudi:0").expect(0).out


@pytest.mark.parametrize("name", ["gaudi3", "gaudi2", "b60x4", "max1550x2", "mixed"])
def test_every_output_says_that_the_cards_are_invented(name: str, own_world: object) -> None:
    for line in _demo(name):
        listed = line("devices", "--json").expect(0).json()
        assert all(device["simulated"] for device in listed["devices"])
        card = next(device for device in listed["devices"] if device["pci_order"] is not None)
        select = card["key"]
        assert f"the devices of {name} are invented" in line("env", "--devices", select).expect(0).err
        ended = line("run", "--devices", select, "--wait", "--json", "--", "env").expect(0).json()
        assert ended["simulated"] is True
        wanted = (
            f"HABANA_VISIBLE_MODULES={card['module_id']}\n" if card["vendor"] == "gaudi" else "ZE_AFFINITY_MASK=0\n"
        )
        assert wanted in line("logs", ended["id"]).expect(0).out
        assert line("run", "--devices", select, "--json", "--", "true").expect(0).json()["simulated"] is True
