"""Proof of placement: which card a rank holds, from real open files below a made /dev and a made /sys."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui_worker.placement import Held, Places, Wanted, judge, wanted_card
from accel_tui_worker.placement_gaudi import held
from support import gaudi_nodes


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Modules 4 to 7, none of which has its own number for an index."""
    nodes = gaudi_nodes.make(tmp_path)
    return Places(nodes.sysfs, nodes.dev)


@contextlib.contextmanager
def opened(*nodes: Path) -> Iterator[None]:
    descriptors = [os.open(node, os.O_RDWR) for node in nodes]
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def test_a_card_is_known_by_its_node_and_named_by_address_and_module(places: Places) -> None:
    node = places.dev_root / "accel/accel2"
    with opened(node, places.dev_root / "accel/accel_controlD0"):
        assert held(places, "hpu") == [Held("pci:0000:5d:00.0", str(node), 7)]
    assert held(places, "hpu") == []


def test_older_layouts_and_missing_attributes(places: Places) -> None:
    old = places.sysfs_root / "class/habanalabs/hl1"
    old.mkdir(parents=True)
    (old / "pci_addr").write_text("0000:AB:00.0\n")
    node = places.dev_root / "hl1"
    node.touch()
    with opened(node):
        assert held(places, "hpu") == [Held("pci:0000:ab:00.0", str(node), None)]
    card = places.sysfs_root / "class/accel/accel3/device"
    (card / "pci_addr").unlink()
    (card / "module_id").unlink()
    node = places.dev_root / "accel/accel3"
    with opened(node):
        assert held(places, "hpu") == [Held("pci:0000:4b:00.0", str(node), None)], "the link tells the address"
    (places.sysfs_root / "class/accel/accel3/device").unlink()
    with opened(node):
        assert held(places, "hpu") == [Held(None, str(node), None)]


def test_a_card_of_another_vendor_in_the_same_class_is_none_of_ours(places: Places) -> None:
    (places.sysfs_root / "class/accel/accel1/device/vendor").write_text("0x8086\n")
    with opened(places.dev_root / "accel/accel1"):
        assert held(places, "hpu") == []


def test_the_card_of_a_rank_by_the_order_of_the_selection() -> None:
    environment = {"ACCEL_TUI_CARDS": "pci:0000:17:00.0,pci:0000:29:00.0", "HABANA_VISIBLE_MODULES": "4,5"}
    assert wanted_card(environment, 1) == Wanted("pci:0000:29:00.0", 5)
    assert wanted_card(environment, 2) is None
    assert wanted_card({}, 0) is None


@pytest.mark.parametrize(
    ("wanted", "cards", "status"),
    [
        (Wanted("pci:a", 4), [Held("pci:a", "n", 4)], "verified"),
        (Wanted("pci:a", 4), [Held("pci:b", "n", 4)], "different"),
        (Wanted("pci:a", 4), [Held("pci:a", "n", 4), Held("pci:b", "m", 5)], "different"),
        (Wanted("pci:a", 4), [Held(None, "n", 4)], "verified"),
        (Wanted("pci:a", 4), [Held(None, "n", 5)], "different"),
        (Wanted("gaudi:4", 4), [Held("pci:a", "n", 4)], "verified"),
        (Wanted("gaudi:4", 4), [Held("pci:a", "n", None)], "not-verified"),
        (Wanted("pci:a", 4), [Held(None, "n", None)], "not-verified"),
        (Wanted("pci:a", 4), [], "not-verified"),
        (None, [Held("pci:a", "n", 4)], "not-verified"),
        (Wanted("pci:a#0"), [Held("pci:a#1")], "different"),
    ],
)
def test_what_is_held_against_what_was_planned(wanted: Wanted | None, cards: list[Held], status: str) -> None:
    found = judge(wanted, cards)
    assert found.status == status
    assert (found.reason is None) == (status == "verified")
