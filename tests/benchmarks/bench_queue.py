"""Figures of the queue: from request to exec, many short runs, resident sizes, a long past.

Run it alone: `python tests/benchmarks/bench_queue.py [--runs 1000] [--past 10000]`. Each line is one figure; nothing
is asserted here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "src"), str(Path(__file__).resolve().parents[1])]

from accel_tui.model.runs import RunState  # noqa: E402 - run as a script, it finds its parts first
from accel_tui.model.times import time_seconds  # noqa: E402
from support.runs import make_past  # noqa: E402
from support.supervising import Site, site  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="how many no-op runs")
    parser.add_argument("--past", type=int, default=10_000, help="how many past runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with site(Path(folder) / "warm") as here:
            latency(here)
            resident(here)
        with site(Path(folder) / "many") as here:
            many(here, arguments.runs)
        past(Path(folder) / "past", arguments.past)


def show(what: str, value: float, unit: str, more: str = "") -> None:
    print(f"{what:<58} {value:10.1f} {unit}{more}")


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def latency(here: Site) -> None:
    """`created` to `started`, with a spare keeper ready, and back to back without one."""
    here.finished(here.submit(["true"]))
    for what, pause in (("a spare keeper ready", 0.4), ("back to back", 0.0)):
        spans, replies = [], []
        for _ in range(40):
            time.sleep(pause)  # lets the next spare keeper get ready: part of what is measured
            before = time.monotonic()
            identifier = here.submit(["true"])
            replies.append((time.monotonic() - before) * 1000)
            run = here.finished(identifier)
            spans.append((time_seconds(str(run.started)) - time_seconds(run.created)) * 1000)
        more = f"   p95 {percentile(spans, 0.95):.1f} ms, reply p50 {statistics.median(replies):.1f} ms"
        show(f"request to exec, {what}, p50", statistics.median(spans), "ms", more)


def resident(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    state = json.loads((here.state / "runs" / identifier / "state.json").read_bytes())
    show("resident, supervisor", memory(here.pid()), "MiB")
    show("resident, keeper", memory(int(state["keeper"][0])), "MiB")
    here.client.stop(identifier, now=True)
    here.finished(identifier)


def memory(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def many(here: Site, count: int) -> None:
    """The first request to the last record."""
    here.finished(here.submit(["true"]))
    begin = time.monotonic()
    identifiers = [here.submit(["true"]) for _ in range(count)]
    posted = time.monotonic() - begin
    for identifier in identifiers:
        here.finished(identifier)
    show(
        f"{count} no-op runs, first request to last record", time.monotonic() - begin, "s", f"   posted {posted:.1f} s"
    )
    show(f"resident, supervisor after {count} runs", memory(here.pid()), "MiB")


def past(state: Path, count: int) -> None:
    """A supervisor that finds `count` finished runs: the first start, the next one, listing and filtering."""
    state.mkdir(mode=0o700)
    make_past(state, count)
    for what in ("first start, without an index", "next start"):
        with site(state) as here:
            begin = time.monotonic()
            here.client.connect()
            while len(here.client.runs(everything=True)) < count:
                time.sleep(0.05)
            show(f"{count} past runs, {what}", time.monotonic() - begin, "s")
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
        show(f"{count} past runs, {what}", statistics.median(spans), "ms")
    show(f"resident, supervisor with {count} past runs", memory(here.pid()), "MiB")


if __name__ == "__main__":
    os.environ.setdefault("HOME", "/")
    main()
