"""What sampling Intel GPUs costs: CPU time of probes and sampler, eight cards at 1 Hz through the C stand-in.

Run it by itself: `python tests/benchmarks/bench_xpu.py [SECONDS]`. The bar is 1 % of a core for all
of it. The time that the vendor's driver takes comes on top on a real host.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from accel_tui.devices.history import History
from accel_tui.devices.registry import BUILT_IN
from accel_tui.devices.sampler import Sampler
from benchmarks.bench_sampler import of_process, own, resident
from support.figures import figure
from support.xpu_host import XpuHost, at, build_library, xe_client

_CARDS = 8


def _host(folder: Path) -> XpuHost:
    """Eight cards with all that xe offers, each used by one process."""
    host = XpuHost(folder, build_library(folder / "built"))
    addresses = [f"0000:{0x10 + number:02x}:00.0" for number in range(_CARDS)]
    for number, address in enumerate(addresses):
        sensors = {"name": "xe", "energy1_input": "5000000", "temp2_input": "61000", "temp3_input": "70000"}
        files = {f"hwmon/hwmon0/{name}": value for name, value in sensors.items()}
        host.card(address, files={**files, "tile0/gt0/freq0/act_freq": "2100", "tile0/gt0/freq0/throttle/status": "0"})
        client = xe_client(address, number, ccs=1, total=2)
        host.process(20000 + number, {"5": (f"/dev/dri/renderD{128 + number}", client)})
    host.scenario([at(address, fan=1200) for address in addresses])
    return host


async def measure(seconds: float, folder: Path) -> dict[str, float]:
    """Percent of a core and MiB, by part."""
    history = History(folder / "history.sqlite3")
    entries = [entry for entry in BUILT_IN if entry.vendor == "xpu"]
    sampler = Sampler(_host(folder).places, entries=entries, record=history.append)
    await sampler.start()
    await sampler.inventory(wait=30)
    subscription = sampler.subscribe()
    pids = {label: pid for label, pid in sampler.probe_pids.items() if pid is not None}
    begun, before = time.monotonic(), {label: of_process(pid) for label, pid in pids.items()}
    self_before = own()
    await asyncio.sleep(seconds)
    span = time.monotonic() - begun
    found = {f"{label} percent": 100 * (of_process(pid) - before[label]) / span for label, pid in pids.items()}
    found["sampler and recording percent"] = 100 * (own() - self_before) / span
    found["together percent"] = sum(found.values())
    found |= {f"{label} MiB": resident(pid) / 2**20 for label, pid in pids.items()}
    subscription.close()
    await sampler.stop()
    history.close()
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "built").mkdir()
        found = asyncio.run(measure(seconds, folder))
    for what, value in found.items():
        part, _, unit = what.rpartition(" ")
        bar = 1.0 if part == "together" else None
        figure(f"{_CARDS} Intel GPUs at 1 Hz: {part}", value, "% of a core" if unit == "percent" else unit, bar=bar)


if __name__ == "__main__":
    main()
