"""Invented hosts: inventories of every vendor, for tests of selection and planning."""

from __future__ import annotations

import dataclasses
from typing import Any

from accel_tui.model.devices import Device, DeviceState, DeviceView, Holder, Inventory


def cpu(cores: int = 16) -> Device:
    return Device("cpu", "cpu", "cpu", "Invented CPU", details={"cores": cores})


def gaudi(module: int, **more: Any) -> Device:
    """The card of a module; index and PCI order differ from the module on purpose."""
    address = f"0000:{0x19 + 0x11 * (7 - module):02x}:00.0"
    return dataclasses.replace(
        Device(f"pci:{address}", "gaudi", "hpu", "HL-325L", index=(module + 3) % 8, module_id=module,
               pci_address=address, pci_order=7 - module), **more)  # fmt: skip


def xpu(order: int, **more: Any) -> Device:
    address = f"0000:{0x1A + order * 0x10:02x}:00.0"
    return dataclasses.replace(
        Device(f"pci:{address}", "xpu", "xpu", "Arc Pro B60", index=order, pci_address=address, pci_order=order), **more
    )


def integrated_gpu() -> Device:
    return Device("pci:0000:00:02.0", "xpu", "xpu", "Integrated", index=9, pci_address="0000:00:02.0",
                  details={"integrated": True})  # fmt: skip


def inventory(*devices: Device, held: tuple[str, ...] = ()) -> Inventory:
    """A host with its CPU and `devices`; those in `held` are open in a stranger's process."""
    holder = (Holder(4242, "ana", "python"),)
    views = [DeviceView(device, holders=holder if device.key in held else ()) for device in (cpu(), *devices)]
    return Inventory("testhost", "2026-01-31T12:41:07.250Z", tuple(views))


def gaudi_server(count: int = 8, **more: Any) -> Inventory:
    return inventory(*(gaudi(module, **more) for module in range(count)))


def xpu_server(count: int = 4, **more: Any) -> Inventory:
    return inventory(*(xpu(order, **more) for order in range(count)))


def max_server() -> Inventory:
    """Two cards of two tiles each."""
    return xpu_server(2, details={"tiles": 2}, name="Max 1550")


def unusable(device: Device, state: DeviceState = DeviceState.NO_ACCESS) -> Device:
    return dataclasses.replace(device, state=state)
