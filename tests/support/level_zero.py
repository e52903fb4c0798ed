"""A model of how Intel's Level Zero driver and torch list GPUs: written from the driver's rules, not from our code.

`visible` is what the runtime of a process with an environment reports, `torch_list` what torch makes of it. It reads
the variables as the driver does, wrong ones included; what makes the driver crash raises `DriverCrashError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


class DriverCrashError(Exception):
    """Text that the driver does not survive: an empty item, or one that is no number."""


@dataclass(frozen=True)
class Gpu:
    """One GPU of the host, as the hardware is."""

    domain: int
    bus: int
    slot: int = 0
    function: int = 0
    integrated: bool = False
    tiles: int = 1
    opens: bool = True
    """Whether the process can open its render node."""
    family: str = "bmg"

    @property
    def address(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.slot:02x}.{self.function:x}"


@dataclass(frozen=True)
class Shown:
    """One device that the runtime lists: a whole GPU, or one of its tiles."""

    gpu: Gpu
    tiles: tuple[int, ...]
    """All of them for a whole GPU."""

    @property
    def whole(self) -> bool:
        return len(self.tiles) == self.gpu.tiles


def visible(gpus: Iterable[Gpu], environment: Mapping[str, str]) -> list[Shown]:
    """The devices of a process with `environment`, in the runtime's order."""
    ranked = sorted((gpu for gpu in gpus if gpu.opens), key=lambda gpu: _rank(gpu, _on(environment)))
    flat = [_exposes_tiles(gpu, environment) for gpu in ranked]
    enabled = _enabled(ranked, flat, _setting(environment, "ZE_AFFINITY_MASK"))
    devices = []
    for gpu, exposes, bits in zip(ranked, flat, enabled, strict=True):
        if not bits:
            continue
        devices += [Shown(gpu, (tile,)) for tile in sorted(bits)] if exposes else [Shown(gpu, tuple(sorted(bits)))]
    return devices


def torch_list(devices: Sequence[Shown]) -> list[Shown]:
    """What torch lists: the first platform with a discrete GPU, integrated ones only where there is no discrete."""
    discrete = [device for device in devices if not device.gpu.integrated]
    if not discrete:
        return list(devices)
    # Families are platforms; the newest discrete one stands in front.
    newest = max((device.gpu.family for device in discrete), key=("dg1", "dg2", "pvc", "bmg").index)
    return [device for device in discrete if device.gpu.family == newest]


def _rank(gpu: Gpu, by_address: bool) -> tuple[int, ...]:
    address = (gpu.domain, gpu.bus, gpu.slot, gpu.function)
    return address if by_address else (int(gpu.integrated), *address)


def _on(environment: Mapping[str, str]) -> bool:
    text = _setting(environment, "ZE_ENABLE_PCI_ID_DEVICE_ORDER")
    return text is not None and re.match(r"\s*[-+]?0*[1-9]", text) is not None


def _exposes_tiles(gpu: Gpu, environment: Mapping[str, str]) -> bool:
    words = _setting(environment, "ZE_FLAT_DEVICE_HIERARCHY")
    if words in ("FLAT", "COMBINED"):
        return True
    return words != "COMPOSITE" and gpu.tiles > 1


def _setting(environment: Mapping[str, str], name: str) -> str | None:
    for prefix in ("NEO_L0_", "NEO_", ""):
        text = environment.get(prefix + name)
        if text is not None:
            return text
    return None


def _enabled(gpus: Sequence[Gpu], flat: Sequence[bool], mask: str | None) -> list[set[int]]:
    """For each GPU the tiles that the mask leaves."""
    if mask in (None, "", "default"):
        return [set(range(gpu.tiles)) for gpu in gpus]
    left: list[set[int]] = [set() for _ in gpus]
    if any(flat):  # the hierarchy is one setting of the process: tiles of all cards are counted through
        places = [(at, tile) for at, gpu in enumerate(gpus) for tile in range(gpu.tiles)]
    else:
        places = [(at, -1) for at in range(len(gpus))]
    for item in str(mask).split(","):
        if not item:
            raise DriverCrashError(mask)
        parts = item.split(".")
        index = _stoul(parts[0])
        if index >= len(places):
            continue
        at, tile = places[index]
        if tile >= 0:
            left[at].add(tile)
        elif len(parts) > 1:
            if _stoul(parts[1]) < gpus[at].tiles:
                left[at].add(_stoul(parts[1]))
        else:
            left[at] |= set(range(gpus[at].tiles))
    return left


def _stoul(text: str) -> int:
    """`std::stoul(text, nullptr, 0)`: a prefix is enough, the base follows from how it begins, below zero is huge."""
    match = re.match(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", text)
    if match is None:
        raise DriverCrashError(text)
    digits = match[2]
    number = int(digits, 16) if digits[:2].lower() == "0x" else int(digits, 8) if digits[0] == "0" else int(digits)
    return number if match[1] != "-" else (1 << 64) - number
