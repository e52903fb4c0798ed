"""The main job end to end on the real torch stack: generate, train, two ranks, stop-and-save, resume, kill -9."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from accel_tui.keeper.processes import alive
from support.command_line import CommandLine
from support.schemas import check
from support.waiting import wait_for

pytestmark = [pytest.mark.torch, pytest.mark.timeout(300)]

FOREVER = 1_000_000
"""Steps of a training that only a stop ends, however fast the machine is."""

TORCH_SECONDS = 120  # bounds of a broken test: importing torch alone takes many seconds on a busy machine

JOBS = """
[devices]
select = "cpu"

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
max_new_tokens = 8

[[job]]
name = "train"
kind = "train"
[job.launch]
python = "{python}"
launcher = "{launcher}"
processes = {processes}
[job.model]
path = "{model}"
[job.data]
path = "{model}/eval.txt"
block_size = 64
[job.train.arguments]
max_steps = {steps}
per_device_train_batch_size = 1
learning_rate = 1e-3
lr_scheduler_type = "constant"
logging_steps = 1
save_steps = 10000
"""


@pytest.fixture
def session(own_world: Path, torch_python: str, tiny_model: Path) -> Path:
    """A file with a generation and a training on one rank; `two_ranks` writes one beside it."""
    return write(own_world / "one.toml", torch_python, tiny_model)


def write(file: Path, python: str, model: Path, *, processes: int = 1, steps: int = FOREVER) -> Path:
    launcher = "torchrun" if processes > 1 else "python"
    file.write_text(JOBS.format(python=python, model=model, processes=processes, launcher=launcher, steps=steps))
    return file


def events(run: dict[str, Any], rank: int = 0) -> list[dict[str, Any]]:
    path = Path(run["folder"]) / f"events/rank-{rank}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def losses(run: dict[str, Any]) -> dict[int, float]:
    return {event["step"]: event["loss"] for event in events(run) if event["event"] == "log" and "loss" in event}


def in_training(cli: CommandLine, ident: str) -> dict[str, Any]:
    """The run once it has made two steps; ranks step together, and rank 0 alone tells of it."""
    run = cli.wait_state(ident, "running")

    def stepping() -> bool:
        return any(event["event"] == "step" and event["step"] >= 2 for event in events(run))

    wait_for(stepping, seconds=TORCH_SECONDS, what="the training to be under way")
    return run


def queue(cli: CommandLine, job: str) -> str:
    return str(cli("run", job, "--json").expect(0).json()["id"])


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def processes_of(run: dict[str, Any]) -> dict[str, list[int]]:
    document: dict[str, list[int]] = json.loads((Path(run["folder"]) / "state.json").read_bytes())
    return document


def test_generate(cli: CommandLine, session: Path) -> None:
    run = cli("run", f"{session}#generate", "--wait", "--json", seconds=TORCH_SECONDS).expect(0).json()
    check("run", run)
    (result,) = map(json.loads, (Path(run["folder"]) / "artefacts/results.jsonl").read_text().splitlines())
    assert result["prompt"] == "What is a class?"
    assert 0 < result["new_tokens"] <= 8
    assert result["time_to_first_token_seconds"] > 0
    check("metrics", cli("metrics", run["id"], "--json").expect(0).json())


def test_train_on_two_ranks_stop_save_and_resume_as_if_nothing_had_happened(
    cli: CommandLine, own_world: Path, torch_python: str, tiny_model: Path
) -> None:
    job = f"{write(own_world / 'two.toml', torch_python, tiny_model, processes=2)}#train"
    stopped = in_training(cli, queue(cli, job))
    cli("stop", stopped["id"], "--wait", seconds=TORCH_SECONDS).expect(0)
    stopped = cli.show(stopped["id"])
    assert (stopped["result"], stopped["cause"]) == ("stopped", "stopped-by-user")
    saved = {event["step"] for rank in (0, 1) for event in events(stopped, rank) if event["event"] == "result"}
    (step,) = saved  # the same on both ranks
    output = Path(stopped["folder"]) / "artefacts"
    assert (output / f"checkpoint-{step}").is_dir()

    end = ("--set", f"train.arguments.max_steps={step + 4}", "--wait", "--json")
    whole = cli("run", job, *end, seconds=TORCH_SECONDS).expect(0).json()
    expected = losses(whole)
    assert list(expected) == list(range(1, step + 5))
    resumed = cli("rerun", stopped["id"], *end, "--set", f"train.resume_from={output}", seconds=TORCH_SECONDS)
    run = resumed.expect(0).json()
    assert run["retry_of"] == stopped["id"]
    assert losses(run) == {at: expected[at] for at in range(step + 1, step + 5)}

    document = cli("metrics", whole["id"], "--json").expect(0).json()
    check("metrics", document)
    series = {one["name"]: one["points"] for one in document["series"]}
    assert [[at, loss] for _, at, loss in series["loss"]] == [list(pair) for pair in expected.items()]
    csv = cli("metrics", whole["id"], "--csv").expect(0).out.splitlines()
    assert csv[0] == "time,kind,device,name,step,value,unit"
    assert sum(",run,,loss," in line for line in csv) == step + 4


def test_client_supervisor_and_keeper_are_killed_in_mid_training(cli: CommandLine, session: Path) -> None:
    follower = cli.start("run", f"{session}#train", "--follow")
    assert follower.stdout is not None
    ident = follower.stdout.readline().decode().strip()
    run = in_training(cli, ident)
    for pid in (follower.pid, cli.supervisor(), processes_of(run)["keeper"][0]):
        kill(pid)
    follower.communicate()
    reached = len(losses(run))
    wait_for(lambda: len(losses(run)) > reached + 2, seconds=TORCH_SECONDS, what="the training to go on")
    shown = cli.show(ident)  # by a new supervisor
    assert shown["state"] == "running"
    assert shown["notes"]
    told = cli("stop", ident, "--wait", seconds=TORCH_SECONDS).expect(0).err
    ended = cli.show(ident)
    (result,) = [event for event in events(ended) if event["event"] == "result"]
    assert result["ok"]
    saved = Path(ended["folder"]) / f"artefacts/checkpoint-{result['step']}"
    assert saved.is_dir()
    assert f"rerun {ident} --resume" in told
    assert saved.name in cli("show", ident).out
    again = cli("rerun", ident, "--resume", "--json").expect(0).json()["id"]
    spec = json.loads((Path(cli.show(again)["folder"]) / "spec.json").read_bytes())
    assert spec["job"]["train"]["resume_from"] == str(saved)
    cli("stop", again, "--now", "--wait").expect(0)
    assert ended["result"] == "stopped"


@pytest.mark.slow
def test_the_shipped_quickstart(cli: CommandLine, torch_python: str) -> None:
    first = cli("quickstart", "--python", torch_python, seconds=280).expect(0)
    assert "What to open next:" in first.out
    assert "step 60/60" in first.err
    results = [(run["name"], run["result"]) for run in cli("runs", "--json").json()["runs"]]
    assert results == [("train", "succeeded"), ("generate", "succeeded"), ("quickstart-model", "succeeded")]


@pytest.mark.slow
@pytest.mark.parametrize("victims", [("supervisor",), ("keeper",), ("main",), ("supervisor", "keeper", "main")],
                         ids="+".join)  # fmt: skip
def test_kill_in_mid_training_on_two_ranks(
    cli: CommandLine, own_world: Path, torch_python: str, tiny_model: Path, victims: tuple[str, ...]
) -> None:
    """The launcher is the main process; without it no rank may go on for ever, whoever else is gone."""
    job = f"{write(own_world / 'two.toml', torch_python, tiny_model, processes=2)}#train"
    run = in_training(cli, queue(cli, job))
    records = processes_of(run)
    ranks = [(events(run, rank)[0]["pid"], events(run, rank)[0]["start_time"]) for rank in (0, 1)]
    for victim in victims:
        kill(cli.supervisor() if victim == "supervisor" else records[victim][0])
    if "main" not in victims:
        cli("stop", run["id"]).expect(0)
    ended = cli.wait_state(run["id"], "finished", seconds=TORCH_SECONDS)
    check("run", {"schema": 1, **ended})
    expected = {
        ("supervisor",): [("stopped", "stopped-by-user")],
        ("keeper",): [("stopped", "stopped-by-user")],
        ("main",): [("failed", "signal")],
        # Without a keeper the worker's last word decides, if it comes to one.
        ("supervisor", "keeper", "main"): [("failed", "keeper-lost"), ("lost", "keeper-lost")],
    }[victims]
    assert (ended["result"], ended["cause"]) in expected
    assert not any(alive(*rank) for rank in ranks)


@pytest.mark.slow
def test_an_overnight_queue_of_trainings_needs_nobody(cli: CommandLine, session: Path) -> None:
    end = ("--set", "train.arguments.max_steps=3", "--json")
    first = cli("run", f"{session}#train", *end).expect(0).json()["id"]
    second = queue(cli, f"{session}#generate")
    run = cli.wait_state(first, "running")
    kill(cli.supervisor())  # while the first still imports torch
    record = Path(run["folder"]).parent / second / "exit.json"
    wait_for(
        lambda: record.exists() and record.read_bytes().strip(), seconds=TORCH_SECONDS, what="the second run to end"
    )
    assert [cli.show(ident)["result"] for ident in (first, second)] == ["succeeded", "succeeded"]
