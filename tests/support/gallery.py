"""Every drawing widget with invented, fixed data: for the grid tests, the pictures and the benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from textual.app import App, ComposeResult
from textual.containers import Grid as Tiles
from textual.containers import Horizontal, Vertical

from accel_tui.config.shipped import shipped_folder
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.palette import HEAT, SERIES, Palette, theme_of
from accel_tui.tui.styles import BASE
from accel_tui.tui.theme import load_themes
from accel_tui.tui.widgets.axis import Label
from accel_tui.tui.widgets.bar import bar, parts_bar
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.columns import Column, Row
from accel_tui.tui.widgets.decimate import Axis, Point, Scale
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.heat import HeatRow, HeatStrip, heat_cell, heat_legend
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, cell

NOW = 1_796_042_467.0
SPAN = 300.0

COLUMNS = (
    Column("module", "MOD", 3, "right", gap=1),
    Column("index", "IDX", 3, "right", drop=2),
    Column("pci", "PCI", 7, drop=8),
    Column("bar", "", 15, drop=7, gap=2),
    Column("util", "UTIL %", 6, "right", gap=0),
    Column("mem", "MEM GiB", 9, "right", gap=2),
    Column("mem-bar", "", 12, drop=3),
    Column("history", "LAST 5 min", 18, drop=1, gap=2),
    Column("temp", "°C", 3, "right", drop=10, gap=2),
    Column("power", "W", 4, "right", drop=9, gap=1),
    Column("holder", "HOLDER", 12, gap=2, grow=True),
    Column("age", "", 9, "right", drop=5, gap=1),
)

# module, index, PCI, utilization, memory, temperature, power, state, holder, detail, age
DEVICES: tuple[tuple[int, int, str, int | None, float | None, int | None, int | None, str, str, str, str], ...] = (
    (0, 2, "19:00.0", 94, 88.2, 61, 540, "running", "qwen3-lora", "rank 0", "3 h 12 m"),
    (1, 0, "3b:00.0", 92, 88.2, 60, 538, "running", "qwen3-lora", "rank 1", "3 h 12 m"),
    (2, 1, "4c:00.0", 88, 88.4, 62, 545, "running", "qwen3-lora", "rank 2", "3 h 12 m"),
    (3, 3, "5d:00.0", 71, 87.9, 66, 431, "running", "qwen3-lora", "rank 3", "3 h 12 m"),
    (4, 6, "9a:00.0", 39, 61.5, 49, 318, "running", "chat-serve", ":8080", "1 d 04 h"),
    (5, 4, "b3:00.0", 99, 119.6, 64, 588, "other-user", "kx3", "other user, pid 41277", "5 h 41 m"),
    (6, 7, "cc:00.0", None, None, None, None, "stale", "stale 14 s", "probe replaced", ""),
    (7, 5, "dd:00.0", 0, 0.7, 37, 224, "free", "free", "", ""),
)


def device_rows(glyphs: Glyphs, *, by_glyph: bool = False, picked: Sequence[str] = ("7",)) -> list[Row]:
    """The devices of the example pictures as rows of the example columns."""
    rows = []
    for module, index, pci, util, mem, temp, power, state, holder, detail, age in DEVICES:
        role = {"running": "text", "free": "muted", "other-user": "foreign"}.get(state, "warn")
        state_role = "ok" if state == "running" else "muted" if state == "free" else role
        absent = Piece(glyphs.text("absent"), "faint")
        full = mem is not None and mem > 115
        cells: tuple[Cell, ...] = (
            cell(Piece(str(module), "strong", bold=True)),
            cell(Piece(str(index), "muted")),
            cell(Piece(pci, "muted")),
            bar(None if util is None else util / 100, 15, "util", glyphs),
            cell(absent if util is None else Piece(str(util), "text" if util else "muted")),
            cell(absent if mem is None else Piece(f"{mem:.1f}", "warn" if full else "text"), Piece("/128", "faint")),
            bar(None if mem is None else mem / 128, 12, "warn" if full else "mem", glyphs),
            heat_cell([value for _, value in utilization(module, 18)], glyphs, by_glyph=by_glyph),
            cell(absent if temp is None else Piece(str(temp), "warn" if temp > 65 else "text")),
            cell(absent if power is None else Piece(str(power))),
            cell(Piece(glyphs.text(state) + " ", state_role), Piece(holder, role), Piece(f"  {detail}", "muted")),
            cell(Piece(age, "muted")),
        )
        name = "picked" if str(module) in picked else "can-pick" if state == "free" else "cannot-pick"
        mark_role = {"picked": "accent", "can-pick": "text", "cannot-pick": "faint"}[name]
        rows.append(Row(str(module), cells, Piece(glyphs.text(name), mark_role)))
    return rows


def utilization(module: int, count: int, end: float = NOW) -> list[tuple[float, float | None]]:
    """Invented shares of one device, 0 to 1, ending at `end`; card 6 falls silent."""
    base = [0.94, 0.92, 0.88, 0.71, 0.39, 0.99, 0.55, 0.0][module]
    points: list[tuple[float, float | None]] = []
    for number in range(count):
        x = end - (count - 1 - number) * SPAN / count
        wave = 0.5 * math.sin(number * 1.7 + module) * math.sin(number * 0.31)
        value = min(1.0, max(0.0, base + wave * (0.6 if module == 4 else 0.06))) if base else 0.0
        pause = module < 3 and abs(number - count * 0.6) < count * 0.02
        points.append((x, None if module == 6 and number > count * 0.9 else value * 0.3 if pause else value))
    return points


def loss(run: int, steps: int = 812) -> tuple[Point, ...]:
    """An invented curve of training loss."""
    return tuple(
        (float(step), 1.0 + run * 0.05 + 2.3 * math.exp(-step / (220 + 90 * run)) + 0.04 * math.sin(step * (0.9 + run)))
        for step in range(0, steps, 4)
    )


class Gallery(App[None]):
    """All widgets on one screen."""

    CSS_PATH = BASE
    CSS = """
    Screen { layout: vertical; }
    #devices { height: 14; }
    #middle { height: 1fr; }
    #below { height: 16; }
    #tiles { grid-size: 4 2; grid-gutter: 0 2; height: 1fr; }
    .tile { height: 1fr; }
    .tile Lines { height: 1; }
    #legend { height: 1; }
    #heat { height: auto; }
    #left { width: 3fr; }
    #right { width: 2fr; }
    """
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, palette: Palette | None = None, *, ascii_only: bool = False) -> None:
        self.chosen = palette or load_themes(shipped_folder("themes")).palettes["basalt"]
        super().__init__(ansi_color=self.chosen.ansi or None)
        self.register_theme(theme_of(self.chosen))
        self.theme = self.chosen.name
        self.set_class(ascii_only, ASCII_CLASS)
        self.signs = Glyphs(ascii_only)

    def compose(self) -> ComposeResult:
        with Frame("Devices", 1, id="devices"):
            degree = self.signs.degree
            yield Grid([replace(one, title=degree) if one.key == "temp" else one for one in COLUMNS], id="table")
            yield Lines(id="advice")
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                with Frame("Utilization", 4, id="utilization"), Tiles(id="tiles"):
                    for number in range(8):
                        with Vertical(classes="tile"):
                            yield Lines(id=f"tile-title-{number}")
                            yield Chart(left=0, right=0, id=f"tile-{number}")
                with Frame("Heat", id="heat"):
                    yield HeatStrip(id="strip")
                    yield Lines(id="legend")
            with Frame("Metrics", 6, id="right"):
                yield Lines(id="figures")
                yield Chart(id="curves", left=8)
                yield Lines(id="memory")

    def on_mount(self) -> None:
        self.query_one("#table", Grid).focus()
        self.call_after_refresh(self.fill)

    def fill(self, now: float = NOW) -> None:
        """Give every widget its data."""
        signs, by_glyph = self.signs, self.chosen.heat_glyphs
        table = self.query_one("#table", Grid)
        table.show(device_rows(signs, by_glyph=by_glyph))
        table.mark_sorted("module")
        advice = cell(
            Piece("groups of 4  ", "muted"),
            Piece("0-3", "text"),
            Piece(" in use by qwen3-lora   ", "muted"),
            "4-7",
            Piece(" blocked: 5 kx3, 6 stale", "muted"),
        )
        self.query_one("#advice", Lines).show([(), advice])
        self.query_one("#devices", Frame).tell(
            cell(Piece("8 cards, 1 free", "muted")), cell(Piece("by module ID, every 2 s", "muted"))
        )
        self._fill_tiles(now)
        self._fill_heat(now)
        self._fill_curves()

    def _fill_tiles(self, now: float) -> None:
        signs = self.signs
        for number in range(8):
            util, state, holder = DEVICES[number][3], DEVICES[number][7], DEVICES[number][8]
            title = self.query_one(f"#tile-title-{number}", Lines)
            glyph_role = {"running": "ok", "free": "muted", "other-user": "foreign"}.get(state, "warn")
            left = cell(
                Piece(f"{number}  ", "strong", bold=True),
                Piece(f"{signs.text(state)} ", glyph_role),
                Piece(holder, "muted"),
            )
            right = cell(Piece(f"{util} %" if util is not None else ""))
            title.show([Ends(left, right)])
            chart = self.query_one(f"#tile-{number}", Chart)
            points = tuple((x, None if value is None else value * 100) for x, value in utilization(number, 150, now))
            role = "foreign" if state == "other-user" else "util"
            axis = Axis(now, SPAN / max(1, chart.columns))
            chart.show(Picture((Line(points, role),), axis, kind="area", max_gap=10.0))
        self.query_one("#utilization", Frame).tell(
            cell(Piece("all cards, 5 min", "muted")), cell(Piece("0 to 100 %   t time span", "muted"))
        )

    def _fill_heat(self, now: float) -> None:
        strip = self.query_one("#strip", HeatStrip)
        axis = Axis(now, SPAN / max(1, strip.columns))
        rows = [
            HeatRow(
                cell(Piece(f"{number} ", "strong", bold=True), Piece(DEVICES[number][8], "muted")),
                tuple((x, None if value is None else value * 100) for x, value in utilization(number, 150, now)),
                cell(Piece("stale", "warn") if DEVICES[number][3] is None else f"{DEVICES[number][3]} %"),
            )
            for number in range(8)
        ]
        labels = [Label(now - SPAN * (4 - part) / 4, f"12:{36 + part:02d}") for part in range(5)]
        strip.show(rows, axis, max_gap=10.0, labels=labels, cursor=now - 90)
        self.query_one("#legend", Lines).show([heat_legend(self.signs, by_glyph=self.chosen.heat_glyphs)])

    def _fill_curves(self) -> None:
        curves = tuple(Line(loss(run), SERIES[run], f"{loss(run)[-1][1]:.3f}") for run in range(2))
        self.query_one("#curves", Chart).show(
            Picture(
                curves,
                Axis(1500.0),
                Scale(1.0, 3.4),
                y_labels=("3.4", "2.2", "1.0"),
                x_labels=(Label(0, "0"), Label(1500, "step 1500")),
                events=(Label(500, "checkpoint-500"),),
                cursor=634,
            )
        )
        figures = cell(
            Piece("A ", SERIES[0], bold=True), "qwen3-sft ", Piece("1.184   ", "strong", bold=True),
            Piece("B ", SERIES[1], bold=True), "qwen3-lora ", Piece("1.211", "strong", bold=True),
        )  # fmt: skip
        self.query_one("#figures", Lines).show([figures])
        parts = [(15.3, "series-1"), (38.4, "series-2"), (0.7, "series-3"), (17.0, "series-4")]
        self.query_one("#memory", Lines).show(
            [
                cell(Piece("71.4 GiB", "strong", bold=True), Piece(" of 128 per card", "muted")),
                parts_bar(parts, 128, 48, self.signs),
                cell(*(Piece(f"{step} ", role) for step, role in enumerate(HEAT))),
            ]
        )
        self.query_one("#right", Frame).tell(cell("qwen3-lora  ", Piece("smoothed 10", "muted")))
