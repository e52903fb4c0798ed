"""Simulated servers keep the provider contract and show what they are there to show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accel_tui.devices.survey import survey
from accel_tui.keeper import locks
from accel_tui.model.devices import DeviceState, ReadingStatus
from accel_tui.model.errors import ExitCode, UsageError
from accel_tui.vendors.demo import demo_names
from accel_tui.vendors.demo.probe import DemoSource
from contract.provider_suite import check_source


@pytest.mark.parametrize("name", demo_names())
@pytest.mark.parametrize("moment", [0.0, 1.8e9, 1.8e9 + 333.25])
def test_keeps_the_contract(name: str, moment: float) -> None:
    devices, _ = check_source(lambda: DemoSource(name, clock=lambda: moment))
    assert all(device.simulated for device in devices)
    assert devices[-1].key == "cpu"


def test_the_same_moment_gives_the_same_readings_and_another_moves_them() -> None:
    first, again, later = (DemoSource("server8", clock=lambda t=t: t).read() for t in (1e9, 1e9, 1e9 + 20))  # type: ignore[misc]
    assert first == again
    assert first != later


def test_server8_shows_what_can_be_in_the_way() -> None:
    inventory = survey(object(), "server8", seconds=20)
    cards = {view.device.module_id: view for view in inventory.devices if view.device.vendor == "gaudi"}
    assert sorted(key for key in cards if key is not None) == list(range(8))
    assert any(view.device.index != module for module, view in cards.items()), "the index is not the module"
    free = [m for m, v in cards.items() if not v.holders and v.device.state is DeviceState.OPERATIONAL]
    assert free == [0, 1, 2, 3]
    statuses = {reading.status for view in cards.values() for reading in view.readings.values()}
    assert {ReadingStatus.OK, ReadingStatus.DENIED, ReadingStatus.STALE} <= statuses
    assert {view.device.state for view in cards.values()} == {DeviceState.OPERATIONAL, DeviceState.NEEDS_RESET}
    stale = cards[6].readings["utilization_percent"]
    assert stale.age_seconds is not None
    assert stale.age_seconds >= 14
    assert [view.device.key for view in inventory.devices][-1] == "cpu"


def test_ranks_count_discrete_cards_alone() -> None:
    inventory = survey(object(), "mixed", seconds=20)
    ranks = {
        view.device.pci_address: view.device.pci_order for view in inventory.devices if view.device.vendor == "xpu"
    }
    assert ranks == {"0000:00:02.0": None, "0000:8a:00.0": 0, "0000:b1:00.0": 1}


def test_tiles_follow_their_card() -> None:
    inventory = survey(object(), "max1550x2", seconds=20)
    keys = [view.device.key for view in inventory.devices if view.device.vendor == "xpu"]
    assert keys[:3] == ["pci:0000:29:00.0", "pci:0000:29:00.0#0", "pci:0000:29:00.0#1"]


def test_a_wrong_name_is_told_with_the_right_ones() -> None:
    with pytest.raises(UsageError) as caught:
        survey(object(), "server9")
    assert caught.value.exit_code is ExitCode.USAGE
    assert all(name in caught.value.message for name in demo_names())


def test_a_card_that_a_run_has_comes_to_life_and_rests_again(tmp_path: Path) -> None:
    folder = locks.lock_folder(str(tmp_path / "locks"))
    moment = [1.8e9]
    source = DemoSource("gaudi3", clock=lambda: moment[0], locks=folder)
    key = next(device.key for device in source.inventory()[0] if device.module_id == 5)
    idle = source.read()[key]
    assert (idle["utilization_percent"].value, idle["memory_used_bytes"].value) == (0, 672 << 20)
    held = locks.take([locks.lock_path(folder, key)], {"run": "one"})
    source.read()
    moment[0] += 60
    readings = source.read()
    used, busy = readings[key]["memory_used_bytes"].value, readings[key]["utilization_percent"].value
    assert isinstance(used, int)
    assert used > 64 << 30
    assert isinstance(busy, float)
    assert busy > 20
    assert [
        one for one, named in readings.items() if one not in (key, "cpu") and named["utilization_percent"].value
    ] == []
    os.close(held[0])
    assert source.read()[key]["utilization_percent"].value == 0


def test_a_run_on_a_tile_shows_on_its_card_too(tmp_path: Path) -> None:
    folder = locks.lock_folder(str(tmp_path / "locks"))
    moment = [1.8e9]
    source = DemoSource("max1550x2", clock=lambda: moment[0], locks=folder)
    held = locks.take([locks.lock_path(folder, "pci:0000:29:00.0#1")], {"run": "one"})
    source.read()
    moment[0] += 60
    busy = {key for key, named in source.read().items() if key != "cpu" and named["utilization_percent"].value}
    assert busy == {"pci:0000:29:00.0", "pci:0000:29:00.0#1"}
    os.close(held[0])


def test_an_integrated_gpu_offers_what_it_has_and_uuids_are_those_of_torch() -> None:
    source = DemoSource("mixed", clock=lambda: 1.8e9)
    devices = {device.key: device for device in source.inventory()[0]}
    integrated = devices["pci:0000:00:02.0"]
    assert integrated.details["integrated"]
    assert integrated.uuid == "8680677d-0000-0000-0002-000000000000"
    assert "power_watts" not in source.read()[integrated.key]
    assert devices["pci:0000:8a:00.0"].uuid == "868011e2-0000-0000-8a00-000000000000"
    tiles = DemoSource("max1550x2").inventory()[0]
    assert tiles[2].uuid == "8680d50b-0000-0000-2900-000000000002"
