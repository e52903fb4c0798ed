"""The affinity mask against an own model of the driver: it selects exactly what was chosen, in the order shown."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accel_tui.devices.merge import Layer, join_devices
from accel_tui.jobs.planning import environment_for
from accel_tui.jobs.selectors import resolve
from accel_tui.model.devices import Device, DeviceState, DeviceView, Inventory
from accel_tui.vendors.xpu import launch
from support import hosts
from support.level_zero import DriverCrashError, Gpu, Shown, torch_list, visible
from support.planning import job, planned

_INHERITED = ("ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER")


def device(gpu: Gpu) -> Device:
    """The GPU as the inventory has it."""
    details = {"integrated": gpu.integrated, "tiles": gpu.tiles, "node_opens": gpu.opens, "family": gpu.family}
    state = DeviceState.OPERATIONAL if gpu.opens else DeviceState.NO_ACCESS
    return Device(f"pci:{gpu.address}", "xpu", "xpu", "GPU", pci_address=gpu.address, state=state, details=details)


def inventory_of(gpus: list[Gpu]) -> Inventory:
    """Through the real join, so that positions are the product's own."""
    devices: dict[str, Device] = {}
    for gpu in gpus:
        card = device(gpu)
        devices[card.key] = card
        for tile in range(gpu.tiles if gpu.tiles > 1 else 0):
            key = f"{card.key}#{tile}"
            devices[key] = dataclasses.replace(card, key=key, details={**card.details, "tiles": 1, "tile": tile})
    joined, _ = join_devices([Layer("xpu.sysfs", devices)])
    return Inventory("host", "2026-01-31T12:41:07.250Z", tuple(map(DeviceView, joined)))


def key_of(shown: Shown) -> str:
    card = f"pci:{shown.gpu.address}"
    return card if shown.whole else f"{card}#{shown.tiles[0]}"


@st.composite
def servers(draw: st.DrawFn) -> list[Gpu]:
    """One to nine cards of one family, in any order of discovery, with or without an integrated GPU."""
    tiles = draw(st.sampled_from([1, 1, 2]))
    places = draw(
        st.lists(st.tuples(st.sampled_from([0, 1, 0x10000]), st.integers(0, 255)), min_size=1, max_size=8, unique=True)
    )
    gpus = [
        Gpu(domain, bus, slot=3, tiles=tiles, opens=draw(st.booleans()), family="pvc" if tiles > 1 else "bmg")
        for domain, bus in places
    ]
    if draw(st.booleans()):
        gpus.append(Gpu(0, 0, 2, integrated=True, opens=draw(st.booleans()), family="integrated"))
    return draw(st.permutations(gpus))


@st.composite
def choices(draw: st.DrawFn) -> tuple[list[Gpu], list[tuple[Gpu, int | None]]]:
    """A server, and some of its discrete cards or tiles that open."""
    gpus = draw(servers())
    parts: list[tuple[Gpu, int | None]] = []
    for gpu in gpus:
        if gpu.integrated or not gpu.opens or not draw(st.booleans()):
            continue
        tiles = draw(st.sets(st.integers(0, gpu.tiles - 1))) if gpu.tiles > 1 else set()
        parts += [(gpu, tile) for tile in sorted(tiles)] if tiles else [(gpu, None)]
    return gpus, parts


_inherited = st.dictionaries(
    st.sampled_from([*_INHERITED, *(f"NEO_{name}" for name in _INHERITED), "ONEAPI_DEVICE_SELECTOR"]),
    st.sampled_from(["", "3", "0", "1", "FLAT", "COMPOSITE", "COMBINED", "level_zero:0", "default"]),
    max_size=3,
)


def with_cpu(inventory: Inventory) -> Inventory:
    return dataclasses.replace(inventory, devices=(*inventory.devices, DeviceView(hosts.cpu())))


@given(choices(), _inherited, st.booleans())
def test_the_mask_selects_what_was_chosen_in_the_order_shown(
    chosen: tuple[list[Gpu], list[tuple[Gpu, int | None]]], inherited: dict[str, str], allocated: bool
) -> None:
    gpus, parts = chosen
    assume(parts)
    inventory = inventory_of(gpus)
    select = ",".join(f"pci:{gpu.address}" + ("" if tile is None else f"#{tile}") for gpu, tile in parts)
    base = {"PATH": "/bin", **inherited, **({"SLURM_JOB_ID": "7"} if allocated else {})}
    made = planned(job(), select, inventory, base)
    child = environment_for(made, base, {})
    assert "ONEAPI_DEVICE_SELECTOR" not in child, "nothing stands above the mask"
    seen = visible(gpus, child)
    wanted = {(gpu, number) for gpu, tile in parts for number in (range(gpu.tiles) if tile is None else [tile])}
    assert {(one.gpu, tile) for one in seen for tile in one.tiles} == wanted
    listed = tuple(key_of(one) for one in torch_list(seen))
    everything = [view.device for view in inventory.devices]
    assert listed == launch.torch_keys(resolve(select, inventory).devices, everything)
    if "counted-as-tiles" not in {warning.code for warning in made.warnings}:
        assert listed == made.devices, "one device for each that was picked, in the order shown"


@given(servers())
def test_the_number_beside_a_card_is_the_one_that_selects_it(gpus: list[Gpu]) -> None:
    inventory = inventory_of(gpus)
    for view in inventory.devices:
        key, _, tile = view.device.key.partition("#")
        gpu = next(one for one in gpus if f"pci:{one.address}" == key)
        number = view.device.details.get("affinity_mask", view.device.pci_order)
        mask = {"ZE_AFFINITY_MASK": str(number), "ZE_FLAT_DEVICE_HIERARCHY": "FLAT" if tile else "COMPOSITE"}
        if gpu.opens:
            assert [(one.gpu, key_of(one)) for one in visible(gpus, mask)] == [(gpu, view.device.key)]
        else:
            assert "affinity_mask" not in view.device.details


@given(servers(), _inherited, st.text("0123,.x -9d", max_size=6))
def test_an_inherited_mask_is_read_as_the_driver_reads_it(
    gpus: list[Gpu], inherited: dict[str, str], mask: str
) -> None:
    base = {**inherited, "ZE_AFFINITY_MASK": mask}
    base.pop("ONEAPI_DEVICE_SELECTOR", None)
    try:
        seen = visible(gpus, base)
    except DriverCrashError:
        return
    devices = [view.device for view in inventory_of(gpus).devices]
    allowed = launch.allowed(devices, base)
    whole = {f"pci:{one.address}" for one in gpus if one.opens}
    if allowed is None:
        assert {tile for one in seen for tile in [one.gpu]} == {one for one in gpus if one.opens}
        return
    tiles: dict[str, set[int]] = {}
    for one in seen:
        tiles.setdefault(f"pci:{one.gpu.address}", set()).update(one.tiles)
    count = {f"pci:{one.address}": one.tiles for one in gpus}
    assert {key for key in allowed if "#" not in key} == {key for key in whole if len(tiles.get(key, ())) == count[key]}
    assert {key for key in allowed if "#" in key} == {
        f"{key}#{tile}" for key, all_of in tiles.items() for tile in all_of
    }


def test_nothing_selected_never_becomes_an_empty_mask() -> None:
    gpus = [Gpu(0, 3), Gpu(0, 4), Gpu(0, 0, 2, integrated=True)]
    for select, host in (("none", gpus), ("cpu", gpus), ("pci:0000:03:00.0", [Gpu(0, 3, opens=False), Gpu(0, 4)])):
        made = planned(job(), select, with_cpu(inventory_of(host)))
        child = environment_for(made, {}, {})
        assert child["ZE_AFFINITY_MASK"]
        assert visible(host, child) == []


def test_a_mask_from_the_shell_is_replaced_and_named() -> None:
    made = planned(job(), "xpu:0,2", hosts.xpu_server(), {"PATH": "/bin", "ZE_AFFINITY_MASK": "3"})
    child = environment_for(made, {"ZE_AFFINITY_MASK": "3"}, {})
    assert {name: child.get(name) for name in _INHERITED} == {
        "ZE_AFFINITY_MASK": "0,2", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1",
    }  # fmt: skip
    assert [(one.code, "ZE_AFFINITY_MASK=3" in one.message) for one in made.warnings] == [
        ("inherited-device-variables", True)
    ]


@pytest.mark.parametrize("order_variable", ["0", "1"])
def test_an_integrated_gpu_moves_no_card_under_either_order(order_variable: str) -> None:
    gpus = [Gpu(0, 0, 2, integrated=True, family="integrated"), Gpu(0, 3), Gpu(0, 4)]
    inventory = inventory_of(gpus)
    assert [view.device.pci_order for view in inventory.devices] == [None, 0, 1]
    base = {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": order_variable}
    child = environment_for(planned(job(), "xpu:1", inventory, base), base, {})
    assert "ZE_ENABLE_PCI_ID_DEVICE_ORDER" not in child
    assert [one.gpu.bus for one in torch_list(visible(gpus, child))] == [4]


def test_inside_an_allocation_what_stands_above_the_mask_limits_and_is_removed() -> None:
    server, base = hosts.xpu_server(), {"SLURM_JOB_ID": "7", "NEO_ZE_AFFINITY_MASK": "1,2,3", "ZE_AFFINITY_MASK": "0"}
    base["ONEAPI_DEVICE_SELECTOR"] = "level_zero:1,2"
    made = planned(job(), "auto:xpu:1", server, base)
    assert made.devices == (hosts.xpu(2).key,)
    child = environment_for(made, base, {})
    assert child["ZE_AFFINITY_MASK"] == "2"
    assert not {"NEO_ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"} & set(child)
    assert "inherited-device-variables" not in {warning.code for warning in made.warnings}
    tiles = planned(job(), "xpu:0.1", hosts.max_server(), {"SLURM_JOB_ID": "7", "ZE_AFFINITY_MASK": "0"})
    assert "not-yours" in {check.id for check in tiles.checks}, "tile 0 alone is in the allocation"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("level_zero:gpu", {0, 1, 2}),
        ("level_zero:0,2", {0, 2}),
        ("opencl:cpu", set()),
        ("!level_zero:1", {0, 2}),
        ("*:*;!level_zero:0", {1, 2}),
        ("nonsense", None),
        ("", None),
    ],
)
def test_a_device_selector_is_read_above_the_mask(text: str, left: set[int] | None) -> None:
    cards = [hosts.xpu(0), hosts.xpu(1), hosts.xpu(2)]
    found = launch.allowed(cards, {"ONEAPI_DEVICE_SELECTOR": text})
    keys = None if found is None else {key for key in found if "#" not in key}
    assert keys == (None if left is None else {cards[number].key for number in left})


def test_unlike_cards_in_one_selection_are_warned_about() -> None:
    arc, battlemage = hosts.xpu(0, details={"pci_id": "8086:56a0"}), hosts.xpu(1, details={"family": "bmg"})
    server = hosts.inventory(arc, battlemage, hosts.integrated_gpu())
    codes = {one.code: one.message for one in planned(job(), "xpu:0,1", server).warnings}
    assert "Arc A or Flex, Arc B" in codes["mixed-families"]
    assert not planned(job(), "xpu:1", server).warnings
    both = planned(job(), "xpu:1,pci:0000:00:02.0", server)
    assert [one.code for one in both.warnings] == ["integrated-dropped"]


def test_a_card_that_may_not_be_counted_is_told() -> None:
    odd = hosts.unusable(hosts.xpu(0), DeviceState.NEEDS_RESET)
    assert [one.code for one in planned(job(), "xpu:1", hosts.inventory(odd, hosts.xpu(1))).warnings] == [
        "order-uncertain"
    ]
    assert not planned(job(), "xpu:0", hosts.inventory(hosts.xpu(0), hosts.unusable(hosts.xpu(1)))).warnings
    flashed = hosts.unusable(hosts.xpu(0, details={"recovery": True}), DeviceState.DISABLED)
    plan = planned(job(), "xpu:1", hosts.inventory(flashed, hosts.xpu(1)))
    assert not plan.warnings, "no runtime lists a card in recovery mode"
    dark = hosts.unusable(hosts.integrated_gpu(), DeviceState.UNKNOWN)
    plan = planned(job(), "xpu:0", hosts.inventory(dark, hosts.xpu(0)))
    assert not plan.warnings, "an integrated one is counted last, whether it answers or not"
