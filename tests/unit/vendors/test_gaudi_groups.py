"""Which Gaudi cards go together, which of them `auto` takes, and what a plan says of the rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from accel_tui.jobs import selectors
from accel_tui.model.devices import DeviceState, DeviceView, Inventory, absent, denied, ok
from accel_tui.model.plans import CheckLevel
from accel_tui.vendors.gaudi import generations, groups
from support import hosts
from support.planning import job, planned

SERVER = [hosts.gaudi(module) for module in range(8)]


def cards(*modules: int) -> list[Any]:
    return [hosts.gaudi(module) for module in modules]


def with_readings(inventory: Inventory, modules: tuple[int, ...], **readings: Any) -> Inventory:
    views = [
        dataclasses.replace(view, readings=readings) if view.device.module_id in modules else view
        for view in inventory.devices
    ]
    return dataclasses.replace(inventory, devices=tuple(views))


def level(select: str, inventory: Inventory, identifier: str, processes: int = 0, **launch: Any) -> CheckLevel | None:
    if processes:
        launch |= {"launcher": "torchrun", "processes": processes}
    checks = planned(job(**launch), select, inventory, port=29500).checks
    return next((check.level for check in checks if check.id == identifier), None)


@pytest.mark.parametrize("machine", [(0, 1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 4, 5, 6, 7)])
def test_the_groups_of_a_server_are_aligned_by_module_id(machine: tuple[int, ...]) -> None:
    found = [groups.label(group) for group in groups.groups(cards(*machine))]
    pairs = [pair for pair in ("0,1", "2,3", "4,5", "6,7") if all(int(part) in machine for part in pair.split(","))]
    quads = [quad for quad in ("0-3", "4-7") if set(range(int(quad[0]), int(quad[2]) + 1)) <= set(machine)]
    assert found == [*pairs, *quads, "0-7" if len(machine) == 8 else "0,1,2,4,5,6,7"]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ((1, 2, 4, 5), ["1,2,4,5"]),
        ((0, 3, 6, 7), ["0,3,6,7"]),
        ((1, 2), ["1,2"]),
        ((6,), []),
        ((4, 5, 6, 7), ["4,5", "6,7", "4-7"]),
        ((2, 3), ["2,3"]),
    ],
)
def test_in_a_virtual_machine_it_is_one_card_or_all(machine: tuple[int, ...], expected: list[str]) -> None:
    assert [groups.label(group) for group in groups.groups(cards(*machine))] == expected
    assert groups.fault(cards(*machine), cards(*machine)) is None


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ((1, 2), "2 begin at an even module"),
        ((2, 3, 4, 5), "4 begin at module 0 or 4"),
        ((0, 1, 2), "1, 2, 4 or all go together"),
        ((0, 1, 2, 3, 4, 5), "1, 2, 4 or all go together"),
        ((0, 4), "2 begin at an even module"),
    ],
)
def test_the_reason_is_told(modules: tuple[int, ...], words: str) -> None:
    found = groups.fault(cards(*modules), SERVER)
    assert found is not None
    assert found.brief == words
    assert groups.remedy(cards(*modules), SERVER).startswith("take ")


def test_a_part_of_an_odd_machine_has_its_own_words() -> None:
    found = groups.fault(cards(4, 5), cards(1, 2, 4, 5))
    assert found is not None
    assert "this machine's 1,2,4,5" in found.words
    assert groups.remedy(cards(4, 5), cards(1, 2, 4, 5)) == "take one card, or modules 1,2,4,5"
    unknown = [hosts.gaudi(0), dataclasses.replace(hosts.gaudi(1), module_id=None)]
    judged = groups.fault(unknown, [*unknown, *cards(2, 3)])
    assert judged is not None
    assert "not known" in judged.brief


def test_auto_takes_an_aligned_group_that_is_free_and_sound() -> None:
    held = tuple(hosts.gaudi(module).key for module in (1, 4))
    server = hosts.inventory(*SERVER, held=held)
    assert selectors.resolve("auto:gaudi:2", server).keys == tuple(card.key for card in cards(2, 3))
    four = selectors.resolve("auto:gaudi:4", server)
    assert (four.waiting_for, four.possible) == ("4 free gaudi devices", True)
    broken = with_readings(server, (3,), links_up=ok(20, "hl-smi"), links_expected=ok(21, "hl-smi"))
    assert selectors.resolve("auto:gaudi:2", broken).keys == tuple(card.key for card in cards(6, 7))
    everywhere = with_readings(server, tuple(range(8)), links_up=ok(20, "hl-smi"), links_expected=ok(21, "hl-smi"))
    assert selectors.resolve("auto:gaudi:2", everywhere).keys == tuple(card.key for card in cards(2, 3))
    unknown = with_readings(server, (3,), links_up=denied("needs root"), links_expected=ok(21, "hl-smi"))
    assert selectors.resolve("auto:gaudi:2", unknown).keys == tuple(card.key for card in cards(2, 3))


def test_ports_that_are_down_do_not_keep_auto_from_what_alone_is_to_be_had() -> None:
    down = with_readings(hosts.gaudi_server(), (5,), links_up=ok(20, "hl-smi"), links_expected=ok(21, "hl-smi"))
    allowed = {card.key for card in cards(4, 5)}
    others = {view.device.key for view in down.devices} - allowed
    found = selectors.resolve("auto:gaudi:2", down, outside=others)
    assert (set(found.keys), found.possible) == (allowed, True)
    broken = dataclasses.replace(
        down,
        devices=tuple(
            dataclasses.replace(view, device=dataclasses.replace(view.device, state=DeviceState.NEEDS_RESET))
            if view.device.module_id == 2
            else view
            for view in down.devices
        ),
    )
    assert selectors.resolve("auto:gaudi:4", broken).keys == tuple(card.key for card in cards(4, 5, 6, 7))
    assert selectors.resolve("auto:gaudi:4", down).keys == tuple(card.key for card in cards(0, 1, 2, 3))


@pytest.mark.parametrize("count", [3, 5, 6, 7])
def test_auto_never_makes_a_group_that_is_not_supported(count: int) -> None:
    assert not selectors.resolve(f"auto:gaudi:{count}", hosts.gaudi_server()).possible


def test_auto_in_an_odd_virtual_machine() -> None:
    guest = hosts.inventory(*cards(1, 2, 4, 5))
    assert selectors.resolve("auto:gaudi:4", guest).keys == tuple(card.key for card in cards(1, 2, 4, 5))
    assert not selectors.resolve("auto:gaudi:2", guest).possible
    assert selectors.resolve("auto:gaudi:1", guest).keys == (hosts.gaudi(1).key,)


def test_a_plan_asks_before_an_odd_group() -> None:
    server = hosts.gaudi_server()
    assert level("gaudi:1,2", server, "device-group", 2) is CheckLevel.ASK
    assert level("gaudi:0,1", server, "device-group", 2) is None
    assert level("gaudi:0-7", server, "device-group", 8) is None
    assert level("gaudi:1,2", server, "one-process", 1) is CheckLevel.ASK
    assert level("gaudi:1,2", server, "device-group", launcher="none") is CheckLevel.WARNING, "it may do so"
    assert level("gaudi:1,2", hosts.inventory(*cards(1, 2)), "device-group", 2) is None


def test_ports_matter_where_ranks_talk() -> None:
    server = with_readings(hosts.gaudi_server(), (1,), links_up=ok(19, "hl-smi"), links_expected=ok(21, "hl-smi"))
    assert level("gaudi:0,1", server, "device-links", 2) is CheckLevel.WARNING
    assert level("gaudi:1", server, "device-links") is None


@pytest.mark.parametrize(
    ("name", "identifier", "number"),
    [
        ("HL-205", None, 1), ("HL-225", None, 2), ("HL-288E", None, 2), ("HL-325L", None, 3), ("HL-338", None, 3),
        ("GAUDI", None, 1), ("GAUDI2C", None, 2), ("GAUDI3 HL-338", None, 3), ("GAUDI SEC", None, 1),
        ("?", "1da3:1060", 3), ("?", "0x1da31020", 2), ("?", "0x10601da3", 3), ("?", None, None),
        ("GOYA", None, None), ("Gaudi", None, None), ("gaudi:0", None, None),
    ],
)  # fmt: skip
def test_the_generation_of_a_card(name: str, identifier: str | None, number: int | None) -> None:
    card = hosts.gaudi(0, name=name, details={"pci_id": identifier} if identifier else {})
    assert generations.generation(card) == number


def test_memory_without_a_holder_is_a_doubt_only_above_the_idle_baseline() -> None:
    server = hosts.gaudi_server()
    idle = with_readings(server, (0,), memory_used_bytes=ok(672 << 20, "hl-smi"))
    full = with_readings(server, (0,), memory_used_bytes=ok(90 << 30, "hl-smi"))
    assert level("gaudi:0", idle, "device-in-use") is None
    assert selectors.resolve("auto:gaudi:1", idle).keys == (hosts.gaudi(0).key,)
    assert level("gaudi:0", full, "device-in-use") is CheckLevel.ASK
    assert selectors.resolve("auto:gaudi:1", full).keys == (hosts.gaudi(1).key,)
    assert selectors.resolve("auto:gaudi:2", full).keys == tuple(card.key for card in cards(2, 3))
    for reading in (absent("none"), denied("root")):
        unknown = with_readings(server, (0,), memory_used_bytes=reading)
        assert level("gaudi:0", unknown, "device-in-use") is None
    held = hosts.inventory(*SERVER, held=(hosts.gaudi(0).key,))
    held = with_readings(held, (0,), memory_used_bytes=ok(90 << 30, "hl-smi"))
    assert level("gaudi:0", held, "device-in-use") is None
    assert level("gaudi:0", held, "device-busy") is CheckLevel.WARNING


def test_a_card_that_is_not_in_order_is_not_offered() -> None:
    broken = [hosts.unusable(card, DeviceState.NEEDS_RESET) if card.module_id == 0 else card for card in SERVER]
    inventory = Inventory("h", "t", tuple(DeviceView(card) for card in broken))
    assert selectors.resolve("auto:gaudi:4", inventory).keys == tuple(card.key for card in cards(4, 5, 6, 7))
    assert selectors.resolve("auto:gaudi:8", inventory).waiting_for == "8 free gaudi devices"
