"""What every device source must hold to; a vendor's tests call `check_source` with a way to open theirs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from accel_tui.devices.provider import Answer, Readings, Source, ask, decode
from accel_tui.model.devices import READING_NAMES, Device, Problem, Reading, ReadingStatus

CALL_SECONDS = 5.0
"""Only ends a broken source: a probe process has a deadline of this order."""

_BOUNDS: Mapping[str, tuple[float, float]] = {
    "utilization_percent": (0, 100),
    "memory_used_bytes": (0, 1 << 50),
    "memory_bandwidth_percent": (0, 100),
    "power_watts": (0, 5000),
    "power_limit_watts": (1, 5000),
    "energy_joules": (0, float("inf")),
    "temperature_celsius": (-40, 150),
    "temperature_memory_celsius": (-40, 150),
    "clock_mhz": (0, 10_000),
    "pcie_gen": (1, 8),
    "pcie_width": (1, 32),
    "fan_rpm": (0, 50_000),
}


def check_source(open_source: Callable[[], Source]) -> tuple[tuple[Device, ...], Readings]:
    """Examine a source as a probe process uses it, twice over, and give the devices and the last readings."""
    source = open_source()
    assert source.name
    assert source.vendor
    first, second = _asked(source, "inventory"), _asked(source, "inventory")
    _check_devices(first.devices)
    assert [d.key for d in first.devices] == [d.key for d in second.devices], "keys are stable"
    assert all(isinstance(problem, Problem) and problem.message for problem in first.problems)
    _asked(source, "read")
    readings = _asked(source, "read").readings
    keys = {device.key for device in second.devices}
    assert set(readings) <= keys, "readings belong to listed devices"
    for device in second.devices:
        for name, reading in readings.get(device.key, {}).items():
            _check_reading(name, reading, device)
    held = _asked(source, "holders").holders
    assert set(held) <= keys
    assert all(holder.pid > 0 for holders in held.values() for holder in holders)
    _check_reopened(open_source, keys)
    return second.devices, readings


def _asked(source: Source, question: str) -> Answer:
    """One question through JSON and back; nothing may be lost on the way, and nothing may raise."""
    begun = time.monotonic()
    document = ask(source, question)
    assert time.monotonic() - begun < CALL_SECONDS
    text = json.dumps(document, allow_nan=False)
    answer = decode(json.loads(text))
    assert {key: set(named) for key, named in document.get("readings", {}).items()} == {
        key: set(named) for key, named in answer.readings.items()
    }, "only names that the contract knows"
    again = [device.to_json() for device in answer.devices]
    assert again == document.get("devices", []), "devices survive the pipe"
    return answer


def _check_devices(devices: tuple[Device, ...]) -> None:
    keys = [device.key for device in devices]
    assert len(set(keys)) == len(keys)
    for device in devices:
        assert device.name
        assert device.torch_device
        assert device.memory_total_bytes is None or device.memory_total_bytes > 1 << 20
        if device.key == "cpu":
            assert device.vendor == "cpu"
        else:
            address = device.key.partition("#")[0].removeprefix("pci:")
            assert device.key.startswith("pci:")
            assert device.pci_address == address == address.lower()


def _check_reading(name: str, reading: Reading, device: Device) -> None:
    where = f"{device.key} {name}"
    assert name in READING_NAMES, where
    assert reading.source, where
    if reading.status is not ReadingStatus.OK:
        assert reading.value is None, f"{where}: only ok carries a value"
        assert reading.reason, f"{where}: {reading.status.value} says why"
        return
    if name == "throttle_reasons":
        assert isinstance(reading.value, str), where
        return
    assert isinstance(reading.value, int | float), where
    low, high = _BOUNDS.get(name, (0, float("inf")))
    assert low <= reading.value <= high, f"{where}: {reading.value}"
    if name == "memory_used_bytes" and device.memory_total_bytes is not None:
        assert reading.value <= device.memory_total_bytes, where


def _check_reopened(open_source: Callable[[], Source], keys: set[str]) -> None:
    assert {device.key for device in _asked(open_source(), "inventory").devices} == keys, "keys survive a new process"
