"""The figures of devices and runs in the text format of OpenMetrics; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.model.devices import READING_NAMES, ReadingStatus
from accel_tui.model.runs import RunState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accel_tui.model.devices import Inventory
    from accel_tui.model.runs import Run

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_TOTALS = frozenset({"energy_joules", "ecc_corrected", "ecc_uncorrected", "reset_count"})
"""Readings that only ever rise."""

_FIGURES = ("step", "total", "loss", "learning_rate", "tokens_per_second", "eta_seconds")


def render(inventory: Inventory, runs: Sequence[Run]) -> str:
    """The whole exposition, ended by `# EOF`. Only readings that are `ok` appear."""
    lines = [*_devices(inventory), *_states(runs), *_progress(runs), "# EOF"]
    return "\n".join(lines) + "\n"


def _devices(inventory: Inventory) -> Iterable[str]:
    yield "# TYPE accel_tui_device info"
    for view in inventory.devices:
        device = view.device
        labels = {
            "device": device.key,
            "vendor": device.vendor,
            "name": device.name,
            "state": device.state.value,
            "driver": device.driver_version or "",
            "simulated": "true" if device.simulated else "false",
        }
        yield _sample("accel_tui_device_info", labels, 1)
    for name in READING_NAMES:
        values = [
            (view.device.key, view.device.vendor, reading.value)
            for view in inventory.devices
            if (reading := view.readings.get(name)) is not None
            and reading.status is ReadingStatus.OK
            and isinstance(reading.value, int | float)
        ]
        if not values:
            continue
        kind, suffix = ("counter", "_total") if name in _TOTALS else ("gauge", "")
        yield f"# TYPE accel_tui_device_{name} {kind}"
        for key, vendor, value in values:
            yield _sample(f"accel_tui_device_{name}{suffix}", {"device": key, "vendor": vendor}, value)


def _states(runs: Sequence[Run]) -> Iterable[str]:
    yield "# TYPE accel_tui_runs gauge"
    yield "# HELP accel_tui_runs Runs that are not finished, by state."
    for state in RunState:
        if state is not RunState.FINISHED:
            count = sum(run.state is state for run in runs)
            yield _sample("accel_tui_runs", {"state": state.value}, count)


def _progress(runs: Sequence[Run]) -> Iterable[str]:
    for name in _FIGURES:
        values = [(run, value) for run in runs if (value := getattr(run.progress, name)) is not None]
        if values:
            yield f"# TYPE accel_tui_run_{name} gauge"
            for run, value in values:
                yield _sample(f"accel_tui_run_{name}", {"run": run.id, "name": run.name}, value)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    written = ",".join(f'{label}="{escape(text)}"' for label, text in labels.items())
    return f"{name}{{{written}}} {value!r}"


def escape(text: str) -> str:
    """A label's value: backslash, quote and line feed escaped, bytes of no encoding replaced."""
    clean = re.sub(r"[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
