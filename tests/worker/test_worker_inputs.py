"""What is refused before anything heavy is imported, and in which words."""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accel_tui_worker import checkpoints, compatibility
from accel_tui_worker.data import find_sources, split_blocks, tokenise
from accel_tui_worker.errors import (
    BadInputError,
    InvalidJobError,
    OutputInUseError,
    UnknownArgumentError,
    WorkerError,
)
from accel_tui_worker.job import Data, Generate, read_job, resolve_model
from accel_tui_worker.prompts import ResultFile, read_prompts


class FakeTokenizer:
    """One token for each character; 0 ends a text."""

    eos_token_id = 0
    chat_template = None

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}


def no_warning(code: str, message: str) -> None:
    raise AssertionError(f"{code}: {message}")


def refused(error: type[WorkerError], call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return str(caught.value)


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


# --- the job -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "cannot read"),
        ("{", "holds no job"),
        ("[]", "holds no job"),
        ('{"job": {"kind": "command"}}', "kind 'command' is not one of the worker's"),
        ('{"job": {"kind": "train", "data": 3}}', "data is int, not a table"),
    ],
)
def test_a_run_folder_without_a_usable_job(tmp_path: Path, spec: str | None, words: str) -> None:
    if spec is not None:
        (tmp_path / "spec.json").write_text(spec)
    assert words in refused(WorkerError, read_job, tmp_path)


def test_fields_that_are_left_out_or_null_get_defaults_and_unknown_ones_are_ignored(tmp_path: Path) -> None:
    job = {"kind": "train", "model": {"path": "m", "dtype": None, "later": 1}, "data": {"path": "d"}}
    (tmp_path / "spec.json").write_text(json.dumps({"job": job}))
    read = read_job(tmp_path)
    assert (read.model.path, read.model.dtype, read.data.block_size, read.launcher) == ("m", "auto", 128, "python")


# --- the model -----------------------------------------------------------------------------------------------------


def test_a_model_folder_must_hold_a_model(tmp_path: Path) -> None:
    assert "does not exist" in refused(BadInputError, resolve_model, str(tmp_path / "none"))
    assert "no config.json" in refused(BadInputError, resolve_model, str(tmp_path))
    write(tmp_path / "config.json", "{}")
    assert "no weights" in refused(BadInputError, resolve_model, str(tmp_path))
    shards = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    write(tmp_path / "model.safetensors.index.json", json.dumps(shards))
    write(tmp_path / "model-1.safetensors", "x")
    assert "lacks 1 of its weight files, first model-2" in refused(BadInputError, resolve_model, str(tmp_path))
    write(tmp_path / "model-2.safetensors", "x")
    assert resolve_model(str(tmp_path)) == str(tmp_path)


def test_a_name_that_can_be_on_the_hub_is_left_to_the_library() -> None:
    assert resolve_model("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
    assert "does not exist" in refused(BadInputError, resolve_model, "./Qwen3-0.6B")
    assert "not set" in refused(InvalidJobError, resolve_model, "")


# --- the data ------------------------------------------------------------------------------------------------------


def test_lines_of_text_follow_each_other_and_a_file_ends_with_the_end_token(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "ab", "", "c")
    training, _ = find_sources(Data(path=str(path)))
    tokens = tokenise(training, Data(), FakeTokenizer())
    assert tokens.ids == array("i", [*b"ab\n\nc\n", 0])
    assert tokens.examples == 2


def test_each_object_of_jsonl_ends_with_the_end_token_and_the_limit_counts_objects(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"body": "ab"}', "", '{"body": "c"}', '{"body": "d"}')
    settings = Data(path=str(path), text_field="body", limit=2)
    tokens = tokenise(find_sources(settings)[0], settings, FakeTokenizer())
    assert tokens.ids == array("i", [*b"ab", 0, *b"c", 0])
    assert tokens.examples == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{oops", "line 3: not JSON"),
        ("[1]", "line 3: list, not an object"),
        ('{"txt": "x"}', "line 3: has no text in 'text'; its fields: 'txt'"),
        ('{"messages": []}', "no chat template"),
    ],
)
def test_a_damaged_line_of_jsonl_is_named_by_its_number(tmp_path: Path, line: str, words: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}', "", line)
    settings = Data(path=str(path))
    assert words in refused(BadInputError, tokenise, find_sources(settings)[0], settings, FakeTokenizer())


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    settings = Data(path=str(tmp_path))
    assert "not UTF-8" in refused(BadInputError, tokenise, find_sources(settings)[0], settings, FakeTokenizer())


def test_a_folder_gives_its_texts_in_order_without_hidden_and_held_out_ones(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "sub/c.jsonl", "eval.txt", ".hidden/x.txt", "picture.png"):
        write(tmp_path / name, "x")
    training, evaluation = find_sources(Data(path=str(tmp_path), eval_path=str(tmp_path / "eval.txt")))
    assert [source.path.name for source in training] == ["a.md", "b.txt", "c.jsonl"]
    assert [source.format for source in training] == ["text", "text", "jsonl"]
    assert [source.path.name for source in evaluation] == ["eval.txt"]


def test_paths_and_fields_of_data_that_cannot_be(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "x")
    assert "does not exist" in refused(BadInputError, find_sources, Data(path=str(tmp_path / "none")))
    (tmp_path / "empty").mkdir()
    assert "no file of text" in refused(BadInputError, find_sources, Data(path=str(tmp_path / "empty")))
    both = Data(path=str(text), eval_path=str(text))
    assert "nothing besides" in refused(BadInputError, find_sources, both)
    assert "block_size" in refused(InvalidJobError, find_sources, Data(path=str(text), block_size=1))
    assert "eval_fraction" in refused(InvalidJobError, find_sources, Data(path=str(text), eval_fraction=1.0))
    assert "data.format" in refused(InvalidJobError, find_sources, Data(path=str(text), format="csv"))


@pytest.mark.parametrize("count", [1, 2, 3, 19, 100])
@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.05, 0.5, 0.99])
def test_blocks_are_split_without_loss_or_overlap(count: int, fraction: float) -> None:
    training, evaluation = split_blocks(count, fraction)
    assert sorted(training + evaluation) == list(range(count))
    assert training
    assert bool(evaluation) == (fraction > 0 and count > 1)


# --- prompts and results -------------------------------------------------------------------------------------------


def test_prompts_come_from_the_job_a_text_and_jsonl(tmp_path: Path) -> None:
    text = write(tmp_path / "p.txt", "one", "  ", "two")
    assert [p.text for p in read_prompts(Generate(prompts=("zero",), prompts_file=str(text)))] == ["zero", "one", "two"]
    talk = '{"messages": [{"role": "user", "content": "hi"}]}'
    found = read_prompts(Generate(prompts_file=str(write(tmp_path / "p.jsonl", '{"prompt": "a\\nb"}', talk))))
    assert found[0].text == "a\nb"
    assert found[1].messages == ({"role": "user", "content": "hi"},)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: not JSON"),
        ('{"text": "a"}', 'line 2: has neither a text "prompt" nor "messages"'),
        ('{"messages": [{"role": "robot", "content": "a"}]}', "line 2: a message needs"),
        ('{"messages": "hi"}', "line 2: "),
    ],
)
def test_a_damaged_prompt_is_named_by_its_line(tmp_path: Path, line: str, words: str) -> None:
    path = write(tmp_path / "p.jsonl", '{"prompt": "a"}', line)
    assert words in refused(BadInputError, read_prompts, Generate(prompts_file=str(path)))


def test_no_prompt_at_all(tmp_path: Path) -> None:
    assert "no prompt" in refused(InvalidJobError, read_prompts, Generate())
    assert "no prompt" in refused(InvalidJobError, read_prompts, Generate(prompts_file=str(write(tmp_path / "p.txt"))))
    assert "cannot read" in refused(BadInputError, read_prompts, Generate(prompts_file=str(tmp_path / "none.txt")))


def test_results_of_an_earlier_run_are_continued_after_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"index": 0, "text": "a"}\n{"index": 1, "te')
    results = ResultFile(path, resume=True, warn=no_warning)
    assert results.kept == [{"index": 0, "text": "a"}]
    results.append({"index": 1, "text": "ü"})
    results.close()
    assert [json.loads(line)["index"] for line in path.read_text("utf-8").splitlines()] == [0, 1]


def test_results_of_an_earlier_run_are_set_aside_and_never_overwritten(tmp_path: Path) -> None:
    path, told = tmp_path / "r.jsonl", []
    for text in ("first\n", "second\n"):
        path.write_text(text)
        ResultFile(path, resume=False, warn=lambda code, _message: told.append(code)).close()
    assert (tmp_path / "r.jsonl.1").read_text() == "first\n"
    assert (tmp_path / "r.jsonl.2").read_text() == "second\n"
    assert path.read_text() == ""
    assert told == ["results-set-aside"] * 2


# --- checkpoints ---------------------------------------------------------------------------------------------------


def checkpoint(output: Path, step: int, *, leave_out: str = "") -> Path:
    folder = output / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    if leave_out != "state":
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    if leave_out != "weights":
        (folder / "model.safetensors").write_text("x")
    return folder


def test_an_output_folder_means_its_newest_complete_checkpoint(tmp_path: Path) -> None:
    for step in (5, 100):
        checkpoint(tmp_path, step)
    checkpoint(tmp_path, 110, leave_out="weights")
    checkpoint(tmp_path, 120, leave_out="state")
    with pytest.raises(OSError, match="disk"), checkpoints.being_written(checkpoint(tmp_path, 130)):
        raise OSError("the disk is full")
    assert checkpoints.resume_point(tmp_path) == tmp_path / "checkpoint-100"
    assert checkpoints.resume_point(tmp_path / "checkpoint-5") == tmp_path / "checkpoint-5"


def test_a_checkpoint_that_was_written_is_complete(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 5)
    with checkpoints.being_written(folder):
        assert checkpoints.flaw(folder) is not None
    assert checkpoints.flaw(folder) is None


def test_folders_that_cannot_be_gone_on_from_say_why(tmp_path: Path) -> None:
    assert "does not exist" in refused(BadInputError, checkpoints.resume_point, tmp_path / "none")
    assert "holds no checkpoint" in refused(BadInputError, checkpoints.resume_point, tmp_path)
    folder = checkpoint(tmp_path, 7, leave_out="weights")
    assert "it has no weights" in refused(BadInputError, checkpoints.resume_point, folder)
    assert "checkpoint-7: it has no weights" in refused(BadInputError, checkpoints.resume_point, tmp_path)


def test_an_output_folder_belongs_to_one_run(tmp_path: Path) -> None:
    with contextlib.ExitStack() as first:
        first.enter_context(checkpoints.holding(tmp_path, no_warning))
        assert "another live run" in refused(OutputInUseError, checkpoints.holding(tmp_path, no_warning).__enter__)
    with checkpoints.holding(tmp_path, no_warning):
        pass


# --- differences between versions ----------------------------------------------------------------------------------

OLD = {"eval_strategy": "str", "use_cpu": "bool", "gradient_checkpointing": "bool", "warmup_ratio": "float",
       "warmup_steps": "int", "include_num_input_tokens_seen": "Optional[bool]", "logging_dir": "str"}  # fmt: skip
NEW = {"eval_strategy": "str", "use_cpu": "bool", "activation_checkpointing": "bool", "warmup_steps": "float",
       "include_num_input_tokens_seen": "str | bool", "train_sampling_strategy": "str"}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "old", "new"),
    [
        ({"evaluation_strategy": "steps"}, {"eval_strategy": "steps"}, {"eval_strategy": "steps"}),
        ({"no_cuda": True}, {"use_cpu": True}, {"use_cpu": True}),
        (
            {"activation_checkpointing": True},
            {"gradient_checkpointing": True},
            {"activation_checkpointing": True},
        ),
        ({"warmup_ratio": 0.1}, {"warmup_ratio": 0.1}, {"warmup_steps": 0.1}),
        ({"warmup_steps": 0.1}, {"warmup_ratio": 0.1}, {"warmup_steps": 0.1}),
        ({"warmup_steps": 5.0}, {"warmup_steps": 5}, {"warmup_steps": 5.0}),
        ({"warmup_ratio": 0.1, "warmup_steps": 5}, {"warmup_ratio": 0.1, "warmup_steps": 5}, {"warmup_steps": 5}),
        (
            {"include_num_input_tokens_seen": "all"},
            {"include_num_input_tokens_seen": True},
            {"include_num_input_tokens_seen": "all"},
        ),
        (
            {"include_num_input_tokens_seen": "no"},
            {"include_num_input_tokens_seen": False},
            {"include_num_input_tokens_seen": "no"},
        ),
    ],
)
def test_arguments_of_any_version_reach_the_installed_one(
    given: dict[str, Any], old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert compatibility.translate(given, OLD, no_warning) == old
    assert compatibility.translate(given, NEW, no_warning) == new


def test_arguments_that_newer_versions_dropped_are_left_out_with_a_warning() -> None:
    told: list[str] = []
    given = {"logging_dir": "x", "overwrite_output_dir": True}
    assert compatibility.translate(given, NEW, lambda _code, message: told.append(message)) == {}
    assert "TENSORBOARD_LOGGING_DIR" in told[0]
    assert len(told) == 2
    assert compatibility.translate({"group_by_length": True}, NEW, no_warning) == {
        "train_sampling_strategy": "group_by_length"
    }


def test_unknown_and_reserved_arguments_say_what_to_use() -> None:
    wrong = {"evalstrategy": "steps"}
    assert "did you mean 'eval_strategy'" in refused(
        UnknownArgumentError, compatibility.translate, wrong, NEW, no_warning
    )
    for name in compatibility.OURS:
        assert "cannot be set" in refused(InvalidJobError, compatibility.translate, {name: 1}, NEW, no_warning)
    twice = {"evaluation_strategy": "no", "eval_strategy": "no"}
    assert "twice" in refused(InvalidJobError, compatibility.translate, twice, NEW, no_warning)


def test_versions_compare_as_numbers() -> None:
    assert compatibility.numbers("4.51.3") == (4, 51)
    assert compatibility.numbers("5.0.0.dev0") == (5, 0)
    assert compatibility.LOWEST <= (4, 51) < (4, 100) < compatibility.BELOW
