"""Kind `train` on a real model, in this process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from accel_tui_worker import checkpoints
from accel_tui_worker.errors import (
    BadInputError,
    DeviceMismatchError,
    InvalidJobError,
    OutputInUseError,
    UnknownArgumentError,
)
from accel_tui_worker.train import train
from support.working import MakeJob, context, losses, of

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="these tests run the worker in this process, which has no torch stack")


@pytest.fixture(scope="module")
def whole(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of one uninterrupted training of eight steps, with a checkpoint at each fourth."""
    folder = tmp_path_factory.mktemp("whole")
    job = {
        "kind": "train",
        "model": {"path": str(tiny_model)},
        "data": {"path": str(tiny_model / "train.txt"), "block_size": 32, "limit": 300},
        "train": {
            "arguments": {
                "max_steps": 8,
                "per_device_train_batch_size": 2,
                "logging_steps": 2,
                "save_steps": 4,
                "disable_tqdm": True,
            }
        },
    }
    made = context(folder, job)
    made.events.finish(ok=True, **train(made))
    return folder


def test_a_training_tells_what_it_does_and_leaves_a_model(whole: Path) -> None:
    steps = of("step", whole)
    assert [event["step"] for event in steps] == list(range(1, 9))
    assert {event["total"] for event in steps} == {8}
    assert all(event["eta_seconds"] >= 0 and event["steps_per_second"] > 0 for event in steps)
    assert steps[-1]["eta_seconds"] == 0
    logs = [event for event in of("log", whole) if "loss" in event]
    assert [event["step"] for event in logs] == [2, 4, 6, 8]
    assert all(event["tokens_per_second"] > 0 and event["grad_norm"] > 0 for event in logs)
    assert [event["step"] for event in of("checkpoint", whole)] == [4, 8]
    assert all(checkpoints.flaw(Path(event["folder"])) is None for event in of("checkpoint", whole))
    (device,) = of("device", whole)
    assert device["device"] == "cpu"
    assert device["backend"] is None
    assert device["wrapper"] is None
    (data,) = of("data", whole)
    assert data["examples"] == 300
    assert data["block_size"] == 32
    assert data["blocks"] + data["eval_blocks"] == data["tokens"] // 32
    (result,) = of("result", whole)
    assert result["ok"]
    assert not result["stopped"]
    assert result["step"] == 8
    assert result["eval_loss"] > 0
    assert result["train_loss"] > 0
    assert (whole / "artefacts/model.safetensors").is_file()
    assert (whole / "artefacts/tokenizer.json").is_file()
    phases = [event["phase"] for event in of("phase", whole)]
    assert phases[:3] == ["importing", "loading", "training"]
    assert {"evaluating", "saving"} <= set(phases)


def test_resuming_repeats_the_losses_of_the_whole_training(whole: Path, tmp_path: Path, train_job: MakeJob) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(whole / "artefacts/checkpoint-4", earlier / "checkpoint-4")
    torn = earlier / "checkpoint-6"  # a newer one that was being written when the power went
    shutil.copytree(earlier / "checkpoint-4", torn)
    (torn / checkpoints.INCOMPLETE).touch()
    figures = train(context(tmp_path / "run", train_job(train={"resume_from": str(earlier)})))
    assert figures["resumed_from"] == str(earlier / "checkpoint-4")
    assert [event["step"] for event in of("step", tmp_path / "run")] == [5, 6, 7, 8]
    whole_losses = losses(whole)
    assert losses(tmp_path / "run") == {step: whole_losses[step] for step in (6, 8)}


def test_a_stop_saves_at_the_end_of_the_step_and_can_be_resumed(
    whole: Path, tmp_path: Path, train_job: MakeJob
) -> None:
    made = context(tmp_path / "first", train_job(save_steps=100))
    _request_stop_at(made, "step", step=3)
    figures = train(made)
    assert figures["stopped"]
    assert figures["step"] == 3
    assert figures["checkpoint"].endswith("checkpoint-3")
    assert not (tmp_path / "first/artefacts/model.safetensors").exists()
    job = {**train_job(train={"output": str(tmp_path / "first/artefacts")}), "launch": {"resume": "last"}}
    figures = train(context(tmp_path / "second", job))
    assert not figures["stopped"]
    assert figures["step"] == 8
    assert losses(tmp_path / "second")[8] == losses(whole)[8]


def test_a_retry_after_a_death_in_the_first_checkpoint_starts_anew(
    whole: Path, tmp_path: Path, train_job: MakeJob
) -> None:
    torn = tmp_path / "out/checkpoint-4"
    torn.mkdir(parents=True)
    (torn / checkpoints.INCOMPLETE).touch()
    train_table = {"output": str(torn.parent), "resume_from": str(torn.parent)}
    job = {**train_job(train=train_table), "launch": {"resume": "last"}}
    figures = train(context(tmp_path / "run", job))
    assert figures["resumed_from"] is None
    assert losses(tmp_path / "run") == losses(whole)
    assert [event["code"] for event in of("warning", tmp_path / "run")] == ["started-anew"]
    assert checkpoints.flaw(torn) is None


def _request_stop_at(made: Any, event: str, **fields: Any) -> None:
    """Let the signal come right after an event."""
    original = made.events.emit

    def emit(name: str, **given: Any) -> None:
        original(name, **given)
        if name == event and fields.items() <= given.items():
            made.stop.requested = True

    made.events.emit = emit


def test_a_stop_does_not_wait_for_the_end_of_an_evaluation(tmp_path: Path, train_job: MakeJob) -> None:
    made = context(tmp_path, train_job(eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=1))
    _request_stop_at(made, "phase", phase="evaluating")
    figures = train(made)
    assert figures["stopped"]
    assert figures["step"] == 2
    assert not [e for e in of("log", tmp_path) if "eval_loss" in e]
    assert checkpoints.flaw(Path(figures["checkpoint"])) is None


@pytest.mark.filterwarnings("ignore:`torch.cpu.amp.autocast:FutureWarning")  # transformers 4.x says it that way
def test_evaluation_runs_on_its_own_text_while_training(tmp_path: Path, tiny_model: Path, train_job: MakeJob) -> None:
    data = {"eval_path": str(tiny_model / "eval.txt")}
    arguments = {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "save_strategy": "no", "bf16": True}
    figures = train(context(tmp_path, train_job(data=data, **arguments)))
    assert [event["step"] for event in of("log", tmp_path) if "eval_loss" in event] == [2, 4]
    assert figures["checkpoint"] is None
    assert figures["train_loss"] > 0


def test_conversations_are_trained_on_through_the_chat_template(tmp_path: Path, train_job: MakeJob) -> None:
    talk = (
        '{"messages": [{"role": "user", "content": "What is a class?"}, {"role": "assistant", "content": "A type."}]}'
    )
    (tmp_path / "talk.jsonl").write_text(f"{talk}\n" * 20)
    data = {"path": str(tmp_path / "talk.jsonl"), "eval_fraction": 0}
    figures = train(context(tmp_path / "run", train_job(data=data, max_steps=1)))
    assert figures["step"] == 1
    assert of("data", tmp_path / "run")[0]["examples"] == 20


def test_a_second_training_does_not_start_in_a_folder_with_checkpoints(
    whole: Path, tmp_path: Path, train_job: MakeJob
) -> None:
    job = train_job(train={"output": str(whole / "artefacts")})
    with pytest.raises(BadInputError, match=r"holds checkpoint-8 of an earlier training; set train.resume_from"):
        train(context(tmp_path, job))


def test_an_output_folder_of_a_live_run_is_refused(tmp_path: Path, train_job: MakeJob) -> None:
    with checkpoints.holding(tmp_path / "out", lambda *_: None), pytest.raises(OutputInUseError):
        train(context(tmp_path / "run", train_job(train={"output": str(tmp_path / "out")})))


def test_ranks_that_would_train_alone_are_refused(tmp_path: Path, train_job: MakeJob) -> None:
    with pytest.raises(DeviceMismatchError, match="started 2 ranks, and 1 would train together"):
        train(context(tmp_path, train_job(), world=2))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"use_cpu": False}, InvalidJobError, "contradicts the devices"),
        ({"learning_rat": 1}, UnknownArgumentError, "did you mean 'learning_rate'"),
        ({"lr_scheduler_type": "staircase"}, InvalidJobError, "staircase"),
        ({"output_dir": "x"}, InvalidJobError, "train.output"),
        ({"enable_jit_checkpoint": True}, InvalidJobError, "the worker saves on SIGTERM itself"),
    ],
)
def test_arguments_that_are_refused(
    tmp_path: Path, train_job: MakeJob, arguments: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        train(context(tmp_path, train_job(**arguments)))


def test_sharding_that_the_library_would_ignore_is_refused(tmp_path: Path, train_job: MakeJob) -> None:
    with pytest.raises(DeviceMismatchError, match="fsdp was asked for and would not be in force"):
        train(context(tmp_path, train_job(fsdp="full_shard")))


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "holds no text"), ("a b\n", "less than one block of 32"), ("\n", "less than one block")],
)
def test_data_without_a_block_is_refused(tmp_path: Path, train_job: MakeJob, content: str, words: str) -> None:
    (tmp_path / "text.txt").write_text(content)
    with pytest.raises(BadInputError, match=words):
        train(context(tmp_path / "run", train_job(data={"path": str(tmp_path / "text.txt")})))


def test_evaluating_without_anything_to_evaluate_on_is_refused(tmp_path: Path, train_job: MakeJob) -> None:
    with pytest.raises(InvalidJobError, match="nothing to evaluate on"):
        train(context(tmp_path, train_job(data={"eval_fraction": 0}, eval_strategy="epoch")))


@pytest.mark.slow
def test_compiling_is_told_until_the_first_step_is_made(tmp_path: Path, train_job: MakeJob) -> None:
    train(context(tmp_path, train_job(torch_compile=True, torch_compile_backend="eager", max_steps=2)))
    phases = [event["phase"] for event in of("phase", tmp_path)]
    assert phases[2:4] == ["compiling", "training"]
