"""The server of the example pictures: eight cards, six runs, a moment. Invented and fixed."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

from accel_tui.model.devices import (
    Device,
    DeviceState,
    DeviceView,
    Holder,
    Inventory,
    Problem,
    Reading,
    ReadingStatus,
    absent,
    denied,
    ok,
)
from accel_tui.model.runs import Cause, Diagnosis, Progress, Run, RunResult, RunState
from accel_tui.model.times import time_text

GIB = 1 << 30
ZONE = datetime.timezone.utc
NOW = datetime.datetime(2026, 11, 30, 12, 41, 7, tzinfo=ZONE).timestamp()

_CARDS = (
    # module, index, bus, utilization, GiB, degrees, watts
    (0, 2, "19", 94, 88.2, 61, 540),
    (1, 0, "3b", 92, 88.2, 60, 538),
    (2, 1, "4c", 88, 88.4, 62, 545),
    (3, 3, "5d", 71, 87.9, 66, 431),
    (4, 6, "9a", 39, 61.5, 49, 318),
    (5, 4, "b3", 99, 119.6, 64, 588),
    (6, 7, "cc", None, None, None, None),
    (7, 5, "dd", 0, 0.7, 37, 224),
)


def key(bus: str) -> str:
    return f"pci:0000:{bus}:00.0"


def gaudi_views() -> tuple[DeviceView, ...]:
    """Eight cards: a run on four, a server on one, a stranger, one that fell silent, one free."""
    holders = {5: (Holder(41277, "kx3", "python train.py"),)}
    views = []
    for module, index, bus, util, gib, degrees, watts in _CARDS:
        device = Device(
            key(bus), "gaudi", "hpu", "HL-325L", index=index, module_id=module, pci_address=f"0000:{bus}:00.0",
            pci_order=module, driver_version="1.23.0-fw", memory_total_bytes=128 * GIB, numa_node=module // 4,
        )  # fmt: skip
        readings = _readings(util, gib, degrees, watts)
        views.append(DeviceView(device, readings, holders.get(module, ())))
    return tuple(views)


def _readings(util: float | None, gib: float | None, degrees: float | None, watts: float | None) -> dict[str, Reading]:
    if util is None or gib is None:
        stale = Reading(ReadingStatus.STALE, reason="probe replaced", age_seconds=14.0)
        names = ("utilization_percent", "memory_used_bytes", "temperature_celsius", "power_watts")
        return dict.fromkeys(names, stale)
    return {
        "utilization_percent": ok(util, "hl-smi"),
        "memory_used_bytes": ok(gib * GIB, "hl-smi"),
        "temperature_celsius": ok(degrees or 0, "hl-smi"),
        "power_watts": ok(watts or 0, "hl-smi"),
    }


def cpu_view(util: float = 6.0) -> DeviceView:
    details = {"cores": 8.0, "sockets": 1}
    device = Device("cpu", "cpu", "cpu", "Some CPU", memory_total_bytes=32 * GIB, details=details)
    readings = {
        "utilization_percent": ok(util, "proc"),
        "memory_used_bytes": ok(9.1 * GIB, "proc"),
        "power_watts": absent("no counter"),
    }
    return DeviceView(device, readings)


def inventory(*views: DeviceView, host: str = "gaudi-07", problems: tuple[Problem, ...] = ()) -> Inventory:
    return Inventory(host, time_text(NOW), views, problems)


def server() -> Inventory:
    """The whole server of the pictures."""
    return inventory(*gaudi_views(), cpu_view(31))


def xpu_server() -> Inventory:
    """Four XPUs: utilization denied, one held by a stranger, one lost."""
    reason = "needs CAP_PERFMON, which this account does not have"
    views = []
    for order, (bus, gib, degrees, watts) in enumerate(
        (("03", 0.1, 41, 31), ("1b", 18.9, 58, 142), ("4f", 0, 0, 0), ("8a", 0.1, 40, 30))
    ):
        device = Device(
            key(bus), "xpu", "xpu", "Intel(R) Arc(TM) Pro B60 Graphics", index=order, pci_address=f"0000:{bus}:00.0",
            pci_order=order, memory_total_bytes=24 * GIB, numa_node=0,
        )  # fmt: skip
        readings = {**_readings(0, gib, degrees, watts), "utilization_percent": denied(reason)}
        if bus == "4f":
            lost = {"status_text": "kernel reports device wedged"}
            device, readings = replace(device, state=DeviceState.LOST, details=lost), {}
        views.append(DeviceView(device, readings, (Holder(7, None, None),) if bus == "1b" else ()))
    return inventory(*views, cpu_view(), host="xpu-03")


def run(identifier: str, name: str, state: RunState = RunState.FINISHED, **fields: Any) -> Run:
    """A run with sensible times; `started` and `ended` are seconds before now."""
    started, ended = fields.pop("started", None), fields.pop("ended", None)
    created = fields.pop("created", (started or 0) + 60)
    return Run(
        identifier,
        name,
        fields.pop("kind", "train"),
        state,
        f"/state/runs/{identifier}",
        time_text(NOW - created),
        started=None if started is None else time_text(NOW - started),
        ended=None if ended is None else time_text(NOW - ended),
        **fields,
    )


def runs() -> tuple[Run, ...]:
    """Two running, one waiting, one of each end."""
    four = tuple(key(bus) for bus in ("19", "3b", "4c", "5d"))
    progress = Progress(step=812, total=1500, loss=1.252, eta_seconds=9780.0, learning_rate=1.8e-5,
                        tokens_per_second=41200.0)  # fmt: skip
    memory = Diagnosis("out-of-device-memory", "out of device memory", None, 2, 18204)
    return (
        run("20261130-092907-aaaa", "qwen3-lora", RunState.RUNNING, devices=four, started=11520, progress=progress),
        run("20261129-083600-bbbb", "chat-serve", RunState.RUNNING, kind="command", devices=(key("9a"),),
            started=100800),
        run("20261130-123000-cccc", "eval-suite", RunState.QUEUED, waiting_for="2 free cards in one group",
            created=667),
        run("20261130-031000-dddd", "qwen3-sft", result=RunResult.SUCCEEDED, devices=four, started=34000, ended=15880,
            exit_code=0, progress=Progress(loss=1.184, tokens_per_second=29600.0)),
        run("20261130-120000-eeee", "llama-fsdp", result=RunResult.FAILED, cause=Cause.EXIT, devices=four[:2],
            started=2467, ended=2035, exit_code=1, diagnosis=memory),
        run("20261129-205800-ffff", "sweep-lr-3", result=RunResult.STOPPED, cause=Cause.STOPPED_BY_USER,
            devices=four[:2], started=56000, ended=54135, progress=Progress(step=240)),
        run("20261129-182000-gggg", "tokenize-all", result=RunResult.LOST, cause=Cause.REBOOT, kind="command",
            started=66000, ended=61800),
    )  # fmt: skip
