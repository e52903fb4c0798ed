"""How the readings of simulated cards move: smooth, seeded by the card, and the same at the same time on every host."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, ReadingStatus, denied, ok

if TYPE_CHECKING:
    from accel_tui.vendors.demo.servers import Card

SOURCE = "simulated"
_STALE_PERIOD = 600.0
_RUN_LOAD, _RUN_MEMORY = 0.82, 0.68
"""What a card does, and how much of its memory is taken, while a run has it."""
_LOADING_SECONDS = 12.0
"""How long a model is loaded before the card computes."""


def readings(card: Card, moment: float) -> dict[str, Reading]:
    """All readings of a card at `moment`, in seconds since the epoch."""
    values = _host(card, moment) if card.model.vendor == "cpu" else _accelerator(card, moment)
    named = {name: ok(value, SOURCE) for name, value in values.items()}
    if card.stale:
        age = 14.0 + moment % _STALE_PERIOD
        reason = f"the card has not answered for {age:.0f} s"
        stale = Reading(ReadingStatus.STALE, reason=reason, source=SOURCE, age_seconds=age)
        return dict.fromkeys(named, stale)
    for name in card.denied:
        named[name] = denied("needs root, which this account is not (invented, as everything here)", SOURCE)
    return named


def activity(card: Card, moment: float) -> float:
    """Utilization from 0 to 1: waves of three lengths about the card's load; an idle card stays at 0."""
    load = max(card.load, _RUN_LOAD * max(0.0, 2 * _loaded(card, moment) - 1))
    if load <= 0:
        return 0.0
    swing = min(load, 1 - load) * 0.8
    return min(1.0, max(0.0, load + swing * _wave(card, moment)))


def _loaded(card: Card, moment: float) -> float:
    """How much of its model the card's run has loaded, 0 to 1."""
    return 0.0 if card.run_since is None else min(1.0, max(0.0, (moment - card.run_since) / _LOADING_SECONDS))


def _wave(card: Card, moment: float) -> float:
    """Between -1 and 1; each card has its own."""
    phase = zlib.crc32(card.device.key.encode()) / 2**32 * math.tau
    return (
        0.5 * math.sin(math.tau * moment / 97 + phase)
        + 0.3 * math.sin(math.tau * moment / 23 + 2 * phase)
        + 0.2 * math.sin(math.tau * moment / 7 + 3 * phase)
    )


def _accelerator(card: Card, moment: float) -> dict[str, float | str]:
    model, busy, wave = card.model, activity(card, moment), _wave(card, moment)
    span = model.top_watts - model.idle_watts
    used = model.idle_memory_bytes if card.used_bytes is None else card.used_bytes
    used = max(used, int(_RUN_MEMORY * _loaded(card, moment) * model.memory_bytes))
    values: dict[str, float | str] = {
        "utilization_percent": round(100 * busy, 1),
        "memory_used_bytes": int(used + busy * (1 << 28)),
        "memory_bandwidth_percent": round(62 * busy, 1),
        "power_watts": round(model.idle_watts * (1 + 0.01 * wave) + busy * span, 1),
        "power_limit_watts": model.limit_watts,
        "energy_joules": round((model.idle_watts + card.load * span) * (moment % 1e6)),
        "temperature_celsius": round(37 + 28 * busy + wave, 1),
        "temperature_memory_celsius": round(41 + 30 * busy + wave, 1),
        "clock_mhz": round(model.idle_mhz + (model.top_mhz - model.idle_mhz) * min(1.0, 2 * busy)),
        "throttle_reasons": "none",
        "ecc_corrected": zlib.crc32(card.device.key.encode()) % 3,
        "ecc_uncorrected": 0,
        "pcie_gen": model.pcie_gen,
        "pcie_width": model.pcie_width,
        "pcie_rx_bytes_per_second": int(2.1e9 * busy),
        "pcie_tx_bytes_per_second": int(0.8e9 * busy),
        "reset_count": 0,
    }
    if model.links is not None:
        values |= {"links_up": model.links, "links_expected": model.links}
    if model.fan_rpm is not None:
        values["fan_rpm"] = round(model.fan_rpm * (1 + 2 * busy))
    if model.integrated:  # it shares memory and power with the CPU, and sits on no slot
        own = {"utilization_percent", "memory_used_bytes", "temperature_celsius", "clock_mhz", "throttle_reasons"}
        values = {name: value for name, value in values.items() if name in own}
    return values


def _host(card: Card, moment: float) -> dict[str, float | str]:
    model, busy = card.model, activity(card, moment)
    return {
        "utilization_percent": round(100 * busy, 1),
        "memory_used_bytes": int(model.idle_memory_bytes * (1 + busy)),
        "power_watts": round(model.idle_watts + busy * (model.top_watts - model.idle_watts), 1),
        "power_limit_watts": model.limit_watts,
        "temperature_celsius": round(38 + 40 * busy, 1),
        "clock_mhz": round(model.idle_mhz + (model.top_mhz - model.idle_mhz) * busy),
    }
