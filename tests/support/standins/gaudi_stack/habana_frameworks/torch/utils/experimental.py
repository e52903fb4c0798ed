"""Stand-in for the part that transformers 4.x and accelerate ask for the generation of the card."""

from __future__ import annotations

import types

synDeviceType = types.SimpleNamespace(synDeviceGaudi=0, synDeviceGaudi2=1, synDeviceGaudi3=2)  # noqa: N816 - its name


def _get_device_type() -> int:
    return int(synDeviceType.synDeviceGaudi3)
