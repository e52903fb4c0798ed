"""From a host's files to the mask of a run: the real sysfs source, the real join, the real plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.cli.output import Output
from accel_tui.cli.picture import device_table
from accel_tui.config.settings import Settings
from accel_tui.devices.merge import Layer, join_devices
from accel_tui.model.devices import DeviceView, Inventory
from accel_tui.vendors.xpu.sysfs import open_source
from support.planning import job, planned, variables
from support.xpu_host import XpuHost


@pytest.fixture
def host(tmp_path: Path) -> XpuHost:
    """An integrated GPU, three cards of which the first does not open (a folder in place of its node)."""
    made = XpuHost(tmp_path)
    made.card("0000:00:02.0", 0x4680, driver="i915", node=3)
    for number, address in enumerate(("0000:1a:00.0", "0000:2a:00.0", "0000:3a:00.0")):
        made.card(address, node=number)
    node = made.dev / "dri/renderD128"
    node.unlink()
    node.mkdir()
    return made


def inventory(host: XpuHost) -> Inventory:
    devices, _ = open_source(host.places).inventory()
    joined, _ = join_devices([Layer("xpu.sysfs", {device.key: device for device in devices})])
    return Inventory("host", "2026-01-31T12:41:07.250Z", tuple(map(DeviceView, joined)))


def test_a_closed_card_moves_the_numbers_behind_it_and_an_integrated_one_does_not(host: XpuHost) -> None:
    seen = inventory(host)
    made = planned(job(), "xpu:2", seen)
    assert made.devices == ("pci:0000:3a:00.0",)
    assert variables(made)["ZE_AFFINITY_MASK"] == "1"
    assert "ZE_ENABLE_PCI_ID_DEVICE_ORDER" not in variables(made)
    (reason,) = [change.reason for change in made.environment if change.name == "ZE_AFFINITY_MASK"]
    assert "xpu:2 is 1 here" in reason
    assert planned(job(), "auto:xpu:1", seen).devices == ("pci:0000:2a:00.0",), "neither closed nor integrated"
    assert not planned(job(), "auto:xpu:4", seen).verified


def test_the_number_stands_beside_the_position(host: XpuHost, capsys: pytest.CaptureFixture[str]) -> None:
    device_table(Output({"TERM": "dumb"}), inventory(host))
    text = capsys.readouterr().out
    assert "xpu:1 (mask 0)" in text
    assert "xpu:2 (mask 1)" in text
    assert "xpu:0 (mask" not in text, "what does not open has no number"
    assert "pci:0000:00:02.0 (mask 2)" in text


def test_the_check_opens_the_very_nodes(host: XpuHost) -> None:
    made = planned(job(), "xpu:1,2", inventory(host), settings=Settings(dev_root=str(host.dev)))
    paths = {
        f"pci:0000:{bus}:00.0": str(host.dev / f"dri/renderD{number}") for bus, number in (("2a", 129), ("3a", 130))
    }
    assert made.facts["nodes"] == paths


def test_a_card_of_which_nobody_knows_the_kind_keeps_the_order_variable_out(tmp_path: Path) -> None:
    host = XpuHost(tmp_path)
    host.card("0000:03:00.0", 0xFFF0)
    host.card("0000:04:00.0")
    made = planned(job(), "xpu:1", inventory(host))
    assert "ZE_ENABLE_PCI_ID_DEVICE_ORDER" not in variables(made)
    assert "order-uncertain" in {warning.code for warning in made.warnings}
