"""What a PCI device id of Intel says: the product's name, its family, and how many tiles it has.

Ids, names and families as in the driver's own tables (intel/compute-runtime, `shared/source/dll/devices`). An id
that is not here is looked up in the host's `pci.ids`, where there is one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

VENDOR = 0x8086

_MAX, _FLEX, _ARC, _PRO = "Data Center GPU Max", "Data Center GPU Flex", "Arc", "Arc Pro"
_PRODUCTS: dict[int, str] = {
    0x0BD4: f"{_MAX} 1550", 0x0BD5: f"{_MAX} 1550", 0x0BD6: f"{_MAX} 1550", 0x0B69: f"{_MAX} 1450",
    0x0BD7: f"{_MAX} 1350", 0x0BD8: f"{_MAX} 1350", 0x0BD9: f"{_MAX} 1100", 0x0BDA: f"{_MAX} 1100",
    0x0BDB: f"{_MAX} 1100", 0x0B6E: f"{_MAX} 1100",
    0x56C0: f"{_FLEX} 170", 0x56C2: f"{_FLEX} 170", 0x56C1: f"{_FLEX} 140",
    0x56A0: f"{_ARC} A770", 0x56A1: f"{_ARC} A750", 0x56A2: f"{_ARC} A580", 0x56A5: f"{_ARC} A380",
    0x56A6: f"{_ARC} A310",
    0x56B0: f"{_PRO} A30M", 0x56B1: f"{_PRO} A40/A50", 0x56B2: f"{_PRO} A60M", 0x56B3: f"{_PRO} A60",
    0xE20B: f"{_ARC} B580", 0xE209: f"{_ARC} B580", 0xE20C: f"{_ARC} B570",
    0xE211: f"{_PRO} B60", 0xE212: f"{_PRO} B50", 0xE222: f"{_PRO} B65", 0xE223: f"{_PRO} B70",
}  # fmt: skip
_TWO_TILES = frozenset({0x0BD4, 0x0BD5, 0x0BD6, 0x0B69, 0x0BD7, 0x0BD8})
_FAMILIES = {0x0B: "pvc", 0x49: "dg1", 0x56: "dg2", 0xE2: "bmg"}
"""The discrete families by the first byte of the id."""
_PCI_IDS = ("usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids", "usr/share/pci.ids", "var/lib/pciutils/pci.ids")
_GENERIC = re.compile(
    r"|unknown|n/?a|intel(\(r\))?( corporation)?|.*\[0x[0-9a-f]+\]"
    r"|(intel(\(r\))? )?((iris )?graphics|gpu)"
)


@dataclass(frozen=True)
class Product:
    """What is known of a device by its id alone."""

    device: int | None
    family: str | None
    """`pvc`, `dg1`, `dg2`, `bmg`; None where the id tells none, as with integrated GPUs."""
    tiles: int | None

    @property
    def is_discrete(self) -> bool:
        """Whether the id is one of a card; False says nothing."""
        return self.family is not None


def product(device: int | None) -> Product:
    """What the 16-bit device id tells; nothing for None."""
    if device is None:
        return Product(None, None, None)
    family = _FAMILIES.get(device >> 8)
    # The ids of the family's integrated relatives do not begin with these bytes; 0x4905 to 0x4909 alone are DG1.
    if family == "dg1" and not 0x4905 <= device <= 0x4909:
        family = None
    tiles = 2 if device in _TWO_TILES else 1 if device in _PRODUCTS else None
    return Product(device, family, tiles)


def name(device: int | None, root: Path = Path("/")) -> str:
    """The product's name, never empty; an id that nobody knows is shown as `Intel GPU 8086:xxxx`."""
    if device is None:
        return "Intel GPU"
    if device in _PRODUCTS:
        return f"Intel {_PRODUCTS[device]}"
    return _from_pci_ids(device, root) or f"Intel GPU {VENDOR:04x}:{device:04x}"


def is_generic(stated: str) -> bool:
    """Whether a name of the driver says no more than the vendor, as old drivers do with new cards."""
    words = " ".join(stated.lower().split())
    return _GENERIC.fullmatch(words) is not None or not any(letter.isalnum() for letter in words)


@functools.cache
def _from_pci_ids(device: int, root: Path) -> str | None:
    """The entry of the host's own table, such as `Intel Arrow Lake-S [Intel Graphics]`."""
    path = next((root / place for place in _PCI_IDS if (root / place).is_file()), None)
    if path is None:
        return None
    wanted, inside = f"\t{device:04x}  ", False
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line[:1] not in "\t#\n":
                    if inside:
                        return None
                    inside = line.startswith(f"{VENDOR:04x}  ")
                elif inside and line.startswith(wanted):
                    return f"Intel {line[len(wanted) :].strip()}"
    except OSError:
        return None
    return None
