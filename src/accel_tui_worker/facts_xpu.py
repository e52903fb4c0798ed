"""What torch says of Intel GPUs, once its runtime has started: counts before that are guesses.

With `pyzes` installed torch counts before the start through Sysman, in an order of its own (pytorch `torch/xpu`, 2.13
on), and processes that launchers start are counted that way.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

_LIBRARIES = {
    "loader": re.compile(r"libze_loader\.so\.([0-9.]+)$"),
    "driver": re.compile(r"libze_intel_gpu\.so\.([0-9.]+)$"),
    "legacy_driver": re.compile(r"libze_intel_gpu_legacy1\.so\.([0-9.]+)$"),
}
_MAPS = Path("/proc/self/maps")


def examine(torch: Any, document: dict[str, Any]) -> None:
    """Fill `devices.xpu`, `bf16.xpu` and `xpu`: `compiled`, `available`, `counted_before`, `cards`, `libraries`.

    Raises:
        Exception: whatever the runtime does; what was found until then stays in `document`.
    """
    told: dict[str, Any] = {"compiled": False, "available": False, "counted_before": None, "cards": [], "libraries": {}}
    document["xpu"] = told
    xpu = getattr(torch, "xpu", None)
    if xpu is None:
        return
    compiled = getattr(xpu, "_is_compiled", None)
    told["compiled"] = bool(compiled()) if compiled is not None else xpu.is_available()
    if not told["compiled"]:
        return
    told["counted_before"] = int(xpu.device_count())
    try:
        xpu.init()
    finally:
        told["libraries"] = libraries(_MAPS)
    count = int(xpu.device_count())
    document["devices"]["xpu"] = count
    told["available"] = bool(xpu.is_available())
    told["cards"] = [_card(xpu.get_device_properties(index)) for index in range(count)]
    if count:
        supported = getattr(xpu, "is_bf16_supported", None)
        document["bf16"]["xpu"] = bool(supported()) if supported is not None else None


def _card(properties: Any) -> dict[str, Any]:
    from accel_tui_worker.placement_xpu import key_of, octets

    identity = octets(getattr(properties, "uuid", None))
    native = getattr(properties, "has_bfloat16_conversions", None)
    return {
        "name": str(getattr(properties, "name", "")),
        "key": key_of(identity) if identity is not None else None,
        "driver_version": str(getattr(properties, "driver_version", "")) or None,
        "memory_bytes": getattr(properties, "total_memory", None),
        "bf16_native": None if native is None else bool(native),
    }


def libraries(maps: Path) -> dict[str, str]:
    """Versions of the Level Zero parts that this process has loaded, by the names of their files.

    A driver's file is called `libze_intel_gpu.so.1.6.33578`: the third number is the build.
    """
    found: dict[str, str] = {}
    try:
        lines = maps.read_text("utf-8", "replace").splitlines()
    except OSError:
        return found
    for path in {line.split(maxsplit=5)[5] for line in lines if line.count(" ") >= 5 and "libze_" in line}:
        name = os.path.basename(os.path.realpath(path))  # noqa: PTH119 - the last name alone
        for part, pattern in _LIBRARIES.items():
            match = pattern.search(name)
            if match:
                found[part] = match[1]
    return found
