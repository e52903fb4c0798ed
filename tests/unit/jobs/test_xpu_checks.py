"""The pre-flight of runs on Intel GPUs: what torch sees there, what it has, and whether nodes open."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from accel_tui.config.settings import Settings
from accel_tui.jobs import facts, nodes, xpu_checks
from accel_tui.jobs.checks import examine
from accel_tui.model.devices import Inventory
from accel_tui.model.plans import Check, CheckLevel
from support import hosts
from support.planning import planned
from support.world import SOURCE
from unit.jobs.test_job_checks import STACK, job, script

KEYS = [hosts.xpu(0).key, hosts.xpu(2).key]
CARD = {"name": "Arc Pro B60", "driver_version": "1.6.33578", "bf16_native": True}
XPU: dict[str, Any] = {
    "compiled": True, "available": True, "counted_before": 2, "libraries": {"loader": "1.20.6", "driver": "1.6.33578"},
    "cards": [{**CARD, "key": key} for key in KEYS],
}  # fmt: skip
DEEP: dict[str, Any] = {
    "devices": {"xpu": 2}, "backends": {"xccl": True}, "bf16": {"xpu": True}, "errors": {}, "xpu": XPU,
    "training_device": "xpu:0", "kernels_range": ">=0.18.2,<0.19",
}  # fmt: skip


def checked(
    folder: Path, *, packages: dict[str, str] | None = None, server: Inventory | None = None, settings: Any = None,
    given: dict[str, Any] | None = None, select: str = "xpu:0,2", base: dict[str, str] | None = None, **deep: Any,
) -> dict[str, Check]:  # fmt: skip
    """Checks of a two-rank training by an interpreter whose torch answers `DEEP` with changes."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2}
    (model / "config.json").write_text(json.dumps(heads))
    (folder / "text.txt").write_text("Some text.\n")
    answer = {"schema": 1, "python": "3.11.9", "packages": {**STACK, **(packages or {})}, **DEEP, **deep}
    script(folder, f"cat <<'END'\n{json.dumps(answer)}\nEND\n")
    document = {"launch": {"launcher": "torchrun"}, **(given or {})}
    wanted = job(folder, **document)
    base = {"PATH": os.environ["PATH"], "HOME": str(folder), **(base or {})}
    made = planned(wanted, select, server or hosts.xpu_server(), base, settings=settings or Settings(), port=29501)
    return {check.id: check for check in examine(wanted, made, base)}


def test_a_sound_host_shows_what_the_guide_prints(tmp_path: Path) -> None:
    found = checked(tmp_path)
    shown = {name: found[name] for name in ("torch-devices", "training-device", "collectives", "level-zero")}
    assert {check.level for check in shown.values()} == {CheckLevel.PASS}
    assert "torch.xpu.is_available() True, device_count() 2, as many as picked" in shown["torch-devices"].message
    assert shown["training-device"].message == "TrainingArguments.device is xpu:0"
    assert "loader 1.20.6, driver 1.6.33578" in shown["level-zero"].message


@pytest.mark.parametrize(
    ("changes", "identity", "level", "words"),
    [
        ({"xpu": {**XPU, "compiled": False}}, "torch-devices", CheckLevel.REFUSAL, "not built for Intel GPUs"),
        ({"devices": {"xpu": 1}}, "torch-devices", CheckLevel.REFUSAL, "device_count() 1 under ZE_AFFINITY_MASK=0,2"),
        (
            {"devices": {"xpu": 0}, "errors": {"xpu": "RuntimeError: No XPU devices are available."}},
            "torch-devices",
            CheckLevel.REFUSAL,
            "No XPU devices",
        ),
        (
            {"xpu": {**XPU, "cards": [{**CARD, "key": KEYS[0]}, {**CARD, "key": hosts.xpu(1).key}]}},
            "torch-devices",
            CheckLevel.REFUSAL,
            f"xpu:1 is {hosts.xpu(1).key} in place of {KEYS[1]}",
        ),
        ({"xpu": {**XPU, "counted_before": 1}}, "torch-count", CheckLevel.WARNING, "counts 1 devices"),
        ({"training_device": "cpu"}, "training-device", CheckLevel.REFUSAL, "is cpu"),
        ({"training_device": None, "errors": {"training": "X"}}, "training-device", CheckLevel.WARNING, "X"),
        ({"backends": {"xccl": False}}, "collectives", CheckLevel.REFUSAL, "train apart"),
        ({"packages": {"pyzes": "0.1.1"}}, "pyzes-version", CheckLevel.WARNING, "0.1.1"),
        (
            {"packages": {"intel-extension-for-pytorch": "2.8.10"}},
            "torch-extension",
            CheckLevel.WARNING,
            "no longer maintained",
        ),
        ({"packages": {"torch": "2.7.1+xpu"}}, "attention", CheckLevel.WARNING, "grouped queries"),
    ],
)
def test_what_is_wrong_with_the_stack_is_told(
    tmp_path: Path, changes: dict[str, Any], identity: str, level: CheckLevel, words: str
) -> None:
    found = checked(tmp_path, **changes)[identity]
    assert found.level is level
    assert words in found.message
    assert found.remedy


def test_where_torch_sees_no_card_nothing_else_is_blamed(tmp_path: Path) -> None:
    found = checked(tmp_path, devices={"xpu": 0}, training_device="cpu")
    assert found["torch-devices"].level is CheckLevel.REFUSAL
    assert "training-device" not in found


@pytest.mark.parametrize(
    ("deep", "level"),
    [
        ({}, CheckLevel.PASS),
        ({"bf16": {"xpu": False}}, CheckLevel.REFUSAL),
        ({"xpu": {**XPU, "cards": [{**card, "bf16_native": False} for card in XPU["cards"]]}}, CheckLevel.WARNING),
    ],
)
def test_bfloat16_is_looked_at_when_asked_for(tmp_path: Path, deep: dict[str, Any], level: CheckLevel) -> None:
    assert "bf16" not in checked(tmp_path, **deep)
    assert checked(tmp_path, given={"train": {"arguments": {"bf16": True}}}, **deep)["bf16"].level is level


@pytest.mark.parametrize(
    ("wanted", "kernels", "offline", "level"),
    [
        ("sdpa", None, False, None),
        ("eager", None, False, None),
        ("flash_attention_2", None, False, CheckLevel.REFUSAL),
        ("flash_attention_2", "0.17.2", False, CheckLevel.REFUSAL),
        ("flash_attention_2", "0.18.4", True, CheckLevel.REFUSAL),
        ("flash_attention_2", "0.18.4", False, CheckLevel.PASS),
        ("flash_attention_3", "0.18.4", False, CheckLevel.REFUSAL),
        ("kernels-community/flash-attn2", "0.18.4", False, CheckLevel.PASS),
        ("kernels-community/flash-attn3", "0.18.4", False, CheckLevel.REFUSAL),
    ],
)
def test_attention_that_is_not_there_is_refused(
    tmp_path: Path, wanted: str, kernels: str | None, offline: bool, level: CheckLevel | None
) -> None:
    if not offline:
        (tmp_path / ".cache/huggingface/hub/models--kernels-community--flash-attn2").mkdir(parents=True)
    packages = {} if kernels is None else {"kernels": kernels}
    given = {"model": {"attn_implementation": wanted}}
    found = checked(tmp_path, packages=packages, given=given).get("attention")
    assert (found and found.level) is level


def test_an_old_driver_beside_an_integrated_gpu_is_asked_about(tmp_path: Path) -> None:
    old = {**XPU, "libraries": {"driver": "1.3.26241"}}
    server = hosts.inventory(hosts.integrated_gpu(), hosts.xpu(0), hosts.xpu(1), hosts.xpu(2))
    assert checked(tmp_path, server=server, xpu=old)["driver-order"].level is CheckLevel.ASK
    assert "driver-order" not in checked(tmp_path, xpu=old), "there the order variable makes it sort"
    assert "driver-order" not in checked(tmp_path, server=server)


def test_an_old_driver_that_knows_no_tiles_is_asked_about(tmp_path: Path) -> None:
    old = {**XPU, "libraries": {"driver": "1.3.26800"}, "cards": []}
    tiles: dict[str, Any] = {"server": hosts.max_server(), "select": "xpu:0.0,0.1", "xpu": old}
    assert checked(tmp_path, **tiles)["driver-tiles"].level is CheckLevel.ASK
    assert "driver-tiles" not in checked(tmp_path, xpu=old)


def test_without_time_torch_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    answer = json.dumps({"schema": 1, "python": "3.11.9", "packages": STACK})
    script(tmp_path, f"case \"$*\" in *--deep*) touch {tmp_path}/deep;; esac\necho '{answer}'\n")
    wanted, base = job(tmp_path), {"PATH": os.environ["PATH"]}
    made = planned(wanted, "xpu:0", hosts.xpu_server(), base)
    assert "torch-devices" not in {check.id for check in examine(wanted, made, base, deep=False)}
    assert not (tmp_path / "deep").exists()
    assert "torch-devices" in {check.id for check in examine(wanted, made, base)}
    assert (tmp_path / "deep").exists()


def test_a_torch_that_hangs_is_given_up_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "DEEP_DEADLINE_SECONDS", 0.3)
    model = {"schema": 1, "python": "3.11.9", "packages": STACK}
    wanted = job(tmp_path)
    (tmp_path / "model").mkdir()
    script(tmp_path, f"case \"$*\" in *--deep*) sleep 1000;; esac\necho '{json.dumps(model)}'\n")
    base = {"PATH": os.environ["PATH"]}
    found = {check.id: check for check in examine(wanted, planned(wanted, "xpu:0", hosts.xpu_server(), base), base)}
    assert found["torch-stack"].level is CheckLevel.PASS
    assert found["torch-devices"].level is CheckLevel.UNKNOWN
    assert "did not answer" in found["torch-devices"].message


def test_nodes_are_judged_by_opening_them(tmp_path: Path) -> None:
    folder = tmp_path / "dev/dri"
    folder.mkdir(parents=True)
    for number in (128, 130):
        (folder / f"renderD{number}").touch()
    server = hosts.xpu_server()
    views = [
        dataclasses.replace(view, device=dataclasses.replace(
            view.device, details={"node": f"dri/renderD{128 + (view.device.pci_order or 0)}"}))
        for view in server.devices
    ]  # fmt: skip
    server, settings = dataclasses.replace(server, devices=tuple(views)), Settings(dev_root=str(tmp_path / "dev"))
    both = checked(tmp_path, server=server, settings=settings)
    assert (both["device-access"].level, both["by-path"].level) == (CheckLevel.PASS, CheckLevel.WARNING)
    (folder / "by-path").mkdir()
    assert "by-path" not in checked(tmp_path, server=server, settings=settings)
    (folder / "renderD130").unlink()
    found = checked(tmp_path, server=server, settings=settings)["device-access"]
    assert found.level is CheckLevel.REFUSAL
    assert "renderD130 cannot be opened: No such file" in found.message


def test_a_node_that_does_not_open_in_time_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "renderD128"
    os.mkfifo(pipe)
    assert nodes.opened([str(pipe)]) == {str(pipe): None}
    monkeypatch.setattr(nodes, "DEADLINE_SECONDS", 0.0)
    assert nodes.opened([str(pipe)]) is None


@pytest.mark.parametrize(
    ("version", "span", "fits"),
    [
        ("0.18.2", ">=0.18.2,<0.19", True),
        ("0.19.0", ">=0.18.2,<0.19", False),
        ("0.18", "<0.19, >=0.18.2", False),
        ("1.0", "~=0.9", True),
    ],
)
def test_ranges_are_read_from_the_metadata(version: str, span: str, fits: bool) -> None:
    assert xpu_checks.within(version, span) is fits


@pytest.mark.torch
def test_a_real_torch_is_asked_under_the_planned_environment(torch_python: str) -> None:
    """Real torch and transformers with the stand-in: the count after the start is the one that counts."""
    cards = [{"address": hosts.xpu(order).pci_address} for order in range(3)]
    standin = SOURCE.parent / "tests/support/standins/xpu_stack"
    environment = {**os.environ, "PYTHONPATH": str(standin), "STANDIN_XPU": json.dumps(cards),
                   "STANDIN_XPU_COUNT_BEFORE": "1", "ZE_AFFINITY_MASK": "0,2"}  # fmt: skip
    told = facts.facts(torch_python, environment, deep=True, training=True)
    assert told.fault is None
    assert told.document["devices"]["xpu"] == 2
    assert told.document["xpu"]["counted_before"] == 1
    assert [card["key"] for card in told.document["xpu"]["cards"]] == KEYS
    assert told.document["training_device"] == "xpu:0"
    assert told.document["backends"]["xccl"]
