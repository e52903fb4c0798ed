"""What the words and numbers of Gaudi cards mean: states, addresses, PCIe links. Pure."""

from __future__ import annotations

import re

from accel_tui.model.devices import DeviceState

PCI_VENDOR = 0x1DA3
MODULES = 1 << 10
"""No module ID is as great: what is beyond is no module ID."""

NOT_GAUDI = frozenset({0x0001, 0xFF0D})
"""Device ids of the same vendor: Goya, and an FPGA."""
_FAMILY = range(0x1000, 0x1100)

_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.I)

# The driver's words (only the first letter is upper case); `Malfunction` stands in the kernel's own documentation.
_STATES = {
    "operational": DeviceState.OPERATIONAL,
    "in reset": DeviceState.RESETTING,
    "in device creation": DeviceState.RESETTING,
    "in reset after device release": DeviceState.RELEASING,
    "disabled": DeviceState.DISABLED,
    "malfunction": DeviceState.DISABLED,
    "needs reset": DeviceState.NEEDS_RESET,
}
_GENERATION_OF_SPEED = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*GT/s", re.I)


def address(text: str | None) -> str | None:
    """A full PCI address in lower case, `0000:17:00.0`; None when `text` is none. A missing domain is 0000."""
    match = _ADDRESS.fullmatch((text or "").strip())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def state(text: str) -> DeviceState:
    """The state that the driver's status text means; unknown words stay unknown."""
    return _STATES.get(" ".join(text.lower().split()), DeviceState.UNKNOWN)


def hexadecimal(text: str | None) -> int | None:
    """The number of a PCI file such as `0x1da3`."""
    try:
        return int((text or "").strip(), 16)
    except ValueError:
        return None


def device_id_of(number: int) -> int | None:
    """The device id in a number that joins it with the vendor's, whichever stands first; None when it is not ours."""
    high, low = number >> 16 & 0xFFFF, number & 0xFFFF
    if PCI_VENDOR in (high, low):
        return low if high == PCI_VENDOR else high
    return low if high == 0 and low in _FAMILY else None


def pcie_generation(text: str) -> int | None:
    """The PCIe generation of `Gen4`, `4`, or of a speed such as `16GT/s` and `16.0 GT/s PCIe`."""
    speed = _SPEED.match(text.strip())
    if speed is not None:
        return _GENERATION_OF_SPEED.get(float(speed.group(1)))
    match = re.fullmatch(r"(?:Gen\s*)?([1-8])", text.strip(), re.I)
    return None if match is None else int(match.group(1))


def pcie_width(text: str) -> int | None:
    """The lanes of `x16` or `16`."""
    match = re.fullmatch(r"x?([1-9]\d?)", text.strip(), re.I)
    return int(match.group(1)) if match is not None and int(match.group(1)) <= 32 else None
