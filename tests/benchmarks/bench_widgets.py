"""What the drawing widgets cost in a real terminal, beside a minimal Textual application in the same run.

    PYTHONPATH=src:tests python tests/benchmarks/bench_widgets.py [idle] [open] [follow]

`idle`: CPU, bytes per second and memory of a grid of 8 rows with 12 columns and 4 charts at 1 Hz, 200x50.
`open`: from the key to the last line of a log of 10 million lines, 1 GB, made in a temporary folder.
`follow`: a log that grows by 50,000 lines a second, at 5 looks a second: CPU, bytes, lag, key to repaint.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Footer, Static

from accel_tui.config.shipped import shipped_folder
from accel_tui.logs.source import FileSource
from accel_tui.tui.exact import ExactScreen
from accel_tui.tui.palette import theme_of
from accel_tui.tui.theme import load_themes
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.decimate import Axis
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.logview import LogView
from support.bench_terminal import Terminal
from support.figures import figure
from support.gallery import COLUMNS, device_rows

SECONDS = 12.0
LINES_PER_SECOND = 50_000
LOG_LINE = b"{'loss': 1.2831, 'grad_norm': 0.8012, 'learning_rate': 1.91e-05, 'epoch': 1.58, 'step': %09d, 'x': 00}\n"


class Minimal(App[None]):
    """The floor: what any Textual application costs."""

    def compose(self) -> ComposeResult:
        yield Static("hello")
        yield Footer()


class Themed(App[None]):
    """What ours have in common."""

    CSS = "Screen { background: $bg; } Grid { height: 10; } Chart { width: 1fr; height: 8; }"
    ENABLE_COMMAND_PALETTE = False

    def get_default_screen(self) -> ExactScreen:
        return ExactScreen(id="_default")

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(theme_of(load_themes(shipped_folder("themes")).palettes["basalt"]))
        self.theme = "basalt"


class Table(Themed):
    """The grid alone; about a third of its cells changes every second."""

    charts = 0

    def compose(self) -> ComposeResult:
        yield Grid(COLUMNS)
        with Horizontal():
            for _ in range(self.charts):
                yield Chart(left=0, right=0)
        yield Footer()

    def on_mount(self) -> None:
        self.count = 0
        self.set_interval(1.0, self.tick)

    def tick(self) -> None:
        from accel_tui.tui.widgets.columns import Row
        from accel_tui.tui.widgets.pieces import cell

        self.count += 1
        rows = device_rows(self.query_one(Grid).glyphs)
        changed = []
        for number, row in enumerate(rows):
            cells = list(row.cells)
            cells[4] = cell(f"{(self.count * 7 + number * 13) % 100}")
            cells[5] = cell(f"{80 + (self.count + number) % 9}.{self.count % 10}", cells[5][-1])
            cells[8] = cell(f"{50 + (self.count + number) % 20}")
            cells[9] = cell(f"{400 + (self.count * 3 + number) % 100}")
            changed.append(Row(row.key, tuple(cells), row.mark))
        self.query_one(Grid).show(changed)
        now = 1_000_000.0 + self.count
        for number, chart in enumerate(self.query(Chart)):
            times = range(int(now) - 300, int(now) + 1)
            points = tuple((float(at), 60 + 10 * number + 9 * math.sin(at * (1 + number))) for at in times)
            chart.show(Picture((Line(points, "util"),), Axis(now, 6.0), kind="area", max_gap=10.0))


class Dashboard(Table):
    """The grid and four charts."""

    charts = 4


class Log(Themed):
    """A log that is opened by a key, with a line that any key repaints."""

    BINDINGS = [("o", "open", "open"), ("k", "count", "count")]  # noqa: RUF012 -- Textual's own form

    def compose(self) -> ComposeResult:
        yield LogView(rate=5.0)
        yield Static("keys 0;", id="keys")

    def on_mount(self) -> None:
        self.count = 0

    def action_open(self) -> None:
        self.query_one(LogView).open(FileSource(Path(os.environ["BENCH_LOG"])))

    def action_count(self) -> None:
        self.count += 1
        self.query_one("#keys", Static).update(f"keys {self.count};")


APPS: dict[str, type[App[None]]] = {"minimal": Minimal, "table": Table, "dashboard": Dashboard, "log": Log}


def started(name: str, **environment: str) -> Terminal:
    """One of the applications in a terminal of its own."""
    return Terminal([sys.executable, __file__, "--app", name], **environment)


def idle() -> None:
    floor: tuple[str, str, str] = ("", "", "")
    for name in ("minimal", "table", "dashboard"):
        terminal = started(name)
        time.sleep(3)
        cpu, count, start = terminal.cpu(), terminal.bytes, time.monotonic()
        time.sleep(SECONDS)
        spent = time.monotonic() - start
        used, written = terminal.cpu() - cpu, terminal.bytes - count
        memory = terminal.usage.memory_info().rss / 2**20
        percent, rate, what = 100 * used / spent, written / spent / 1000, f"idle at 1 Hz, 200x50, {name}"
        ours = name != "minimal"
        figure(f"{what}: CPU", percent, "% of a core", bar=3 if ours else None, peer=floor[0])
        figure(f"{what}: to the terminal", rate, "kB/s", bar=8 if ours else None, peer=floor[1])
        figure(f"{what}: resident", memory, "MiB", bar=70 if ours else None, peer=floor[2])
        if not ours:
            floor = (f"{percent:.2f} % Textual", f"{rate:.1f} kB/s Textual", f"{memory:.0f} MiB Textual")
        terminal.close()


def open_large(folder: Path) -> None:
    path = folder / "large"
    block = b"".join(LOG_LINE % number for number in range(10_000))
    with path.open("wb") as file:
        for _ in range(1000):
            file.write(block)
        file.write(b"the very last line\n")
    gigabytes = path.stat().st_size / 1e9
    times = []
    for _ in range(3):
        terminal = started("log", BENCH_LOG=str(path))
        terminal.wait_for(b"keys 0;")
        time.sleep(1)
        terminal.forget()
        start = time.monotonic()
        terminal.press("o")
        terminal.wait_for(b"the very last line")
        times.append(time.monotonic() - start)
        latencies = _latencies(terminal, 10)  # while the lines are being counted
        time.sleep(3)
        memory = terminal.usage.memory_info().rss / 2**20
        terminal.close()
    what = f"open {gigabytes:.2f} GB at its end"
    figure(f"{what}: last line", statistics.median(times), "s", bar=0.3, more=f"at most {max(times):.3f} s")
    figure(f"{what}: resident", memory, "MiB", bar=80)
    figure(f"{what}: keys while counting, p50", 1000 * statistics.median(latencies), "ms", bar=100)
    path.unlink()


def follow(folder: Path) -> None:
    path = folder / "growing"
    path.write_bytes(b"")
    terminal = started("log", BENCH_LOG=str(path))
    terminal.wait_for(b"keys 0;")
    terminal.press("o")
    done = threading.Event()
    written = [0]
    writer = threading.Thread(target=_write, args=(path, done, written))
    writer.start()
    time.sleep(3)
    cpu, count, start = terminal.cpu(), terminal.bytes, time.monotonic()
    latencies: list[float] = []
    lags: list[float] = []
    while time.monotonic() - start < SECONDS:
        latencies += _latencies(terminal, 1, first=len(latencies))
        shown = [int(number) for number in re.findall(rb"'step': (\d{9})", terminal.tail[-60_000:])]
        lags.append((written[0] - max(shown)) / LINES_PER_SECOND if shown else 0.0)
        time.sleep(0.2)
    spent = time.monotonic() - start
    used, sent = terminal.cpu() - cpu, terminal.bytes - count
    done.set()
    writer.join()
    latencies.sort()
    rate, cpu_share, size = written[0] / (spent + 3), 100 * used / spent, terminal.usage.memory_info().rss / 2**20
    middle, late = 1000 * statistics.median(latencies), 1000 * latencies[int(0.95 * len(latencies))]
    what = f"follow {rate:.0f} lines/s"
    more = f"{cpu_share:.1f} % CPU, {sent / spent:.0f} bytes/s, {size:.1f} MiB"
    figure(f"{what}: lag, p50", statistics.median(lags), "s", bar=0.3, more=f"at most {max(lags):.2f} s; {more}")
    figure(f"{what}: keys, p95", late, "ms", bar=100, more=f"p50 {middle:.0f} ms")
    terminal.close()


def _latencies(terminal: Terminal, count: int, first: int = 0) -> list[float]:
    """From a key to the repaint of the line that counts keys."""
    times = []
    for number in range(first + 1, first + count + 1):
        start = time.monotonic()
        terminal.press("k")
        terminal.wait_for(b"keys %d;" % number)
        times.append(time.monotonic() - start)
    return times


def _write(path: Path, done: threading.Event, written: list[int]) -> None:
    start = time.monotonic()
    with path.open("ab", buffering=0) as file:
        while not done.is_set():
            due = int((time.monotonic() - start) * LINES_PER_SECOND)
            if due > written[0]:
                file.write(b"".join(LOG_LINE % number for number in range(written[0], due)))
                written[0] = due
            time.sleep(0.02)


def main() -> None:
    if sys.argv[1:2] == ["--app"]:
        app: App[Any] = APPS[sys.argv[2]]()
        app.run()
        return
    wanted = sys.argv[1:] or ["idle", "open", "follow"]
    if "idle" in wanted:
        idle()
    with tempfile.TemporaryDirectory() as folder:
        if "open" in wanted:
            open_large(Path(folder))
        if "follow" in wanted:
            follow(Path(folder))


if __name__ == "__main__":
    main()
