"""Kind `generate` on a real model, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accel_tui_worker.errors import BadInputError, DeviceMismatchError, InvalidJobError, UnknownArgumentError
from accel_tui_worker.generate import generate
from accel_tui_worker.run import StoppedError
from support.working import MakeJob, context, of

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="these tests run the worker in this process, which has no torch stack")


def results(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "artefacts/results.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_prompts_are_answered_in_order_with_consistent_figures(
    tmp_path: Path, generate_job: MakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    job = generate_job(generate={"prompts": ["What is a class?", "Überlegung"]})
    figures = generate(context(tmp_path, job))
    found, told = results(tmp_path), of("generation", tmp_path)
    assert [line["prompt"] for line in found] == ["What is a class?", "Überlegung"]
    for line, event in zip(found, told, strict=True):
        assert event["new_tokens"] == line["new_tokens"] == 6
        assert event["index"] == line["index"]
        first, prefill = event["time_to_first_token_seconds"], event["prefill_tokens_per_second"]
        assert first > 0
        assert prefill == pytest.approx(event["prompt_tokens"] / first, rel=0.01)
        assert event["decode_tokens_per_second"] > 0
    assert figures["prompts"] == 2
    assert figures["new_tokens"] == 12
    device = of("device", tmp_path)[0]
    assert device["device"] == "cpu"
    assert device["dtype"] == "float32"
    assert device["parameters"] == 1049984
    assert [event["phase"] for event in of("phase", tmp_path)] == ["importing", "loading", "generating"]
    printed = capsys.readouterr().out
    assert all(line["text"] in printed for line in found)
    assert "[2/2] Überlegung" in printed


def test_streamed_text_is_the_recorded_text(
    tmp_path: Path, generate_job: MakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {"max_new_tokens": 60, "min_new_tokens": 60, "do_sample": True, "temperature": 2.0}
    printed = {}
    for stream in (True, False):
        folder = tmp_path / str(stream)
        generate(context(folder, generate_job(generate={"stream": stream, "chat": "no"}, **arguments)))
        printed[stream] = capsys.readouterr().out
        assert results(folder)[0]["text"] in printed[stream]
    assert printed[True] == printed[False]


def test_a_seed_decides_the_text_and_a_continued_run_gives_the_same(tmp_path: Path, generate_job: MakeJob) -> None:
    prompts = {"prompts": ["a class", "a name", "a value"]}
    texts = {}
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        generate(context(tmp_path / name, generate_job(generate={**prompts, "seed": seed}, do_sample=True)))
        texts[name] = [line["text"] for line in results(tmp_path / name)]
    assert texts["first"] == texts["again"] != texts["other"]
    file = tmp_path / "first/artefacts/results.jsonl"
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:1]) + '{"index": 1, "pro', "utf-8")
    job = {**generate_job(generate={**prompts, "seed": 1}, do_sample=True), "launch": {"resume": "last"}}
    generate(context(tmp_path / "first", job))
    assert [line["text"] for line in results(tmp_path / "first")] == texts["first"]
    assert [event["index"] for event in of("generation", tmp_path / "first")] == [0, 1, 2, 1, 2]
    changed = {**job, "generate": {**job["generate"], "prompts": ["something else"]}}
    with pytest.raises(BadInputError, match="results of other prompts"):
        generate(context(tmp_path / "first", changed))


def test_the_chat_template_is_used_unless_told_otherwise(tmp_path: Path, generate_job: MakeJob) -> None:
    tokens = {}
    for name, extra in {"auto": {}, "no": {"chat": "no"}, "system": {"system": "Answer briefly."}}.items():
        generate(context(tmp_path / name, generate_job(generate=extra)))
        tokens[name] = results(tmp_path / name)[0]["prompt_tokens"]
    assert tokens["no"] < tokens["auto"] < tokens["system"]
    talk = [{"role": "user", "content": "What is a class?"}]
    (tmp_path / "p.jsonl").write_text(json.dumps({"messages": talk}) + "\n")
    file = {"prompts": [], "prompts_file": str(tmp_path / "p.jsonl")}
    generate(context(tmp_path / "talk", generate_job(generate=file)))
    assert results(tmp_path / "talk")[0]["prompt_tokens"] == tokens["auto"]
    assert results(tmp_path / "talk")[0]["prompt"] == talk


def test_beam_search_has_no_streamed_figures(tmp_path: Path, generate_job: MakeJob) -> None:
    generate(context(tmp_path, generate_job(num_beams=2)))
    event = of("generation", tmp_path)[0]
    assert event["new_tokens"] == 6
    assert event["time_to_first_token_seconds"] is None


def test_a_signal_ends_it_and_keeps_what_is_done(tmp_path: Path, generate_job: MakeJob) -> None:
    made = context(tmp_path, generate_job(generate={"prompts": ["a class", "a name"]}))
    original = made.events.emit

    def emit(event: str, **fields: Any) -> None:
        original(event, **fields)
        made.stop.requested = event == "generation"

    made.events.emit = emit  # type: ignore[method-assign]  # the moment of the signal: after the first answer
    with pytest.raises(StoppedError):
        generate(made)
    assert [line["index"] for line in results(tmp_path)] == [0]


@pytest.mark.parametrize(
    ("extra", "arguments", "error", "words"),
    [
        ({}, {"max_new_token": 3}, UnknownArgumentError, "did you mean 'max_new_tokens'"),
        ({}, {"num_return_sequences": 2}, InvalidJobError, "repeat the prompt"),
        ({"chat": "perhaps"}, {}, InvalidJobError, "generate.chat"),
        ({"chat": "no", "system": "x"}, {}, InvalidJobError, "generate.system"),
        ({"chat": "no", "prompts": [""]}, {}, BadInputError, "empty"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, generate_job: MakeJob, extra: Any, arguments: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        generate(context(tmp_path, generate_job(generate=extra, **arguments)))


def test_a_device_that_torch_does_not_see_is_refused(tmp_path: Path, generate_job: MakeJob) -> None:
    with pytest.raises(DeviceMismatchError, match="device xpu was asked for, and this torch sees 0"):
        generate(context(tmp_path / "xpu", generate_job(), device="xpu"))
    with pytest.raises(InvalidJobError, match="no torch device"):
        generate(context(tmp_path / "none", generate_job(), device="gpu"))


def test_a_prompt_longer_than_the_model_is_told(tmp_path: Path, generate_job: MakeJob) -> None:
    generate(context(tmp_path, generate_job(generate={"prompts": ["word " * 500]})))
    assert [event["code"] for event in of("warning", tmp_path)] == ["context-exceeded"]
