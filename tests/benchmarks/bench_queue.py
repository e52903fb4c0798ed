"""Figures of the queue: from request to exec, many short runs, resident sizes, `devices --json`, a long past.

Run it alone: `python tests/benchmarks/bench_queue.py [--runs 1000] [--past 10000]`. Each line is one figure; nothing
is asserted here. Where task-spooler is installed it does the same in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "src"), str(Path(__file__).resolve().parents[1])]

from accel_tui.model.runs import RunState  # noqa: E402 - run as a script, it finds its parts first
from accel_tui.model.times import time_seconds  # noqa: E402
from support.figures import figure  # noqa: E402
from support.runs import make_past  # noqa: E402
from support.supervising import Site, site  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many no-op runs")
    parser.add_argument("--past", type=int, default=10_000, help="how many past runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with site(Path(folder) / "warm") as here:
            latency(here, spooler_latency(Path(folder) / "tsp"))
            resident(here)
            devices(here)
        with site(Path(folder) / "many") as here:
            many(here, arguments.runs, spooled(arguments.runs, Path(folder) / "tsp"))
        past(Path(folder) / "past", arguments.past)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def latency(here: Site, peer: str) -> None:
    """`created` to `started`, one at a time with a pause, and back to back."""
    here.finished(here.submit(["true"]))
    for what, pause in (("one now and then", 0.4), ("back to back", 0.0)):
        spans, replies = [], []
        for _ in range(40):
            time.sleep(pause)
            before = time.monotonic()
            identifier = here.submit(["true"])
            replies.append((time.monotonic() - before) * 1000)
            run = here.finished(identifier)
            spans.append((time_seconds(str(run.started)) - time_seconds(run.created)) * 1000)
        more = f"p95 {percentile(spans, 0.95):.1f} ms, reply p50 {statistics.median(replies):.1f} ms"
        figure(f"request to exec, {what}, p50", statistics.median(spans), "ms", bar=10, peer=peer, more=more)


def spooler(folder: Path, *arguments: str) -> str:
    """Ask a task-spooler of our own."""
    environment = {**os.environ, "TS_SOCKET": str(folder / "socket"), "TMPDIR": str(folder)}
    return subprocess.run(["tsp", *arguments], env=environment, capture_output=True, text=True, check=True).stdout


def spooler_latency(folder: Path) -> str:
    """From the start of its client to the job's own first look at the clock."""
    if shutil.which("tsp") is None:
        return ""
    folder.mkdir()
    spans = []
    for _ in range(40):
        begin = time.time()
        identifier = spooler(folder, "date", "+%s.%N").strip()
        spooler(folder, "-w", identifier)
        spans.append((float(spooler(folder, "-c", identifier)) - begin) * 1000)
    spooler(folder, "-K")
    return f"{statistics.median(spans):.1f} ms task-spooler"


def spooled(count: int, folder: Path) -> str:
    """The same no-op jobs through task-spooler, one client each."""
    if shutil.which("tsp") is None:
        return ""
    spooler(folder, "-S", "16")
    begin = time.monotonic()
    for _ in range(count):
        last = spooler(folder, "-n", "true").strip()
    spooler(folder, "-w", last)
    seconds = time.monotonic() - begin
    spooler(folder, "-K")
    return f"{seconds:.1f} s task-spooler"


def devices(here: Site) -> None:
    """The whole command with its interpreter, and that interpreter alone."""
    source = str(Path(__file__).resolve().parents[2] / "src")
    environment = {**here.environment, "PYTHONPATH": source}

    def seconds(*arguments: str) -> float:
        spans = []
        for _ in range(9):
            begin = time.monotonic()
            subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
            spans.append(time.monotonic() - begin)
        return statistics.median(spans)

    bare = f"{seconds('-c', 'pass'):.3f} s bare Python"
    figure("devices --json, supervisor warm", seconds("-m", "accel_tui", "devices", "--json"), "s", bar=0.25, peer=bare)


def resident(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    state = json.loads((here.state / "runs" / identifier / "state.json").read_bytes())
    figure("resident, supervisor", memory(here.pid()), "MiB", bar=60)
    figure("resident, keeper", memory(int(state["keeper"][0])), "MiB", bar=12)
    here.client.stop(identifier, now=True)
    here.finished(identifier)


def memory(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def many(here: Site, count: int, peer: str) -> None:
    """The first request to the last record."""
    here.finished(here.submit(["true"]))
    begin = time.monotonic()
    identifiers = [here.submit(["true"]) for _ in range(count)]
    posted = time.monotonic() - begin
    for identifier in identifiers:
        here.finished(identifier)
    what, seconds = f"{count} no-op runs, first request to last record", time.monotonic() - begin
    figure(what, seconds, "s", bar=10, peer=peer, more=f"posted {posted:.1f} s")
    figure(f"resident, supervisor after {count} runs", memory(here.pid()), "MiB", bar=60)


def past(state: Path, count: int) -> None:
    """A supervisor that finds `count` finished runs: the first start, the next one, listing and filtering."""
    state.mkdir(mode=0o700)
    make_past(state, count)
    for what in ("first start, without an index", "next start"):
        with site(state) as here:
            begin = time.monotonic()
            here.client.connect()
            here.finished(here.submit(["true"]))
            figure(f"{count} past runs, {what}, until a new run has run", time.monotonic() - begin, "s")
            while len(here.client.runs(everything=True)) < count:
                time.sleep(0.05)
            figure(f"{count} past runs, {what}, until all are listed", time.monotonic() - begin, "s")
            if what == "next start":
                listings(here, count)


def listings(here: Site, count: int) -> None:
    queries = {
        "list all": "all=1",
        "by state": "all=1&state=failed",
        "by name": "all=1&name=9$",
        "newest 50": "limit=50",
    }
    for what, query in queries.items():
        spans = []
        for _ in range(5):
            begin = time.monotonic()
            here.client.exchange("GET", f"/runs?{query}")
            spans.append((time.monotonic() - begin) * 1000)
        figure(f"{count} past runs, {what}", statistics.median(spans), "ms", bar=200)
    figure(f"resident, supervisor with {count} past runs", memory(here.pid()), "MiB", bar=60)


if __name__ == "__main__":
    os.environ.setdefault("HOME", "/")
    main()
