"""Joining layers: the first `ok` wins, a missing number tells what a person can do about, holders are united."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from accel_tui.devices.merge import Layer, join_devices, join_holders, join_readings, share_claims
from accel_tui.model.devices import (
    Device,
    DeviceState,
    DeviceView,
    Holder,
    Reading,
    ReadingStatus,
    ReservedBy,
    absent,
    denied,
    failed,
    ok,
)

KEY = "pci:0000:17:00.0"


def device(key: str = KEY, vendor: str = "gaudi", **facts: object) -> Device:
    address = key.partition("#")[0].removeprefix("pci:")
    return Device(key, vendor, "hpu", "Card", pci_address=address, **facts)  # type: ignore[arg-type]


def layer(label: str, *devices: Device, **readings: Reading) -> Layer:
    return Layer(label, {one.key: one for one in devices} if devices else None, {KEY: readings})


def test_the_first_layer_with_a_number_answers() -> None:
    library, tool = layer("gaudi.hlml", power_watts=failed("no")), layer("gaudi.hl-smi", power_watts=ok(5, "hl-smi"))
    other = layer("gaudi.sysfs", power_watts=ok(6, "sysfs"), clock_mhz=ok(1, "sysfs"))
    joined = join_readings(KEY, [library, tool, other])
    assert joined["power_watts"].value == 5
    assert joined["clock_mhz"].source == "sysfs"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_without_a_number_what_can_be_done_is_told(order: tuple[int, ...]) -> None:
    layers = [
        layer("a", power_watts=absent("not here")),
        layer("b", power_watts=denied("root")),
        layer("c", power_watts=Reading(ReadingStatus.PENDING)),
    ]
    assert join_readings(KEY, [layers[i] for i in order])["power_watts"].status is ReadingStatus.DENIED


@pytest.mark.parametrize(
    ("states", "joined"),
    [
        (("operational", "unknown"), "operational"),
        (("unknown", "operational"), "operational"),
        (("operational", "needs-reset"), "needs-reset"),
        (("releasing", "needs-reset"), "releasing"),
        (("unknown", "unknown"), "unknown"),
    ],
)
def test_a_fault_that_one_layer_knows_counts(states: tuple[str, str], joined: str) -> None:
    layers = [layer(f"gaudi.{i}", device(state=DeviceState(state))) for i, state in enumerate(states)]
    devices, problems = join_devices(layers)
    assert [one.state.value for one in devices] == [joined]
    assert problems == ()


def test_cards_are_shown_by_module_then_address_and_the_cpu_last() -> None:
    cards = [device("pci:0000:17:00.0", module_id=4), device("pci:0000:b3:00.0", module_id=0)]
    host = Device("cpu", "cpu", "cpu", "CPU")
    devices, _ = join_devices([layer("cpu.proc", host), layer("gaudi.sysfs", *cards)])
    assert [(one.module_id, one.pci_order) for one in devices] == [(0, 1), (4, 0), (None, None)]


def test_a_layer_that_lists_nothing_yet_is_not_called_silent() -> None:
    _, problems = join_devices([layer("gaudi.sysfs", device()), layer("gaudi.hl-smi")])
    assert problems == ()


def test_holders_are_united_by_process() -> None:
    first = Layer("a", holders={KEY: [Holder(7, None, "python"), Holder(3, "ana", None)]})
    second = Layer("b", holders={KEY: [Holder(7, "kx3", None)]})
    assert join_holders(KEY, [first, second]) == (Holder(3, "ana", None), Holder(7, "kx3", "python"))


def test_a_card_and_its_tiles_know_each_others_claims() -> None:
    keys = ("pci:0000:1a:00.0", "pci:0000:1a:00.0#0", "pci:0000:1a:00.0#1", "pci:0000:2a:00.0")
    bare = [DeviceView(Device(key, "xpu", "xpu", "GPU")) for key in keys]
    claim = ReservedBy("run-1", "ana", None)
    halves = share_claims([bare[0], replace(bare[1], reserved_by=claim), *bare[2:]])
    assert [view.reserved_by for view in halves] == [claim, claim, None, None]
    stranger, own = Holder(7, "ben", "python"), Holder(8, "ana", "python", run="run-1")
    held = share_claims([replace(bare[0], holders=(stranger, own)), *bare[1:]])
    assert [view.holders for view in held] == [(stranger, own), (stranger,), (stranger,), ()]
