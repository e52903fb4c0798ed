"""How devices are called, and what a name means to the selectors."""

from __future__ import annotations

from dataclasses import replace

from accel_tui.cli.picture import short_key
from accel_tui.jobs.selectors import parse, resolve
from accel_tui.model.devices import Device, DeviceView
from accel_tui.tui.naming import count, names_of, number, selector, short_name, summary
from support.scene import gaudi_views, inventory, server, xpu_server


def test_cards_are_named_as_selectors_name_them() -> None:
    devices = [view.device for view in server().devices]
    assert selector(devices[:1]) == "gaudi:0"
    assert selector(devices[:2]) == "gaudi:0,1"
    assert selector(devices[:4]) == "gaudi:0-3"
    assert selector([devices[0], *devices[2:5], devices[7]]) == "gaudi:0,2-4,7"
    assert selector([devices[1], devices[8]]) == "gaudi:1,cpu"
    assert selector([]) == ""


def test_what_is_named_resolves_to_the_same_devices() -> None:
    for found in (server(), xpu_server()):
        devices = [view.device for view in found.devices if view.device.vendor != "cpu"]
        for chosen in (devices[:1], devices[:3], devices[1:3], devices):
            assert resolve(parse(selector(chosen)), found).keys == tuple(device.key for device in chosen)


def test_tiles_and_integrated_gpus_have_names_too() -> None:
    tile = Device("pci:0000:29:00.0#1", "xpu", "xpu", "Max tile 1", pci_order=0)
    integrated = Device("pci:0000:00:02.0", "xpu", "xpu", "UHD Graphics 770", index=0)
    assert selector([tile]) == "xpu:0.1"
    assert selector([integrated]) == "pci:0000:00:02.0"
    assert number(integrated) == "iGPU"


def test_a_gaudi_card_of_an_unknown_module_is_named_by_nothing_else_than_its_address() -> None:
    known = server()
    nameless = replace(known.devices[5].device, module_id=None, pci_order=1, index=2)
    assert number(nameless) == "?"
    assert selector([nameless]) == nameless.key
    assert short_key(DeviceView(nameless)) == nameless.key


def test_devices_of_a_run_that_are_gone_keep_their_keys() -> None:
    known = {view.device.key: view.device for view in gaudi_views()}
    assert names_of(["pci:0000:19:00.0", "pci:0000:ff:00.0"], known) == "gaudi:0,pci:0000:ff:00.0"


def test_products_lose_their_brand_signs() -> None:
    assert short_name(xpu_server().devices[0].device) == "Arc Pro B60"
    assert summary(server().devices) == "8 × HL-325L"
    assert summary(inventory(server().devices[-1]).devices) == "CPU only"


def test_counts() -> None:
    assert [count(number, "card") for number in (0, 1, 8)] == ["no cards", "1 card", "8 cards"]
