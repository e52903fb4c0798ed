"""What sampling eight Gaudi cards at 1 Hz costs through a C stand-in for libhlml and the real binding.

Run it by itself: `python tests/benchmarks/bench_gaudi.py [SECONDS]`. The bar is 1 % of a core for all of our processes:
the sampler, the probe of sysfs and holders, and the probe of the binding.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from accel_tui.devices.history import History
from accel_tui.devices.registry import GAUDI
from accel_tui.devices.sampler import Sampler
from benchmarks.bench_sampler import of_process, own, resident
from support.figures import figure
from support.gaudi import EIGHT, GaudiHost, build_library


async def measure(seconds: float, folder: Path) -> dict[str, float]:
    """Percent of a core by part, and MiB of the probes."""
    host = GaudiHost(folder / "host")
    for number, slot in enumerate(EIGHT):
        host.hold(slot, 4000 + number)
    places = host.places(hlml_library=str(build_library(folder)))
    history = History(folder / "history.sqlite3")
    # No variables of the stand-in: it then does nothing but answer.
    sampler = Sampler(places, entries=GAUDI, environment={**os.environ, "PATH": ""}, record=history.append)
    await sampler.start()
    inventory = await sampler.inventory(wait=30)
    assert len(inventory.devices) == len(EIGHT)
    pids = {label: pid for label, pid in sampler.probe_pids.items() if pid is not None}
    with sampler.watching():
        await asyncio.sleep(3)  # what is done once is done
        begun, before = time.monotonic(), {label: of_process(pid) for label, pid in pids.items()}
        own_before = own()
        await asyncio.sleep(seconds)
        span = time.monotonic() - begun
        found = {f"{label}_percent": 100 * (of_process(pid) - before[label]) / span for label, pid in pids.items()}
        found["sampler_percent"] = 100 * (own() - own_before) / span
        found["all_percent"] = sum(found.values())
        found |= {f"{label}_mib": resident(pid) / 2**20 for label, pid in pids.items()}
    await sampler.stop()
    history.close()
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(seconds, Path(folder)))
    for name, value in found.items():
        part, _, unit = name.rpartition("_")
        bar = 1.0 if name == "all_percent" else None
        figure(f"8 Gaudi cards at 1 Hz: {part}", value, {"percent": "% of a core", "mib": "MiB"}[unit], bar=bar)


if __name__ == "__main__":
    main()
