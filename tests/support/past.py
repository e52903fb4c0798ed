"""What the server of the pictures did in the last minutes, and the curves of its run. Invented and fixed."""

from __future__ import annotations

import math
from typing import Any

from accel_tui.model.devices import Inventory
from accel_tui.model.times import time_text
from support.scene import GIB, NOW

_NAMES = ("utilization_percent", "memory_used_bytes", "temperature_celsius", "power_watts")


def history(inventory: Inventory, seconds: int = 900) -> dict[str, dict[str, list[list[float | None]]]]:
    """One reading a second up to now; a short gap of all, and one card that stopped 14 s ago."""
    found: dict[str, dict[str, list[list[float | None]]]] = {}
    for place, view in enumerate(inventory.devices):
        series: dict[str, list[list[float | None]]] = {}
        for name in _NAMES:
            reading = view.readings.get(name)
            if reading is None or reading.status.value in ("absent", "denied"):
                continue
            stopped = reading.status.value == "stale"
            base = float(reading.value) if isinstance(reading.value, (int, float)) else _guess(name)
            series[name] = [
                [NOW - ago, None if 118 < ago < 132 or (stopped and ago < 14) else _wave(base, place, ago, name)]
                for ago in range(seconds, -1, -1)
            ]
        found[view.device.key] = series
    return found


def _guess(name: str) -> float:
    return {"utilization_percent": 46.0, "memory_used_bytes": 30.0 * GIB}.get(name, 50.0)


def _wave(base: float, place: int, ago: int, name: str) -> float:
    if name != "utilization_percent" or base == 0:
        return base
    swing = min(base, 100 - base) * (0.9 if place in (4, 6) else 0.3)
    return base + swing * math.sin(ago / (5 + place)) * math.cos(ago / 17)


def curves(seconds: int = 11500, step_every: int = 10) -> list[dict[str, Any]]:
    """A loss that falls, with a spike; learning rate, gradient norm and speed beside it."""
    points: dict[str, list[list[Any]]] = {
        name: [] for name in ("loss", "learning_rate", "grad_norm", "tokens_per_second")
    }
    for number, ago in enumerate(range(seconds, 0, -seconds // 300)):
        step, time = number * step_every * 27 // 100, time_text(NOW - ago)
        spike = 0.5 if 190 < number < 196 else 0.0
        points["loss"].append([time, step, 1.25 + 2.1 * math.exp(-number / 60) + 0.02 * math.sin(number) + spike])
        points["learning_rate"].append([time, step, 2e-5 * (1 - number / 560)])
        points["grad_norm"].append([time, step, 0.8 + 0.1 * math.cos(number / 3)])
        points["tokens_per_second"].append([time, step, 41200 + 900 * math.sin(number / 9)])
    return [{"name": name, "unit": "1", "points": found} for name, found in sorted(points.items())]
