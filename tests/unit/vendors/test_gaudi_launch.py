"""The environment of a run on Gaudi cards, rule by rule, as fact and vendor documents have it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from accel_tui.model.devices import Inventory
from accel_tui.model.plans import CheckLevel, EnvironmentAction, Plan
from support import hosts
from support.planning import FOLDER, job, planned, variables

PLAIN = {"PATH": "/bin"}


def environment(kind: str, select: str, base: dict[str, str] | None = None, **launch: Any) -> dict[str, str | None]:
    return variables(planned(job(kind, **launch), select, hosts.gaudi_server(), base, port=29500))


def codes(plan: Plan) -> dict[str, str]:
    return {warning.code: warning.message for warning in plan.warnings}


@pytest.mark.parametrize(
    ("launcher", "processes"), [("none", None), ("python", None), ("torchrun", 1), ("accelerate", 1)]
)
def test_one_process_is_bound_to_its_card_under_every_launcher(launcher: str, processes: int | None) -> None:
    kind = "command" if launcher == "none" else "train"
    found = environment(kind, "gaudi:5", launcher=launcher, processes=processes)
    assert (found["HABANA_VISIBLE_MODULES"], found["HLS_MODULE_ID"]) == ("5", "5")
    assert found["HABANA_LOGS"] == f"{FOLDER}/habana_logs"
    assert (found["PT_HPU_LAZY_MODE"], found["PT_ENABLE_INT64_SUPPORT"]) == ("0", "1")


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
@pytest.mark.parametrize("select", ["gaudi:5,4", "gaudi:0-7"])
def test_several_ranks_get_the_list_in_ascending_order_and_no_module(launcher: str, select: str) -> None:
    base = {**PLAIN, "HLS_MODULE_ID": "3"}
    made = planned(job("train", launcher=launcher), select, hosts.gaudi_server(), base, port=29500)
    found = variables(made)
    assert found["HABANA_VISIBLE_MODULES"] == ("4,5" if select == "gaudi:5,4" else "0,1,2,3,4,5,6,7")
    assert found["HLS_MODULE_ID"] is None, "every rank would inherit it, and they would fight for one card"
    assert (f"--nproc-per-node={made.processes}" in made.argv) == (launcher == "torchrun")
    assert ("--gpu_ids=all" in made.argv) == (launcher == "accelerate"), "a gpu_ids line would replace the list"
    if launcher == "accelerate":
        assert f"--num_processes={made.processes}" in made.argv
        assert "--multi_gpu" in made.argv


def test_whatever_the_index_is_the_module_counts() -> None:
    for modules in ((0, 4, 1, 5), (1, 4, 5, 2)):
        shuffled = hosts.inventory(*(hosts.gaudi(module, index=index) for index, module in enumerate(modules)))
        select = "gaudi:" + ",".join(map(str, modules))
        found = variables(planned(job("train", launcher="torchrun"), select, shuffled, port=1))
        assert found["HABANA_VISIBLE_MODULES"] == ",".join(map(str, sorted(modules)))


def test_what_the_shell_exports_against_the_plan_is_put_aside_and_named() -> None:
    base = {**PLAIN, "HLS_MODULE_ID": "3", "HABANA_VISIBLE_DEVICES": "all", "RANK": "0", "PT_HPU_AUTOLOAD": "0",
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMPI_COMM_WORLD_RANK": "0", "HABANA_VISIBLE_PCI_BUS_IDS": "x",
            "PT_HPU_LAZY_MODE": "1"}  # fmt: skip
    made = planned(job("train"), "gaudi:6", hosts.gaudi_server(), base)
    found = variables(made)
    assert (found["HABANA_VISIBLE_MODULES"], found["HLS_MODULE_ID"], found["PT_HPU_LAZY_MODE"]) == ("6", "6", "0")
    gone = {change.name for change in made.environment if change.action is EnvironmentAction.UNSET}
    assert gone == set(base) - {"PATH", "HLS_MODULE_ID", "PT_HPU_LAZY_MODE"}
    told = codes(made)
    for name in ("HLS_MODULE_ID=3", "HABANA_VISIBLE_DEVICES=all", "RANK=0", "PT_HPU_AUTOLOAD=0"):
        assert name in told["inherited-device-variables"]
    assert "PT_HPU_LAZY_MODE=1" in told["lazy-mode-put-aside"]
    assert all(change.reason for change in made.environment)
    assert "inherited-device-variables" not in codes(planned(job("train"), "gaudi:6", hosts.gaudi_server(), PLAIN))


def test_inside_an_allocation_masks_stay_and_what_does_harm_goes() -> None:
    base = {**PLAIN, "SLURM_JOB_ID": "7", "HABANA_VISIBLE_MODULES": "4,5", "HLS_MODULE_ID": "4",
            "HABANA_VISIBLE_DEVICES": "1,2", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PMI_RANK": "0"}  # fmt: skip
    made = planned(job("train", launcher="torchrun"), "gaudi:4,5", hosts.gaudi_server(), base, port=29500)
    actions = {change.name: (change.action, change.value) for change in made.environment}
    assert actions["HABANA_VISIBLE_MODULES"] == (EnvironmentAction.SET, "4,5")
    assert actions["HABANA_VISIBLE_DEVICES"] == (EnvironmentAction.KEEP, "1,2")
    assert actions["HLS_MODULE_ID"][0] is EnvironmentAction.UNSET
    assert actions["TORCH_DEVICE_BACKEND_AUTOLOAD"][0] is EnvironmentAction.UNSET
    told = codes(made)["inherited-device-variables"]
    assert "HLS_MODULE_ID=4" in told
    assert "PMI_RANK" not in told


def test_64_bit_integers_are_asked_for_where_the_card_and_the_mode_have_them() -> None:
    def on(name: str, base: dict[str, str] | None = None, **launch: Any) -> tuple[bool, str | None]:
        server = hosts.inventory(hosts.gaudi(0, name=name))
        found = variables(planned(job("train", **launch), "gaudi:0", server, base))
        return "PT_ENABLE_INT64_SUPPORT" in found, found.get("PT_ENABLE_INT64_SUPPORT")

    assert on("HL-225") == on("HL-325L") == on("GAUDI3") == (True, "1")
    assert on("HL-205") == on("GAUDI") == (False, None)
    assert on("HL-205", {**PLAIN, "PT_ENABLE_INT64_SUPPORT": "1"}) == (True, None), "it would overrule the bridge"
    assert on("HL-325L", env={"PT_HPU_LAZY_MODE": "1"}) == (False, None)
    assert on("HL-325L", {**PLAIN, "PT_ENABLE_INT64_SUPPORT": "1"}, env={"PT_HPU_LAZY_MODE": "1"}) == (True, None)


def test_a_card_without_a_module_id_gets_no_empty_list() -> None:
    server: Inventory = hosts.inventory(hosts.gaudi(0, module_id=None), hosts.gaudi(1))
    made = planned(job("train"), hosts.gaudi(0).key, server)
    assert "HABANA_VISIBLE_MODULES" not in variables(made)
    assert {check.id: check.level for check in made.checks}["module-unknown"] is CheckLevel.REFUSAL


def test_a_module_that_two_cards_claim_binds_nothing() -> None:
    twin = dataclasses.replace(hosts.gaudi(3), key="pci:0000:f0:00.0", pci_address="0000:f0:00.0")
    server = hosts.inventory(hosts.gaudi(3), twin, hosts.gaudi(4))
    for select in ("gaudi:3", twin.key):
        made = planned(job("train"), select, server)
        assert {check.id: check.level for check in made.checks}["module-ambiguous"] is CheckLevel.REFUSAL
    assert "module-ambiguous" not in {check.id for check in planned(job("train"), "gaudi:4", server).checks}


def test_the_word_of_the_container_runtime_is_passed_on() -> None:
    base = {**PLAIN, "HABANA_RUNTIME_ERROR": "no accelerators found"}
    made = planned(job("train"), "gaudi:0", hosts.gaudi_server(), base)
    assert "no accelerators found" in codes(made)["container-runtime"]


def test_roots_that_settings_move_reach_the_worker() -> None:
    from accel_tui.config.settings import Settings

    settings = Settings(sysfs_root="/made/sys", dev_root="/made/dev")
    found = variables(planned(job("train"), "gaudi:1", hosts.gaudi_server(), settings=settings))
    assert found["ACCEL_TUI_CARDS"] == hosts.gaudi(1).key
    assert (found["ACCEL_TUI_SYSFS_ROOT"], found["ACCEL_TUI_DEV_ROOT"]) == ("/made/sys", "/made/dev")
    assert "ACCEL_TUI_CARDS" not in environment("command", "gaudi:1", launcher="none"), "for the worker alone"
    simulated = planned(job("train"), "gaudi:1", hosts.gaudi_server(simulated=True))
    assert "ACCEL_TUI_CARDS" not in variables(simulated)
