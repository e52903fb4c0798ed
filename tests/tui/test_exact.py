"""Partial updates: what the terminal shows after them is what a full drawing shows, and they are small."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from rich.cells import cell_len
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.app import App, ComposeResult

from accel_tui.tui.exact import ExactScreen
from accel_tui.tui.widgets.columns import Column, Row
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.pieces import cell
from support.screens import text_grid

SEQUENCE = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[[0-9;]*m|\n|([^\x1b\n]+)")


class Written(App[None]):
    """An application whose updates are also written to a simple terminal."""

    CSS = "Grid { width: 60; height: 12; }"

    def __init__(self) -> None:
        super().__init__()
        self.terminal = [[" "] * 60 for _ in range(12)]
        self.sent: list[str] = []

    def get_default_screen(self) -> ExactScreen:
        return ExactScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield Grid([Column(f"c{number}", f"C{number}", 8, gap=1) for number in range(6)])

    def _display(self, screen: Any, renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            sequences = renderable.render_segments(self.console)
            self.sent.append(sequences)
            self.obey(sequences)
        super()._display(screen, renderable)

    def obey(self, sequences: str) -> None:
        """Do what a terminal does, wide characters included."""
        x = y = 0
        for match in SEQUENCE.finditer(sequences):
            if match[1]:
                y, x = int(match[1]) - 1, int(match[2]) - 1
            elif match[0] == "\n":
                y += 1
            elif match[3]:
                for letter in match[3].replace("\r", ""):
                    self.put(x, y, letter)
                    x += cell_len(letter)

    def put(self, x: int, y: int, letter: str) -> None:
        row = self.terminal[y]
        if row[x] == "" and x:
            row[x - 1] = " "  # the wide character before it is gone
        if x + 1 < len(row) and row[x + 1] == "":
            row[x + 1] = " "
        row[x] = letter
        if cell_len(letter) == 2:
            row[x + 1] = ""

    def shown(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.terminal) + "\n"


def rows(step: int, letters: str) -> list[Row]:
    return [
        Row(
            f"{number}",
            tuple(
                cell(f"{letters}{step * (number + 1) if (column + number) % 3 == 0 else column}") for column in range(6)
            ),
        )
        for number in range(9)
    ]


def test_textual_has_the_parts_that_are_reached_into() -> None:
    """A release that moved them: change `tui/exact.py`, or take plain screens in its place until it is changed."""
    assert list(inspect.signature(ChopsUpdate.__init__).parameters) == ["self", "chops", "spans", "chop_ends"]
    assert list(inspect.signature(Compositor.render_partial_update).parameters) == ["self"]
    assert isinstance(ExactScreen()._compositor, Compositor)


@pytest.mark.parametrize("letters", ["", "é", "漢字"])
async def test_the_terminal_shows_what_a_full_drawing_shows(letters: str) -> None:
    app = Written()
    async with app.run_test(size=(60, 12)) as pilot:
        grid = app.query_one(Grid)
        grid.focus()
        for step in range(6):
            grid.show(rows(step, letters))
            await pilot.pause()
            await pilot.press("down")
            await pilot.pause()
            assert app.shown() == text_grid(app)


async def test_one_changed_cell_is_a_few_bytes() -> None:
    app = Written()
    async with app.run_test(size=(60, 12)) as pilot:
        grid = app.query_one(Grid)
        start = rows(1, "")
        grid.show(start)
        await pilot.pause()
        app.sent.clear()
        changed = list(start)
        changed[4] = Row("4", (*start[4].cells[:5], cell("99")))
        grid.show(changed)
        await pilot.pause()
        assert 0 < len("".join(app.sent)) < 100
