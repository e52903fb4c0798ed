"""A run on Intel GPUs through the whole product: files for the cards, a stand-in behind the real torch for the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.schemas import check
from support.world import SOURCE
from support.xpu_host import XpuHost

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(300)]

ADDRESSES = ("0000:1a:00.0", "0000:2a:00.0", "0000:3a:00.0")
STANDIN = SOURCE.parent / "tests/support/standins/xpu_stack"
SECONDS = 150  # the bound of a broken test
JOB = """
[[job]]
name = "generate"
kind = "generate"
[job.launch]
python = "{python}"
[job.model]
path = "{model}"
[job.generate]
prompts = ["What is a class?"]
[job.generate.arguments]
max_new_tokens = 4

[[job]]
name = "own"
kind = "command"
[job.launch]
python = "{python}"
launcher = "torchrun"
[job.command]
argv = ["own.py"]
"""


def gpus(*addresses: str) -> str:
    return json.dumps([{"address": "0000:00:02.0", "integrated": True}, *({"address": one} for one in addresses)])


@pytest.fixture
def host(own_world: Path, monkeypatch: pytest.MonkeyPatch) -> XpuHost:
    """An integrated GPU and three cards; torch sees the same ones."""
    made = XpuHost(own_world / "host")
    made.card("0000:00:02.0", 0x4680, driver="i915", node=3)
    for number, address in enumerate(ADDRESSES):
        made.card(address, node=number)
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{STANDIN}:{SOURCE}")
    monkeypatch.setenv("STANDIN_XPU", gpus(*ADDRESSES))
    return made


@pytest.fixture
def session(own_world: Path, host: XpuHost, torch_python: str, tiny_model: Path) -> str:
    file = own_world / "jobs.toml"
    file.write_text(JOB.format(python=torch_python, model=tiny_model))
    (own_world / "own.py").write_text("import torch\nprint('sees', torch.xpu.device_count())\n")
    return str(file)


def test_the_picked_cards_are_proved_and_a_wrong_one_ends_the_run(cli: CommandLine, session: str) -> None:
    name = f"{session}#generate"
    checks = {one["id"]: one for one in cli("check", name, "--devices", "xpu:0,2", "--json", seconds=SECONDS)
              .expect(0).json()["checks"]}  # fmt: skip
    assert checks["device-access"]["level"] == "pass"
    assert "device_count() 2, as many as picked" in checks["torch-devices"]["message"]
    done = cli("run", name, "--devices", "xpu:0,2", "--wait", environment={"ZE_AFFINITY_MASK": "3"}, seconds=SECONDS)
    assert "ZE_AFFINITY_MASK=3" in done.expect(0).err
    shown = cli("show", "last", "--json").json()
    check("run", shown)
    assert shown["placement"]["status"] == "verified"
    assert shown["devices"] == ["pci:0000:1a:00.0", "pci:0000:3a:00.0"]
    log = cli("logs", "last").out
    assert "xpu:1 is pci:0000:3a:00.0" in log

    other = {"STANDIN_XPU": gpus("0000:1b:00.0", *ADDRESSES[1:])}
    cli("run", name, "--devices", "xpu:0,2", "--wait", environment=other, seconds=SECONDS).expect(1)
    shown = cli("show", "last", "--json").json()
    assert (shown["result"], shown["diagnosis"]["id"]) == ("failed", "wrong-card")
    assert "pci:0000:1b:00.0" in shown["diagnosis"]["summary"]
    assert shown["placement"]["status"] == "different"


def test_a_program_of_ones_own_is_not_started_where_torch_sees_other_cards(
    cli: CommandLine, session: str, own_world: Path
) -> None:
    name = f"{session}#own"
    cli("run", name, "--devices", "xpu:1,2", "--wait", cwd=own_world, seconds=SECONDS).expect(0)
    assert "sees 2" in cli("logs", "last").out
    fewer = {"STANDIN_XPU": gpus(*ADDRESSES[:2])}
    done = cli("run", name, "--devices", "xpu:1,2", "--wait", environment=fewer, cwd=own_world, seconds=SECONDS)
    assert done.code in (1, 6)
    shown = cli("show", "last", "--json").json()
    assert (shown["result"], shown["cause"]) == ("not-started", "check-refused")
