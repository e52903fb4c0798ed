"""The sources of Intel GPUs hold the contract, on hosts made of files and with the real pyzes over a built library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from accel_tui.model.devices import ReadingStatus
from accel_tui.vendors.xpu import order, sysfs
from contract.provider_suite import check_source
from support.probed import ProbedSource, probed
from support.xpu_host import XpuHost, at, xe_client


@pytest.fixture
def host(tmp_path: Path, sysman_library: Path) -> XpuHost:
    """Two drivers, four cards in reverse order, one of two tiles and an integrated GPU."""
    host = XpuHost(tmp_path, sysman_library)
    host.card("0000:00:02.0", 0x7D55, driver="i915")
    host.card("0000:1a:00.0", files={"hwmon/hwmon3/name": "xe\n", "hwmon/hwmon3/energy1_input": "5000000\n"})
    host.card("0000:4b:00.0", 0x0BD5, driver="i915")
    host.card("0000:9a:00.0", 0x56A0, driver="i915")
    host.scenario(
        [
            at("0000:9a:00.0", id=0x56A0, size=17179869184, max_traffic=0),
            at("0000:4b:00.0", id=0x0BD5, tiles=2, size=68719476736, ports=4, ports_up=3),
            at("0000:1a:00.0", fan=1200, driver=1),
            at("0000:00:02.0", id=0x7D55, flags=1, name="Intel(R)_Graphics_[0x7d55]", driver=1),
        ],
        drivers=2,
    )
    host.process(20417, {"5": ("/dev/dri/renderD129", xe_client("0000:1a:00.0", 41, ccs=1, total=2))})
    return host


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("label", ["xpu.sysfs", "xpu.sysman"])
def test_the_contract_holds(host: XpuHost, opened: ExitStack, label: str) -> None:
    def open_source() -> ProbedSource:
        return opened.enter_context(probed(label, host.places))

    devices, readings = check_source(open_source)
    assert [device.key for device in devices] == [
        "pci:0000:00:02.0",
        "pci:0000:1a:00.0",
        "pci:0000:4b:00.0",
        "pci:0000:4b:00.0#0",
        "pci:0000:4b:00.0#1",
        "pci:0000:9a:00.0",
    ]
    if label == "xpu.sysman":
        assert readings["pci:0000:1a:00.0"]["utilization_percent"].status is ReadingStatus.OK


def test_the_contract_holds_where_there_is_nothing(tmp_path: Path, opened: ExitStack) -> None:
    host = XpuHost(tmp_path)
    devices, _ = check_source(lambda: opened.enter_context(probed("xpu.sysfs", host.places)))
    assert devices == ()


def test_a_container_has_the_cards_whose_nodes_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = XpuHost(tmp_path)
    for address in ("0000:1a:00.0", "0000:2a:00.0", "0000:3a:00.0"):
        host.card(address)
    (host.dev / "dri/renderD128").unlink()
    monkeypatch.delenv("container", raising=False)
    assert states(host) == ["no-node", "operational", "operational"]
    monkeypatch.setenv("container", "podman")
    assert states(host) == ["not-yours", "operational", "operational"]
    devices, problems = sysfs.open_source(host.places).inventory()
    assert problems == []
    assert sorted(order.card_numbers(devices).values()) == [0, 1], "the runtime numbers the cards that it was given"
    for node in ("renderD129", "renderD130"):
        (host.dev / "dri" / node).unlink()
    assert states(host) == ["no-node"] * 3, "nothing was given: said as such"


def states(host: XpuHost) -> list[str]:
    return [device.state.value for device in sysfs.open_source(host.places).inventory()[0]]
