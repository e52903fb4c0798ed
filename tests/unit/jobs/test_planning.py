"""Planning: what decides the environment, the processes and the checks."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from accel_tui.config.settings import Settings
from accel_tui.jobs import planning
from accel_tui.jobs.adhoc import command_job
from accel_tui.jobs.interpreters import default_python, shared_with_others
from accel_tui.jobs.planning import environment_for
from accel_tui.jobs.spec import parse_job
from accel_tui.model.devices import DeviceState
from accel_tui.model.plans import CheckLevel, EnvironmentAction, Plan
from accel_tui.model.secrets import MASK
from support import hosts
from support.planning import job, planned, variables

TOKEN = "hf_" + "a" * 30


def levels(plan: Plan) -> dict[str, CheckLevel]:
    return {check.id: check.level for check in plan.checks}


def test_a_plan_survives_its_stored_form() -> None:
    plan = planned(job("train", launcher="torchrun"), "gaudi:0,1", hosts.gaudi_server(), port=29500)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_inherited_choices_are_removed_and_named() -> None:
    wrong = ("ZE_AFFINITY_MASK", "RANK", "OMPI_COMM_WORLD_RANK", "HLS_MODULE_ID", "TORCHELASTIC_RUN_ID", "FSDP_VERSION",
             "CUDA_VISIBLE_DEVICES", "NEO_ZE_AFFINITY_MASK", "ACCELERATE_USE_CPU")  # fmt: skip
    base = {"PATH": "/bin", "HOME": "/h", **dict.fromkeys(wrong, "3")}
    plan = planned(job(), "gaudi:0", hosts.gaudi_server(), base)
    run = environment_for(plan, base, {})
    removed = {change.name for change in plan.environment if change.action is EnvironmentAction.UNSET}
    assert removed == set(base) - {"PATH", "HOME", "HLS_MODULE_ID"}
    assert not removed & set(run)
    assert run["HLS_MODULE_ID"] == "0"
    assert run["HOME"] == "/h"
    assert all(change.reason for change in plan.environment)


def test_settings_of_the_runtime_that_choose_no_card_stay() -> None:
    kept = {
        "SYCL_CACHE_PERSISTENT": "1",
        "NEO_CACHE_DIR": "/cache",
        "SYCL_PI_LEVEL_ZERO_USE_IMMEDIATE_COMMANDLISTS": "1",
    }
    base = {"PATH": "/bin", **kept, "SYCL_DEVICE_FILTER": "cpu", "NEO_L0_ZE_AFFINITY_MASK": "3"}
    plan = planned(job(), "xpu:0", hosts.xpu_server(), base)
    run = environment_for(plan, base, {})
    assert {name: run.get(name) for name in kept} == kept
    assert not {"SYCL_DEVICE_FILTER", "NEO_L0_ZE_AFFINITY_MASK"} & set(run)
    own = planned(job(env=kept), "xpu:0", hosts.xpu_server())
    assert "env-device-variable" not in {check.id for check in own.checks}


def test_inside_an_allocation_masks_limit_what_auto_takes_and_stay() -> None:
    base = {"PATH": "/bin", "SLURM_JOB_ID": "7", "HABANA_VISIBLE_MODULES": "4,5"}
    server = hosts.gaudi_server()
    auto = planned(job(), "auto:gaudi:2", server, base)
    assert variables(auto)["HABANA_VISIBLE_MODULES"] == "4,5"
    assert "allocation" in {warning.code for warning in auto.warnings}
    assert levels(planned(job(), "gaudi:0", server, base))["not-yours"] is CheckLevel.ASK
    assert "not-yours" not in levels(planned(job(), "gaudi:4", server, base))
    by_index = {"PATH": "/bin", "SLURM_JOB_ID": "7", "HABANA_VISIBLE_DEVICES": str(hosts.gaudi(6).index)}
    assert variables(planned(job(), "auto:gaudi:1", server, by_index))["HABANA_VISIBLE_MODULES"] == "6"
    gpus = {"PATH": "/bin", "PBS_JOBID": "7", "ZE_AFFINITY_MASK": "1"}
    assert variables(planned(job(), "auto:xpu:1", hosts.xpu_server(), gpus))["ZE_AFFINITY_MASK"] == "1"
    outside = hosts.inventory(hosts.gaudi(0), hosts.unusable(hosts.gaudi(1), DeviceState.NOT_YOURS))
    assert levels(planned(job(), "gaudi:1", outside))["not-yours"] is CheckLevel.ASK


def test_the_affinity_mask_counts_the_cards_that_open() -> None:
    server = hosts.inventory(hosts.unusable(hosts.xpu(0)), hosts.xpu(1), hosts.xpu(2))
    plan = planned(job(), "xpu:2", server)
    assert variables(plan)["ZE_AFFINITY_MASK"] == "1"


def test_the_order_variable_stays_out_beside_an_integrated_gpu() -> None:
    plan = planned(job(), "xpu:1", hosts.inventory(hosts.integrated_gpu(), hosts.xpu(0), hosts.xpu(1)))
    assert variables(plan)["ZE_AFFINITY_MASK"] == "1"
    assert "ZE_ENABLE_PCI_ID_DEVICE_ORDER" not in variables(plan)
    alone = planned(job(), "pci:0000:00:02.0", hosts.inventory(hosts.integrated_gpu(), hosts.xpu(0)))
    assert variables(alone)["ZE_AFFINITY_MASK"] == "1"


def test_only_one_kind_of_accelerator_is_visible() -> None:
    server = hosts.inventory(hosts.gaudi(0), hosts.xpu(0))
    assert variables(planned(job(), "gaudi:0", server))["ZE_AFFINITY_MASK"] == "9999"
    names = variables(planned(job(), "xpu:0", server))
    assert (names["ZE_AFFINITY_MASK"], names["TORCH_DEVICE_BACKEND_AUTOLOAD"]) == ("0", "0")


def test_tiles_and_cards_are_counted_in_one_hierarchy() -> None:
    names = variables(planned(job(), "xpu:0,1.1", hosts.max_server()))
    assert (names["ZE_AFFINITY_MASK"], names["ZE_FLAT_DEVICE_HIERARCHY"]) == ("0,1.1", "COMPOSITE"), "two devices"
    both = variables(planned(job(), "xpu:1.0,1.1", hosts.max_server()))
    assert (both["ZE_AFFINITY_MASK"], both["ZE_FLAT_DEVICE_HIERARCHY"]) == ("2,3", "FLAT"), "not one card"
    absent = variables(planned(job(), "xpu:0.1,3", hosts.inventory()))
    assert (absent["ZE_AFFINITY_MASK"], absent["ZE_FLAT_DEVICE_HIERARCHY"]) == ("0.1,3", "COMPOSITE")


def test_first_generation_gaudi_keeps_its_own_integer_rule() -> None:
    names = variables(planned(job("train"), "gaudi:0", hosts.gaudi_server(1, name="HL-205")))
    assert "PT_ENABLE_INT64_SUPPORT" not in names
    assert names["PT_HPU_LAZY_MODE"] == "0"


def test_a_commands_own_lazy_mode_is_left_to_it() -> None:
    base = {"PATH": "/bin", "PT_HPU_LAZY_MODE": "1"}
    names = variables(planned(job(launcher="none"), "gaudi:0", hosts.gaudi_server(), base))
    assert names["PT_HPU_LAZY_MODE"] == "1"
    assert "PT_ENABLE_INT64_SUPPORT" not in names
    assert variables(planned(job("train"), "gaudi:0", hosts.gaudi_server(), base))["PT_HPU_LAZY_MODE"] == "0"


@pytest.mark.parametrize(
    ("launcher", "processes", "select", "expected"),
    [
        ("torchrun", None, "gaudi:0-3", 4),
        ("accelerate", None, "xpu:0,1", 2),
        ("torchrun", None, "cpu", 1),
        ("torchrun", 2, "cpu", 2),
        ("python", None, "gaudi:0-3", 1),
        ("torchrun", None, "auto:gaudi:4", 4),
    ],
)
def test_processes_follow_devices_under_a_launcher(
    launcher: str, processes: int | None, select: str, expected: int
) -> None:
    server = hosts.inventory(*(hosts.gaudi(module) for module in range(8)), hosts.xpu(0), hosts.xpu(1))
    assert planned(job("train", launcher=launcher, processes=processes), select, server).processes == expected


@pytest.mark.parametrize(
    ("kind", "launch", "select", "identity", "level"),
    [
        ("train", {}, "gaudi:0,1", "one-process", CheckLevel.ASK),
        ("train", {"launcher": "torchrun", "processes": 4}, "gaudi:0,1", "processes", CheckLevel.REFUSAL),
        ("train", {"launcher": "torchrun", "processes": 2}, "gaudi:0-3", "processes", CheckLevel.ASK),
        ("train", {"processes": 2}, "cpu", "processes", CheckLevel.REFUSAL),
        ("train", {"launcher": "torchrun"}, "gaudi:1,2", "device-group", CheckLevel.ASK),
        ("train", {}, "gaudi:0,xpu:0", "mixed-vendors", CheckLevel.REFUSAL),
        ("command", {}, "gaudi:0,xpu:0", "mixed-vendors", CheckLevel.ASK),
        ("command", {}, "gaudi:9", "devices-here", CheckLevel.REFUSAL),
        ("command", {"env_from": ["NOT_THERE"]}, "cpu", "env-from-missing", CheckLevel.REFUSAL),
        ("command", {"env": {"ZE_AFFINITY_MASK": "0"}}, "cpu", "env-device-variable", CheckLevel.REFUSAL),
        ("command", {"image": "x"}, "cpu", "image", CheckLevel.REFUSAL),
    ],
)
def test_a_plan_says_what_would_go_wrong(
    kind: str, launch: dict[str, object], select: str, identity: str, level: CheckLevel
) -> None:
    server = hosts.inventory(*(hosts.gaudi(module) for module in range(8)), hosts.xpu(0))
    assert levels(planned(job(kind, **launch), select, server))[identity] is level


def test_a_command_without_launcher_may_use_its_cards_as_it_likes() -> None:
    server = hosts.gaudi_server()
    assert set(levels(planned(job(launcher="none"), "gaudi:0,1", server))) == {"devices-here"}
    odd = levels(planned(job(launcher="none"), "gaudi:0-2", server))
    assert odd == {"devices-here": CheckLevel.PASS, "device-group": CheckLevel.WARNING}, "told, and not in its way"


def test_a_busy_or_broken_card_is_told_and_queues() -> None:
    card = hosts.gaudi(1)
    server = hosts.inventory(hosts.unusable(hosts.gaudi(0), DeviceState.NEEDS_RESET), card, held=(card.key,))
    plan = planned(job(), "gaudi:0,1", server)
    assert levels(plan)["device-busy"] is CheckLevel.WARNING
    assert levels(plan)["device-state"] is CheckLevel.WARNING
    assert plan.verified


def test_what_a_host_never_has_is_not_verified() -> None:
    assert not planned(job(), "auto:gaudi:2", hosts.gaudi_server(1)).verified
    waiting = planned(job(), "auto:gaudi:1", hosts.inventory(hosts.gaudi(0), held=(hosts.gaudi(0).key,)))
    assert waiting.verified
    assert waiting.waiting_for == "1 free gaudi device"


def test_the_selection_decides_even_against_the_jobs_own_word() -> None:
    made = job(env={"HABANA_VISIBLE_MODULES": "7", "ACCEL_TUI_RUN": "x", "TOKENIZERS_PARALLELISM": "true"})
    names = variables(planned(made, "gaudi:0", hosts.gaudi_server()))
    assert names["HABANA_VISIBLE_MODULES"] == "0"
    assert names["ACCEL_TUI_RUN"] != "x"
    assert names["TOKENIZERS_PARALLELISM"] == "true"


def test_the_worker_stands_before_the_users_python_path() -> None:
    names = variables(planned(job("train"), "cpu", hosts.inventory(), {"PATH": "/bin", "PYTHONPATH": "/mine"}))
    assert str(names["PYTHONPATH"]).endswith("/worker.pyz:/mine")
    own = variables(planned(job("train", env={"PYTHONPATH": "/jobs"}), "cpu", hosts.inventory()))
    assert str(own["PYTHONPATH"]).endswith("/worker.pyz:/jobs")
    assert "PYTHONPATH" not in variables(planned(job(), "cpu", hosts.inventory(), {"PATH": "/bin", "PYTHONPATH": "/m"}))


def test_secrets_are_named_and_never_held() -> None:
    plan = planned(job(env_from=["HF_TOKEN"]), "cpu", hosts.inventory(), secrets={"HF_TOKEN", "OTHER_TOKEN"})
    actions = {change.name: change.action for change in plan.environment if change.secret}
    assert actions == {"HF_TOKEN": EnvironmentAction.SET, "OTHER_TOKEN": EnvironmentAction.KEEP}
    assert environment_for(plan, {}, {"HF_TOKEN": "x"})["HF_TOKEN"] == "x"
    assert "HF_TOKEN" not in environment_for(plan, {}, {})


def test_a_secret_argument_is_masked_and_finds_its_place_again() -> None:
    given = command_job(["prog", "--user", "me", TOKEN, "x", "https://me:pw@host/"], launcher="torchrun")
    stored, secrets = planning.mask_arguments(given)
    assert TOKEN not in json.dumps(stored.model_dump(mode="json"))
    for made in (given, parse_job(stored.model_dump(mode="json"))):
        plan = planned(made, "cpu", hosts.inventory())
        assert levels(plan)["secret-in-argv"] is CheckLevel.REFUSAL
        assert TOKEN not in json.dumps(plan.to_json())
        told = planning.secret_arguments(plan, secrets)
        restored = [told.get(index, argument) for index, argument in enumerate(plan.argv)]
        assert restored[-6:] == ["prog", "--user", "me", TOKEN, "x", "https://me:pw@host/"]
        assert MASK not in restored
    assert planning.mask_arguments(job("train")) == (job("train"), ())


def test_simulated_devices_run_on_the_cpu_and_say_so() -> None:
    plan = planned(job("train", launcher="torchrun"), "gaudi:0,1", hosts.gaudi_server(simulated=True))
    assert plan.argv[-2:] == ("--device", "cpu")
    assert "simulated" in {warning.code for warning in plan.warnings}
    assert variables(plan)["HABANA_VISIBLE_MODULES"] == "0,1"


def test_slots_are_taken_by_the_cpu_alone() -> None:
    assert [planned(job(), select, hosts.gaudi_server()).slots for select in ("cpu", "none", "gaudi:0")] == [1, 0, 0]


def make_prefix(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.symlink_to(sys.executable)
    return python


def test_the_interpreter_is_chosen_by_the_nearest_word(tmp_path: Path) -> None:
    job_env, setting_env, venv, conda = (make_prefix(tmp_path / name) for name in ("job", "setting", "venv", "conda"))
    base = {
        "PATH": f"{venv.parent}:/usr/bin",
        "VIRTUAL_ENV": str(tmp_path / "venv"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
    }
    settings = dataclasses.replace(Settings(), python=str(setting_env))
    assert default_python(job(python=str(tmp_path / "job")), base, settings).path == str(job_env)
    plain = command_job(["x"])
    assert default_python(plain, base, settings).path == str(setting_env)
    assert default_python(plain, base, Settings()).path == str(venv)
    del base["VIRTUAL_ENV"]
    found = default_python(plain, base, Settings())
    assert (found.path, found.reason) == (str(conda), "the active conda environment")
    assert default_python(command_job(["x"], python="python"), base, Settings()).path == str(venv)


def test_what_others_may_change_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    python = make_prefix(folder)
    copy = folder / "bin" / "copy"
    copy.write_text("#!/bin/sh\n")
    copy.chmod(0o755)
    assert shared_with_others(str(copy)) is None
    folder.chmod(0o777)
    assert shared_with_others(str(copy)) == str(folder)
    assert shared_with_others(str(python)) == str(folder)
    folder.chmod(0o755)
    copy.chmod(0o757)
    assert shared_with_others(str(copy)) == str(copy)
