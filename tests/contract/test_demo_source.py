"""Simulated servers keep the provider contract and show what they are there to show."""

from __future__ import annotations

import pytest

from accel_tui.devices.survey import survey
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
