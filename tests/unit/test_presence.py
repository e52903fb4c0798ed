"""Whether a source gets a process: only where the host has something for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.devices.presence import Presence, is_there
from accel_tui.model.places import Places
from support.trees import write_tree

INTEL = Presence("0x8086", ("0x0300", "0x0380"), ("class/drm/card*/device",), ("level_zero_loader",))


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ({}, False),
        ({"bus/pci/devices/0000:1a:00.0/vendor": "0x8086\n", "bus/pci/devices/0000:1a:00.0/class": "0x038000\n"}, True),
        (
            {"bus/pci/devices/0000:00:1f.0/vendor": "0x8086\n", "bus/pci/devices/0000:00:1f.0/class": "0x060100\n"},
            False,
        ),
        (
            {"bus/pci/devices/0000:01:00.0/vendor": "0x1da3\n", "bus/pci/devices/0000:01:00.0/class": "0x030000\n"},
            False,
        ),
        ({"class/drm/card1/device/vendor": "0x8086\n"}, True),
    ],
    ids=["nothing", "a card", "a bridge of the vendor", "another vendor", "a card without a visible PCI bus"],
)
def test_a_device_of_vendor_and_class_counts(tmp_path: Path, files: dict[str, str], there: bool) -> None:
    assert is_there(INTEL, Places(sysfs_root=str(write_tree(tmp_path, files)))) is there


def test_a_library_that_settings_name_is_asked_without_any_device(tmp_path: Path) -> None:
    assert is_there(INTEL, Places(sysfs_root=str(tmp_path), level_zero_loader="/opt/loader.so"))
    assert not is_there(INTEL, Places(sysfs_root=str(tmp_path), hl_smi="hl-smi"))
