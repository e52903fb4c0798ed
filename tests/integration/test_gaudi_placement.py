"""Whole runs on made Gaudi cards: sysfs tree, provider, plan, keeper, and the proof of which card is held."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import gaudi_nodes, world
from support.command_line import CommandLine
from support.gaudi_nodes import GaudiNodes
from support.schemas import check
from support.waiting import wait_for


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GaudiNodes:
    """Modules 4 to 7, where settings of this test say that /sys and /dev are."""
    made = gaudi_nodes.make(tmp_path / "host")
    (made.sysfs / "module/habanalabs").mkdir(parents=True)
    monkeypatch.setenv("ACCEL_TUI_SYSFS_ROOT", str(made.sysfs))
    monkeypatch.setenv("ACCEL_TUI_DEV_ROOT", str(made.dev))
    return made


HOLD = "import os, sys, time; os.open(sys.argv[1], os.O_RDWR); time.sleep(600)"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_program_on_a_card_that_it_was_not_given_is_remarked(nodes: GaudiNodes, cli: CommandLine) -> None:
    """A command proves nothing of itself; what its processes have open is seen from outside.

    On a busy host a look through all processes is long, and the next one is due after two hundred times that.
    """
    right = cli("run", "--devices", "gaudi:4", "--json", "--", "python3", "-c", HOLD, str(nodes.node(4))).json()["id"]
    wrong = cli("run", "--devices", "gaudi:5", "--json", "--", "python3", "-c", HOLD, str(nodes.node(7))).json()["id"]
    notes = wait_for(lambda: cli.show(wrong)["notes"], seconds=200, what="the remark")
    assert notes[0].startswith(f"wrong card: its processes hold {nodes.key(7)} (module 7), and it was given")
    assert "wrong card" in cli("show", wrong).out
    assert cli.show(right)["notes"] == []
    cli("stop", wrong, right, "--now", "--wait").expect(0)


JOB = """
[[job]]
name = "answers"
kind = "generate"
[job.launch]
python = "{python}"
env = {{ PYTHONPATH = "{stack}" }}
[job.model]
path = "{model}"
[job.generate]
prompts = ["What is a class?"]
[job.generate.arguments]
max_new_tokens = 4
"""


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(300)
def test_a_run_lands_on_the_picked_card_or_ends(
    tmp_path: Path, nodes: GaudiNodes, cli: CommandLine, torch_python: str, tiny_model: Path
) -> None:
    file = tmp_path / "job.toml"
    stack = f"{world.SOURCE}:{gaudi_nodes.STACK}"
    file.write_text(JOB.format(python=torch_python, stack=stack, model=tiny_model), "utf-8")
    given = ("run", str(file), "--devices", "gaudi:6", "--yes", "--wait")
    cli(*given, environment=nodes.standin(), seconds=200).expect(0)
    shown = cli("show", "last", "--json").json()
    check("run", shown)
    assert shown["placement"]["status"] == "verified"
    assert shown["placement"]["ranks"][0]["held"][0]["module_id"] == 6
    assert f"verified: rank 0 on {nodes.key(6)} (module 6)" in cli("show", "last").out

    cli(*given, environment={**nodes.standin(), "STANDIN_TAKES": "7"}, seconds=200).expect(1)
    shown = cli("show", "last", "--json").json()
    check("run", shown)
    assert (shown["result"], shown["placement"]["status"]) == ("failed", "different")
    assert f"planned for {nodes.key(6)}" in shown["diagnosis"]["summary"]
