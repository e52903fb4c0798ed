"""The worker's way onto Gaudi, met by a stand-in for its software: what is proved is control flow, see docs/testing.md.

Every test is a real worker process with a made /dev and /sys; the stand-in opens the card that the real bridge would.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import gaudi_nodes, world
from support.gaudi_nodes import GaudiNodes
from support.working import MakeJob, WorkerProcess, events, make_run, of

pytestmark = pytest.mark.torch

PLUGIN = f"{world.SOURCE}:{gaudi_nodes.STACK}"


@pytest.fixture
def nodes(tmp_path: Path) -> GaudiNodes:
    """Modules 4 to 7 behind the indexes 1, 0, 3 and 2."""
    return gaudi_nodes.make(tmp_path / "host")


@dataclasses.dataclass(frozen=True)
class Ended:
    """A worker that has ended."""

    code: int
    folder: Path
    log: str


@pytest.fixture
def work(tmp_path: Path, torch_python: str, nodes: GaudiNodes) -> Any:
    """Runs a job as a plan for these modules would, and waits for its end."""

    def run(job: dict[str, Any], *modules: int, ranks: int = 0, python: str = "", **more: str) -> Ended:
        environment = {**nodes.environment(*modules), "PYTHONPATH": PLUGIN, **more}
        process = WorkerProcess(
            python or torch_python, make_run(tmp_path / "run", job), ranks=ranks, device="hpu", environment=environment
        )
        return Ended(process.end(), process.folder, process.log())

    return run


def proved(ended: Ended, rank: int = 0) -> dict[str, Any]:
    (event,) = of("placement", ended.folder, rank)
    return event


def test_two_ranks_train_on_their_cards_with_hccl(nodes: GaudiNodes, work: Any, train_job: MakeJob) -> None:
    job = {**train_job(max_steps=2, save_strategy="no", eval_strategy="no"), "launch": {"launcher": "torchrun"}}
    job["data"]["eval_fraction"] = 0.0
    ended = work(job, 4, 5, ranks=2)
    assert ended.code == 0, ended.log
    for rank, module in enumerate((4, 5)):
        event = proved(ended, rank)
        assert (event["status"], event["wanted"], event["device"]) == ("verified", nodes.key(module), "hpu:0")
        (card,) = event["held"]
        assert (card["key"], card["node"], card["module_id"]) == (nodes.key(module), str(nodes.node(module)), module)
        (device,) = of("device", ended.folder, rank)
        assert (device["device"], device["backend"], device["world"]) == ("hpu:0", "hccl", 2)
        assert device["wrapper"] == "DistributedDataParallel"
        assert device["compiled"] is None
    assert sorted(note["module"] for note in nodes.said("acquired")) == [4, 5]
    # The plugin came right after torch, in ranks that already knew their card.
    imported = nodes.said("imported")
    assert sorted(note["HLS_MODULE_ID"] for note in imported) == ["4", "5"]
    assert {(note["PT_HPU_LAZY_MODE"], note["PT_ENABLE_INT64_SUPPORT"]) for note in imported} == {("0", "1")}


def test_another_card_than_the_planned_one_ends_the_run(nodes: GaudiNodes, work: Any, generate_job: MakeJob) -> None:
    ended = work(generate_job(), 4, STANDIN_TAKES="7")
    assert ended.code == 3
    event = proved(ended)
    assert (event["status"], event["wanted"]) == ("different", nodes.key(4))
    assert [card["module_id"] for card in event["held"]] == [7]
    (error,) = of("error", ended.folder)
    assert error["type"] == "WrongCardError"
    assert f"planned for {nodes.key(4)}, and this rank holds {nodes.key(7)} (module 7)" in error["message"]
    assert events(ended.folder)[-1]["ok"] is False
    assert not of("phase", ended.folder)[1:], "nothing was loaded"


@pytest.mark.slow
def test_what_cannot_be_read_is_not_verified(nodes: GaudiNodes, work: Any, generate_job: MakeJob) -> None:
    ended = work(generate_job(), 4, STANDIN_TAKES="")
    assert ended.code == 0, ended.log
    assert (proved(ended)["status"], proved(ended)["held"]) == ("not-verified", [])
    assert of("warning", ended.folder)[0]["code"] == "card-not-verified"


@pytest.mark.slow
def test_one_process_under_a_launcher_generates_on_its_card(
    nodes: GaudiNodes, work: Any, generate_job: MakeJob
) -> None:
    """A list of one module and no `HLS_MODULE_ID`: the bridge would take the first free card of the machine."""
    ended = work(generate_job(), 6, ranks=1, HLS_MODULE_ID="")
    assert ended.code == 0, ended.log
    assert proved(ended)["status"] == "verified"
    assert [note["module"] for note in nodes.said("acquired")] == [6]
    assert of("device", ended.folder)[0]["device"] == "hpu:0"
    asked = {note["asked"] for note in nodes.said("device")}
    assert asked <= {"hpu", "hpu:0"}
    assert of("result", ended.folder)[0]["new_tokens"] == 6


@pytest.mark.slow
def test_one_process_trains_and_compiles_with_the_back_end_of_gaudi(
    nodes: GaudiNodes, work: Any, train_job: MakeJob
) -> None:
    ended = work(train_job(max_steps=2, torch_compile=True, save_strategy="no"), 7)
    assert ended.code == 0, ended.log
    (device,) = of("device", ended.folder)
    assert (device["device"], device["compiled"], device["backend"]) == ("hpu:0", "hpu_backend", None)
    assert nodes.said("compiled")


@pytest.mark.slow
def test_eight_ranks_on_eight_cards(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    nodes = gaudi_nodes.make(tmp_path / "server", gaudi_nodes.EIGHT)
    job = {**train_job(max_steps=2, save_strategy="no"), "launch": {"launcher": "torchrun"}}
    environment = {**nodes.environment(*range(8)), "PYTHONPATH": PLUGIN}
    process = WorkerProcess(
        torch_python, make_run(tmp_path / "run", job), ranks=8, device="hpu", environment=environment
    )
    assert process.end(seconds=400) == 0, process.log()
    for rank in range(8):
        (event,) = of("placement", process.folder, rank)
        assert (event["status"], event["wanted"]) == ("verified", nodes.key(rank))
        (device,) = of("device", process.folder, rank)
        assert (device["backend"], device["world"]) == ("hccl", 8)
    assert sorted(note["module"] for note in nodes.said("acquired")) == list(range(8))


@pytest.mark.slow
def test_the_lowest_transformers_trains_on_two_ranks(tmp_path: Path, work: Any, train_job: MakeJob) -> None:
    python = os.environ.get("ACCEL_TUI_TEST_LOW_PYTHON")
    if not python:
        pytest.skip("no interpreter with the lowest transformers: name it in ACCEL_TUI_TEST_LOW_PYTHON")
    model = tmp_path / "model"  # one that this version can read
    subprocess.run([python, "-m", "accel_tui_worker", "tiny-model", str(model)], check=True, timeout=120)
    job = {**train_job(max_steps=2, save_strategy="no"), "launch": {"launcher": "torchrun"}}
    job["model"]["path"] = str(model)
    ended = work(job, 4, 5, ranks=2, python=python)
    assert ended.code == 0, ended.log
    assert [proved(ended, rank)["status"] for rank in (0, 1)] == ["verified", "verified"]
    assert of("device", ended.folder)[0]["backend"] == "hccl"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        ({"PYTHONPATH": str(world.SOURCE)}, "UnsupportedStackError", "habana-torch-plugin) cannot be imported"),
        ({"STANDIN_BROKEN": "libSynapse.so: no such file"}, "UnsupportedStackError", "libSynapse.so: no such file"),
        ({"STANDIN_CARDS": "0"}, "DeviceMismatchError", "this torch sees 0 of type hpu"),
    ],
)  # fmt: skip
def test_without_gaudi_nothing_runs_on_the_cpu(
    work: Any, train_job: MakeJob, more: dict[str, str], kind: str, words: str
) -> None:
    # Both switch the plugin off where nobody imports it; the worker does.
    quiet = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PT_HPU_AUTOLOAD": "0"}
    ended = work(train_job(), 4, **quiet, **more)
    assert ended.code == 3
    (error,) = of("error", ended.folder)
    assert error["type"] == kind
    assert words in error["message"]
    assert not of("step", ended.folder)


@pytest.mark.slow
def test_a_busy_card_is_told_in_the_words_of_the_bridge(nodes: GaudiNodes, work: Any, generate_job: MakeJob) -> None:
    descriptor = os.open(nodes.node(5), os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        ended = work(generate_job(), 5)
    finally:
        os.close(descriptor)
    assert ended.code == 1
    assert "Device acquire failed" in of("error", ended.folder)[0]["message"]
    assert not of("placement", ended.folder)
