"""Checks of a job against the host and against its interpreter."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from accel_tui.config.settings import Settings
from accel_tui.jobs import facts
from accel_tui.jobs.checks import examine
from accel_tui.jobs.planning import plan
from accel_tui.jobs.session import load_session
from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.plans import Check, CheckLevel
from support import hosts

STACK = {"torch": "2.13.0+cpu", "transformers": "5.24.0", "accelerate": "1.15.0", "habana-torch-plugin": "1.22.0"}
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"\x08" + b"\0" * 63)
    (folder / "tokenizer.json").write_text("{}")
    (tmp_path / "text.txt").write_text("Some text.\n")
    return folder


def interpreter(folder: Path, packages: dict[str, str | None] | None = None, python: str = "3.11.9") -> Path:
    """A stand-in that answers like an interpreter with these packages."""
    answer = json.dumps({"schema": 1, "python": python, "packages": STACK if packages is None else packages})
    return script(folder, f"cat <<'END'\n{answer}\nEND\n")


def script(folder: Path, text: str) -> Path:
    file = folder / "env" / "bin" / "python"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(0o755)
    facts.forget()
    return file


def job(folder: Path, kind: str = "train", **changes: Any) -> Job:
    tables: dict[str, dict[str, Any]] = {
        "train": {"model": {"path": str(folder / "model")}, "data": {"path": str(folder / "text.txt")}},
        "generate": {"model": {"path": str(folder / "model")}, "generate": {"prompts": ["Hello"]}},
        "command": {"command": {"argv": ["true"]}},
    }
    document: dict[str, Any] = {"name": "x", "kind": kind, **tables[kind]}
    for key, value in changes.items():
        document[key] = {**document.get(key, {}), **value}
    document.setdefault("launch", {}).setdefault("python", str(folder / "env" / "bin" / "python"))
    return parse_job(document)


def checked(folder: Path, given: Job, select: str = "cpu", *, execute: bool = True) -> dict[str, Check]:
    base = {"PATH": os.environ["PATH"]}
    inventory = hosts.inventory(hosts.gaudi(0), hosts.xpu(0), hosts.xpu(1))
    made = plan(
        given, select=select, inventory=inventory, base=base, cwd=str(folder), folder=str(folder / "run"),
        identifier="20260131-124107-abcd", settings=Settings(),
    )  # fmt: skip
    return {check.id: check for check in examine(given, made, base, execute=execute)}


def test_a_sound_job_passes(tmp_path: Path, model: Path) -> None:
    interpreter(tmp_path)
    found = checked(tmp_path, job(tmp_path))
    assert {check.level for check in found.values()} == {CheckLevel.PASS}
    assert {"model", "data", "interpreter", "torch-stack"} <= set(found)
    assert "transformers 5.24.0" in found["torch-stack"].message


def damaged(name: str, content: bytes | None) -> Any:
    def damage(folder: Path) -> None:
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)

    return damage


INDEX = json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()


@pytest.mark.parametrize(
    ("damage", "identity", "message"),
    [
        (damaged("model/config.json", None), "model", "no config.json"),
        (damaged("model/config.json", b"{"), "model", "not a JSON object"),
        (damaged("model/model.safetensors", None), "model-weights", "no weights"),
        (damaged("model/model.safetensors", b""), "model-weights", "is empty"),
        (
            damaged("model/model.safetensors", b"version https://git-lfs.github.com/spec/v1\n"),
            "model-weights",
            "Git LFS",
        ),
        (damaged("model/model.safetensors.index.json", INDEX), "model-weights", "lacks 2 of its weight files"),
        (damaged("model/tokenizer.json", None), "model-tokenizer", "no tokenizer"),
        (damaged("text.txt", b" \n\n"), "data", "is empty"),
        (damaged("text.txt", None), "data", "does not exist"),
    ],
)
def test_what_is_missing_is_refused_with_its_name(
    tmp_path: Path, model: Path, damage: Any, identity: str, message: str
) -> None:
    damage(tmp_path)
    found = checked(tmp_path, job(tmp_path), execute=False)[identity]
    assert found.level is CheckLevel.REFUSAL
    assert message in found.message
    assert found.remedy


@pytest.mark.parametrize(
    ("changes", "identity", "level"),
    [
        ({"model": {"path": "/nowhere/model"}}, "model", CheckLevel.REFUSAL),
        ({"model": {"path": "org/name"}}, "model-hub", CheckLevel.WARNING),
        ({"model": {"trust_remote_code": True}}, "remote-code", CheckLevel.ASK),
        ({"data": {"eval_path": "/nowhere/text"}}, "data-eval", CheckLevel.REFUSAL),
        ({"train": {"resume_from": "/nowhere"}}, "resume", CheckLevel.REFUSAL),
        ({"launch": {"cwd": "/nowhere"}}, "cwd", CheckLevel.REFUSAL),
        ({"launch": {"python": "/nowhere/python"}}, "interpreter", CheckLevel.REFUSAL),
        ({"train": {"output": "/proc/self/status"}}, "output", CheckLevel.REFUSAL),
    ],
)
def test_a_wrong_path_is_told(
    tmp_path: Path, model: Path, changes: dict[str, Any], identity: str, level: CheckLevel
) -> None:
    assert checked(tmp_path, job(tmp_path, **changes), execute=False)[identity].level is level


@pytest.mark.parametrize(
    ("line", "message"), [("{", "is not JSON"), ("[1]", "not a JSON object"), ('{"body": "x"}', "has no 'text'")]
)
def test_json_lines_are_looked_into(tmp_path: Path, model: Path, line: str, message: str) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(f"\n{line}\n")
    found = checked(tmp_path, job(tmp_path, data={"path": str(file)}), execute=False)["data"]
    assert f"{file}:2: " in found.message
    assert message in found.message


def test_missing_packages_come_with_the_command_that_installs_them(tmp_path: Path, model: Path) -> None:
    python = interpreter(tmp_path, {"torch": None, "transformers": None, "accelerate": None})
    found = checked(tmp_path, job(tmp_path))["torch-stack"]
    assert found.level is CheckLevel.REFUSAL
    index = "--index-url https://download.pytorch.org/whl"
    rest = f'{python} -m pip install "transformers>=4.51,<6" "accelerate>=1.5"'
    assert found.remedy == f"{python} -m pip install torch {index}/cpu && {rest}"
    assert "Gaudi installer" in str(checked(tmp_path, job(tmp_path), "gaudi:0")["torch-stack"].remedy)
    assert f"torch {index}/xpu && " in str(checked(tmp_path, job(tmp_path), "xpu:0")["torch-stack"].remedy)
    assert "torch-stack" not in checked(tmp_path, job(tmp_path, "command"))


@pytest.mark.parametrize(
    ("packages", "select", "launch", "identity"),
    [
        ({"transformers": "4.50.3"}, "cpu", {}, "transformers-version"),
        ({"transformers": "6.0.0"}, "cpu", {}, "transformers-version"),
        ({"accelerate": "1.4.0"}, "gaudi:0", {}, "accelerate-version"),
        ({"torch": "2.6.0+xpu"}, "xpu:0,1", {"launcher": "torchrun"}, "torch-version"),
    ],
)
def test_releases_outside_the_range_are_refused(
    tmp_path: Path, model: Path, packages: dict[str, str | None], select: str, launch: dict[str, Any], identity: str
) -> None:
    interpreter(tmp_path, {**STACK, **packages})
    assert checked(tmp_path, job(tmp_path, launch=launch), select)[identity].level is CheckLevel.REFUSAL


def test_arguments_are_checked_against_the_installed_release(tmp_path: Path, model: Path) -> None:
    given = job(tmp_path, train={"arguments": {"warmup_ratio": 0.1, "max_steps": 1}})
    interpreter(tmp_path)
    found = checked(tmp_path, given)["arguments"]
    assert "warmup_ratio" in found.message
    assert "5.24.0" in found.message
    interpreter(tmp_path, {**STACK, "transformers": "4.55.4"})
    assert "arguments" not in checked(tmp_path, given)


@pytest.mark.parametrize(
    ("text", "message"),
    [("exit 3", "ended with code 3"), ("echo no", "cannot be read"), ("echo broken >&2; exit 1", "code 1: broken")],
)
def test_an_interpreter_that_does_not_work_is_told(tmp_path: Path, model: Path, text: str, message: str) -> None:
    script(tmp_path, text)
    found = checked(tmp_path, job(tmp_path))["torch-stack"]
    assert found.level is CheckLevel.REFUSAL
    assert message in found.message


def test_a_silent_interpreter_is_ended_in_time(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "DEADLINE_SECONDS", 0.2)
    script(tmp_path, "sleep 1000 & sleep 1000")
    assert "did not answer" in checked(tmp_path, job(tmp_path))["torch-stack"].message


def test_an_endless_answer_is_cut(tmp_path: Path, model: Path) -> None:
    script(tmp_path, "yes")
    assert "talks without an end" in checked(tmp_path, job(tmp_path))["torch-stack"].message


def test_an_interpreter_that_others_may_write_is_asked_about_and_not_run(tmp_path: Path, model: Path) -> None:
    python = script(tmp_path, f"touch {tmp_path}/ran")
    python.chmod(0o777)
    found = checked(tmp_path, job(tmp_path))
    assert found["interpreter-shared"].level is CheckLevel.ASK
    assert found["torch-stack"].level is CheckLevel.UNKNOWN
    assert not (tmp_path / "ran").exists()


def test_a_plan_for_showing_executes_nothing(tmp_path: Path, model: Path) -> None:
    script(tmp_path, f"touch {tmp_path}/ran")
    assert "torch-stack" not in checked(tmp_path, job(tmp_path), execute=False)
    assert not (tmp_path / "ran").exists()


def test_answers_are_remembered_until_the_interpreter_changes(tmp_path: Path) -> None:
    python = script(tmp_path, f'echo x >> {tmp_path}/asked; echo \'{{"python": "3.11.9", "packages": {{}}}}\'')
    for _ in range(3):
        assert facts.facts(str(python), {"PATH": os.environ["PATH"]}).python == "3.11.9"
    assert (tmp_path / "asked").read_text() == "x\n"


def test_this_interpreter_tells_its_packages() -> None:
    told = facts.facts(sys.executable, dict(os.environ))
    assert told.fault is None
    assert told.python is not None


def test_a_missing_program_is_warned_about_and_goes_on(tmp_path: Path) -> None:
    given = parse_job({"name": "x", "kind": "command", "command": {"argv": ["no-such-program-here"]}})
    assert checked(tmp_path, given)["program"].level is CheckLevel.WARNING
    assert "program" not in checked(tmp_path, job(tmp_path, "command"))


def test_half_precision_on_the_cpu_is_refused(tmp_path: Path, model: Path) -> None:
    interpreter(tmp_path)
    given = job(tmp_path, train={"arguments": {"fp16": True}})
    assert checked(tmp_path, given)["precision"].level is CheckLevel.REFUSAL
    assert "precision" not in checked(tmp_path, job(tmp_path, train={"arguments": {"bf16": True}}))


@pytest.mark.parametrize("file", sorted((REPOSITORY / "sessions").glob("*.toml")), ids=lambda file: file.name)
def test_shipped_sessions_are_valid(file: Path) -> None:
    assert load_session(file).jobs
