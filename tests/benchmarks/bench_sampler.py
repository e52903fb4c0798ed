"""What sampling costs: CPU time of sampler and probe over a span of watching eight simulated cards at 1 Hz.

Run it by itself: `python tests/benchmarks/bench_sampler.py [SECONDS]`. The bar is 1 % of a core for the sampling.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from accel_tui.devices.history import History
from accel_tui.devices.sampler import Sampler
from accel_tui.model.places import Places
from support.figures import figure

_TICK = os.sysconf("SC_CLK_TCK")


def of_process(pid: int) -> float:
    """CPU seconds of another process, from its `stat`."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def own() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


async def measure(seconds: float, folder: Path, *, encode: bool) -> dict[str, float]:
    """Percent of a core by part; with `encode` one subscriber turns each change into JSON, as for a screen."""
    history = History(folder / "bench-history.sqlite3")
    sampler = Sampler(Places(demo="gaudi3"), record=history.append)
    await sampler.start()
    await sampler.inventory(wait=30)
    pid = next(pid for pid in sampler.probe_pids.values() if pid is not None)
    subscription = sampler.subscribe()
    told = asyncio.create_task(_tell(subscription.wait, sampler, encode=encode))
    begun, self_before, probe_before = time.monotonic(), own(), of_process(pid)
    await asyncio.sleep(seconds)
    span = time.monotonic() - begun
    found = {
        "sampler_percent": 100 * (own() - self_before) / span,
        "probe_percent": 100 * (of_process(pid) - probe_before) / span,
        "probe_resident_mib": resident(pid) / 2**20,
    }
    subscription.close()
    await told
    await sampler.stop()
    history.close()
    return found


async def _tell(wait: Callable[[], Awaitable[bool]], sampler: Sampler, *, encode: bool) -> None:
    while await wait():
        if encode:
            json.dumps(sampler.snapshot().to_json())


def main() -> None:
    import tempfile

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        for encode in (False, True):
            found = asyncio.run(measure(seconds, Path(folder), encode=encode))
            what = "sampling, recording, telling" if encode else "sampling and recording"
            for name, value in found.items():
                part, _, unit = name.rpartition("_")
                bar = 1.0 if name == "sampler_percent" else None
                unit = {"percent": "% of a core", "mib": "MiB"}[unit]
                figure(f"8 devices at 1 Hz, {what}: {part.replace('_', ' ')}", value, unit, bar=bar)


if __name__ == "__main__":
    main()
