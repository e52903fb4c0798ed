"""The pre-flight of runs on Gaudi: each missing condition by its own name, and what the guide prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from accel_tui.jobs import facts
from accel_tui.jobs.checks import examine
from accel_tui.model.plans import Check, CheckLevel
from support import gaudi_nodes, hosts
from support.planning import planned
from support.world import SOURCE
from unit.jobs.test_job_checks import STACK, job, script

PASS, WARNING, REFUSAL, UNKNOWN = CheckLevel.PASS, CheckLevel.WARNING, CheckLevel.REFUSAL, CheckLevel.UNKNOWN
HPU: dict[str, Any] = {
    "packages": {"habana_frameworks": True, "habana_frameworks.torch": True}, "plugin": None, "known": True,
    "available": True, "transformers": True, "accelerate": True, "hccl": None,
}  # fmt: skip
DEEP: dict[str, Any] = {
    "devices": {"hpu": 8}, "backends": {"hccl": True}, "bf16": {"hpu": True}, "errors": {}, "hpu": HPU,
    "training_device": "hpu:0", "opened": [],
}  # fmt: skip


def checked(
    folder: Path, *, packages: dict[str, str] | None = None, given: dict[str, Any] | None = None,
    select: str = "gaudi:0,1", config: dict[str, Any] | None = None, card: dict[str, Any] | None = None,
    kind: str = "train", **deep: Any,
) -> dict[str, Check]:  # fmt: skip
    """Checks of a training by an interpreter whose torch answers `DEEP` with changes."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(config or {}))
    (folder / "text.txt").write_text("Some text.\n")
    answer = {"schema": 1, "python": "3.11.9", "packages": {**STACK, **(packages or {})}, **DEEP, **deep}
    script(folder, f"cat <<'END'\n{json.dumps(answer)}\nEND\n")
    wanted = job(folder, kind, **{"launch": {"launcher": "torchrun"}, **(given or {})})
    base = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    server = hosts.gaudi_server(**{"driver_version": "1.22.1-0a1b2c3", **(card or {})})
    made = planned(wanted, select, server, base, port=29501)
    return {check.id: check for check in (*made.checks, *examine(wanted, made, base))}


def test_a_sound_host_shows_what_the_guide_prints(tmp_path: Path) -> None:
    found = checked(tmp_path)
    names = ("torch-devices", "training-device", "collectives", "gaudi-release")
    assert {found[name].level for name in names} == {PASS}
    message = found["torch-devices"].message
    assert "is_torch_hpu_available() True, torch.hpu.device_count() 8" in message
    assert "2 picked by HABANA_VISIBLE_MODULES=0,1" in message
    assert found["training-device"].message == "TrainingArguments.device is hpu:0"
    whole = checked(tmp_path, select="gaudi:0-7")
    assert "as many as picked" in whole["torch-devices"].message


@pytest.mark.parametrize(
    ("changes", "identity", "level", "words"),
    [
        ({"hpu": {**HPU, "packages": {"habana_frameworks": False}}}, "hpu-packages", REFUSAL, "habana_frameworks"),
        ({"hpu": {**HPU, "packages": {"habana_frameworks": True, "habana_frameworks.torch": False}}}, "hpu-packages",
         REFUSAL, "habana_frameworks.torch cannot be found"),
        ({"hpu": {**HPU, "plugin": "OSError: libSynapse.so"}}, "hpu-plugin", REFUSAL, "OSError: libSynapse.so"),
        ({"hpu": {**HPU, "known": False}}, "hpu-plugin", REFUSAL, "no torch.hpu"),
        ({"hpu": {**HPU, "available": False}, "devices": {"hpu": 0}}, "hpu-driver", REFUSAL, "device_count() is 0"),
        ({"devices": {"hpu": 0}, "errors": {"hpu": "RuntimeError: synStatus=8"}}, "hpu-driver", REFUSAL, "synStatus=8"),
        ({"hpu": {**HPU, "transformers": False}}, "hpu-library", REFUSAL, "is_torch_hpu_available() False"),
        ({"hpu": {**HPU, "accelerate": False}}, "hpu-library", REFUSAL, "is_hpu_available() False"),
        ({"packages": {"accelerate": "1.4.0"}}, "accelerate-version", REFUSAL, "accelerate 1.4.0"),
        ({"packages": {"habana-torch-plugin": None}}, "torch-stack", REFUSAL, "lacks habana-torch-plugin"),
        ({"errors": {"torch": "ImportError: x"}, "hpu": None}, "hpu-torch", REFUSAL, "ImportError: x"),
        ({"hpu": None}, "torch-devices", UNKNOWN, "says nothing of Gaudi"),
        ({"devices": {"hpu": 1}}, "torch-devices", REFUSAL, "device_count() 1, and 2 are picked"),
        ({"training_device": "cpu"}, "training-device", REFUSAL, "is cpu, not hpu"),
        ({"training_device": None, "errors": {"training": "X"}}, "training-device", WARNING, "X"),
        ({"opened": ["/dev/accel/accel3"]}, "card-touched", WARNING, "/dev/accel/accel3"),
        ({"hpu": {**HPU, "hccl": "ImportError: y"}}, "collectives", REFUSAL, "ImportError: y"),
        ({"card": {"driver_version": "1.24.0-1"}}, "gaudi-release", REFUSAL, "of release 1.22, the driver of 1.24"),
        ({"card": {"driver_version": "6.17.0"}}, "gaudi-release", UNKNOWN, "not known"),
        ({"card": {"details": {"firmware": "hl-gaudi3-1.20.0-fw-58.0.0-sec-9"}}}, "gaudi-firmware", WARNING, "1.20"),
        ({"card": {"name": "HL-205"}, "given": {"train": {"arguments": {"fp16": True}}}}, "precision", REFUSAL,
         "no float16"),
        ({"card": {"name": "HL-205"}, "given": {"model": {"dtype": "float16"}}}, "precision", REFUSAL, "float16"),
        ({"given": {"train": {"arguments": {"bf16": True}}}}, "bf16", PASS, "bfloat16"),
        ({"given": {"train": {"arguments": {"optim": "adamw_bnb_8bit"}}}}, "quantization", REFUSAL, "8-bit"),
        ({"given": {"model": {"attn_implementation": "flash_attention_2"}}}, "attention", REFUSAL, "no kernel"),
        ({"given": {"train": {"arguments": {"torch_compile_backend": "inductor"}}}}, "compile-backend", WARNING,
         "replaced by hpu_backend"),
    ],
)  # fmt: skip
def test_each_finding_has_a_name_of_its_own(
    tmp_path: Path, changes: dict[str, Any], identity: str, level: CheckLevel, words: str
) -> None:
    found = checked(tmp_path, **changes)[identity]
    assert found.level is level
    assert words in found.message
    assert found.remedy or level is not REFUSAL


@pytest.mark.parametrize("name", ["HL-225", "HL-325L"])
def test_later_generations_have_both_half_precisions(tmp_path: Path, name: str) -> None:
    found = checked(tmp_path, card={"name": name}, given={"train": {"arguments": {"fp16": True}}})
    assert "precision" not in found


@pytest.mark.parametrize(
    ("config", "name", "level"),
    [
        ({"load_in_8bit": True}, "HL-225", PASS),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "HL-325L", PASS),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "fp4"}, "HL-325L", REFUSAL),
        ({"load_in_4bit": True}, "HL-325L", REFUSAL),
        ({"load_in_8bit": True}, "HL-205", REFUSAL),
    ],
)
def test_a_quantized_model_by_generation(tmp_path: Path, config: dict[str, Any], name: str, level: CheckLevel) -> None:
    quantization = {"quantization_config": {"quant_method": "bitsandbytes", **config}}
    assert checked(tmp_path, config=quantization, card={"name": name})["quantization"].level is level


def test_a_hanging_plugin_costs_the_answer_and_not_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "DEEP_DEADLINE_SECONDS", 0.5)
    checked(tmp_path)
    quick = json.dumps({"schema": 1, "python": "3.11.9", "packages": STACK})
    script(tmp_path, f"case \"$*\" in *--deep*) exec sleep 600;; esac\ncat <<'END'\n{quick}\nEND\n")
    wanted = job(tmp_path, launch={"launcher": "torchrun"})
    base = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    found = {check.id: check for check in examine(wanted, planned(wanted, "gaudi:0", hosts.gaudi_server(), base), base)}
    assert found["torch-devices"].level is UNKNOWN
    assert "did not answer within" in found["torch-devices"].message


@pytest.mark.torch
def test_the_libraries_are_asked_and_no_card_is_taken(tmp_path: Path, torch_python: str) -> None:
    """Real torch, transformers and accelerate with the stand-in for the Gaudi software."""
    nodes = gaudi_nodes.make(tmp_path)
    path = f"{SOURCE}:{gaudi_nodes.STACK}"
    environment = {**os.environ, **nodes.environment(4, 5), "PYTHONPATH": path, "HABANA_LOGS": str(tmp_path / "never")}
    told = facts.facts(torch_python, environment, deep=True, training=True)
    assert told.fault is None
    assert told.document["hpu"] == HPU
    assert told.document["devices"]["hpu"] == 4, "the machine's cards, whatever the list says"
    assert told.document["training_device"] == "hpu:0"
    assert told.document["opened"] == []
    assert not nodes.said("acquired")
    assert not nodes.said("set_device")
    assert not (tmp_path / "never").exists()
