"""The worker on Intel GPUs, as far as a CPU can prove it: real torch, transformers and launchers, a stand-in for XPU.

The environment is the plan's own. What the stand-in proves and what not stands in `docs/testing.md`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from accel_tui.jobs.planning import environment_for
from accel_tui.jobs.spec import parse_job
from support import hosts
from support.planning import planned
from support.working import MakeJob, WorkerProcess, make_run, of
from support.world import SOURCE

pytestmark = pytest.mark.torch

STANDIN = Path(__file__).parents[1] / "support/standins/xpu_stack"
SERVER = hosts.xpu_server(3)


def start(
    python: str, folder: Path, job: dict[str, Any], select: str, *, ranks: int = 0, **changes: str
) -> WorkerProcess:
    """A worker under the environment that a plan for `select` gives it; `changes` are made behind the plan's back."""
    base = dict(os.environ)
    made = planned(parse_job({"name": "x", **job}), select, SERVER, base, port=29501)
    cards = [{"address": view.device.pci_address} for view in SERVER.devices if view.device.vendor == "xpu"]
    environment = {
        **environment_for(made, base, {}),
        "PYTHONPATH": f"{STANDIN}:{SOURCE}",
        "STANDIN_XPU": json.dumps(cards),
        "STANDIN_XPU_LOG": str(folder.with_suffix(".asked")),
        **changes,
    }
    return WorkerProcess(python, make_run(folder, job), ranks=ranks, device="xpu", environment=environment)


def asked(folder: Path) -> set[str]:
    """Every device that the process asked torch for."""
    return {json.loads(line)["device"] for line in folder.with_suffix(".asked").read_text().splitlines()}


@pytest.mark.slow
def test_two_ranks_train_on_the_cards_that_were_picked(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    job = {**train_job(max_steps=2), "launch": {"launcher": "torchrun", "processes": 2}}
    process = start(torch_python, tmp_path / "run", job, "xpu:0,2", ranks=2)
    assert process.end() == 0, process.log()
    keys = [hosts.xpu(0).key, hosts.xpu(2).key]
    for rank, key in enumerate(keys):
        (placement,) = of("placement", process.folder, rank)
        assert (placement["status"], placement["wanted"], placement["device"]) == ("verified", key, f"xpu:{rank}")
        assert [card["key"] for card in placement["held"]] == [key]
        assert [card["key"] for card in placement["visible"]] == keys
        (device,) = of("device", process.folder, rank)
        assert (device["world"], device["backend"], device["wrapper"]) == (2, "xccl", "DistributedDataParallel")
        assert device["device"] == f"xpu:{rank}"
        assert of("result", process.folder, rank)[0]["ok"]
    assert {"xpu:0", "xpu:1"} <= asked(process.folder)
    log = process.log()
    assert "xpu:0 is pci:0000:1a:00.0, uuid 868011e2-0000-0000-1a00-000000000000" in log
    assert "xpu:1 is pci:0000:3a:00.0" in log


def test_a_model_is_spread_over_the_cards_of_one_process(
    tmp_path: Path, torch_python: str, generate_job: MakeJob
) -> None:
    job = generate_job()
    job["model"]["attn_implementation"] = "eager"
    process = start(torch_python, tmp_path / "run", job, "xpu:1,2", STANDIN_XPU_COUNT_BEFORE="3")
    assert process.end() == 0, process.log()
    (device,) = of("device", process.folder)
    assert (device["devices"], device["attention"]) == (["xpu:0", "xpu:1"], "eager")
    assert of("placement", process.folder)[0]["status"] == "verified"
    assert of("generation", process.folder)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("0,1", "planned for pci:0000:3a:00.0, and this rank holds pci:0000:2a:00.0"),
        ("2", "2 devices were planned"),
        ("2,0,1", "2 devices were planned"),
    ],
)
@pytest.mark.slow
def test_other_cards_than_the_planned_ones_end_the_run_before_it_trains(
    tmp_path: Path, torch_python: str, train_job: MakeJob, mask: str, words: str
) -> None:
    job = {**train_job(), "launch": {"launcher": "torchrun", "processes": 2}}
    process = start(torch_python, tmp_path / "run", job, "xpu:0,2", ranks=2, ZE_AFFINITY_MASK=mask)
    assert process.end() == 1
    errors = [event for rank in (0, 1) for event in of("error", process.folder, rank)]
    assert any(error["type"] == "WrongCardError" and words in error["message"] for error in errors), errors
    assert not of("step", process.folder)


@pytest.mark.slow
def test_one_card_is_loaded_directly_and_one_without_identity_is_never_called_verified(
    tmp_path: Path, torch_python: str, generate_job: MakeJob
) -> None:
    process = start(torch_python, tmp_path / "run", generate_job(), "xpu:1", STANDIN_XPU_WITHOUT="uuid")
    assert process.end() == 0, process.log()
    (device,) = of("device", process.folder)
    assert (device["device"], device["devices"], device["attention"]) == ("xpu:0", None, "sdpa")
    (placement,) = of("placement", process.folder)
    assert placement["status"] == "not-verified"
    assert "no uuid" in placement["reason"]
    assert [warning["code"] for warning in of("warning", process.folder)] == ["card-not-verified"]


@pytest.mark.slow
def test_one_rank_under_torchrun_and_a_chip_uuid(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    chip = "0123456789abcdef0123456789abcd00"
    cards = [{"address": hosts.xpu(order).pci_address, "chip": chip if order == 1 else None} for order in range(3)]
    job = {**train_job(max_steps=2), "launch": {"launcher": "torchrun"}}
    process = start(torch_python, tmp_path / "run", job, "xpu:1", ranks=1, STANDIN_XPU=json.dumps(cards),
                    ACCEL_TUI_CARD_UUIDS=f"{hosts.xpu(1).key}={bytes.fromhex(chip)[::-1].hex()}")  # fmt: skip
    assert process.end() == 0, process.log()
    (placement,) = of("placement", process.folder)
    assert (placement["status"], placement["held"][0]["by"]) == ("verified", "chip-uuid")
    assert of("device", process.folder)[0]["backend"] is None


@pytest.mark.slow
def test_ranks_without_collectives_are_refused(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    job = {**train_job(), "launch": {"launcher": "torchrun", "processes": 2}}
    process = start(torch_python, tmp_path / "run", job, "xpu:0,1", ranks=2, STANDIN_XPU_WITHOUT="xccl")
    assert process.end() == 1
    assert any("2 ranks" in event["message"] for rank in (0, 1) for event in of("error", process.folder, rank))
    assert not of("step", process.folder)
