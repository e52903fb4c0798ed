"""Names of Intel GPUs by PCI id, for drivers that have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.vendors.xpu.ids import is_generic, name, product
from support.trees import write_tree

TABLE = """# a comment
8085  Somebody else
\te211  Not this one
8086  Intel Corporation
\t7d67  Arrow Lake-S [Intel Graphics]
\t\t1043 8694  A board
\te2ff  Battlemage G99
8087  Intel Corp.
\tbeef  Not this one either
"""


@pytest.mark.parametrize(
    ("device", "family", "tiles", "said"),
    [
        (0xE211, "bmg", 1, "Intel Arc Pro B60"),
        (0x0BD5, "pvc", 2, "Intel Data Center GPU Max 1550"),
        (0x0BDA, "pvc", 1, "Intel Data Center GPU Max 1100"),
        (0x56A0, "dg2", 1, "Intel Arc A770"),
        (0x56C1, "dg2", 1, "Intel Data Center GPU Flex 140"),
        (0xE2FF, "bmg", None, "Intel Battlemage G99"),
        (0x7D67, None, None, "Intel Arrow Lake-S [Intel Graphics]"),
        (0xBEEF, None, None, "Intel GPU 8086:beef"),
        (None, None, None, "Intel GPU"),
    ],
)
def test_an_id_tells_product_family_and_tiles(
    tmp_path: Path, device: int | None, family: str | None, tiles: int | None, said: str
) -> None:
    root = write_tree(tmp_path, {"usr/share/misc/pci.ids": TABLE})
    found = product(device)
    assert (found.family, found.tiles) == (family, tiles)
    assert name(device, root) == said


def test_a_host_without_the_table_has_the_number(tmp_path: Path) -> None:
    assert name(0xE2FF, tmp_path) == "Intel GPU 8086:e2ff"


@pytest.mark.parametrize(
    "stated", ["", "unknown", "Intel(R) Graphics [0xe211]", "Intel(R) Graphics", "N/A", "[0x56a0]", "\ufffd\ufffd"]
)
def test_generic_names_say_nothing(stated: str) -> None:
    assert is_generic(stated)


@pytest.mark.parametrize("stated", ["Intel(R) Arc(TM) Pro B60 Graphics", "Intel(R) Data Center GPU Max 1550"])
def test_real_names_count(stated: str) -> None:
    assert not is_generic(stated)
