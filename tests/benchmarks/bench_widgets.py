"""What the drawing widgets cost in a real terminal, beside a minimal Textual application in the same run.

    PYTHONPATH=src:tests python tests/benchmarks/bench_widgets.py [SECONDS]

CPU, bytes per second and memory of a grid of 8 rows with 12 columns and 4 charts at 1 Hz, 200x50, without a supervisor,
a board or panes: what is left of the screen's cost then is theirs (`bench_screen.py`). Logs are in `bench_log.py`.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Footer, Static

from accel_tui.config.shipped import shipped_folder
from accel_tui.tui.exact import ExactScreen
from accel_tui.tui.palette import theme_of
from accel_tui.tui.theme import load_themes
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.decimate import Axis
from accel_tui.tui.widgets.grid import Grid
from support.bench_terminal import Terminal
from support.figures import figure
from support.gallery import COLUMNS, device_rows

SECONDS = 12.0


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


APPS: dict[str, type[App[None]]] = {"minimal": Minimal, "table": Table, "dashboard": Dashboard}


def started(name: str, **environment: str) -> Terminal:
    """One of the applications in a terminal of its own."""
    return Terminal([sys.executable, __file__, "--app", name], **environment)


def idle(seconds: float) -> None:
    floor: tuple[str, str, str] = ("", "", "")
    for name in ("minimal", "table", "dashboard"):
        terminal = started(name)
        time.sleep(3)
        cpu, count, start = terminal.cpu(), terminal.bytes, time.monotonic()
        time.sleep(seconds)
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


def main() -> None:
    if sys.argv[1:2] == ["--app"]:
        app: App[Any] = APPS[sys.argv[2]]()
        app.run()
        return
    idle(float(sys.argv[1]) if sys.argv[1:] else SECONDS)


if __name__ == "__main__":
    main()
