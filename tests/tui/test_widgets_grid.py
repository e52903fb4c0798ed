"""The table: what is dropped when narrow, how the cursor and the picks move, and how little is repainted."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from accel_tui.tui.widgets.columns import Column, Row, lay_out
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.pieces import Piece, cell
from support.gallery import COLUMNS
from support.screens import text_grid

PLAIN = (Column("name", "NAME", 8, gap=0), Column("value", "VALUE", 5, "right"), Column("note", "NOTE", 4, grow=True))


def row(number: int, value: str = "1", note: str = "") -> Row:
    return Row(f"row-{number}", (cell(f"row {number}"), cell(value), cell(note)), Piece("□"))


class Table(App[None]):
    """A grid alone, which writes down what it was told."""

    CSS = "Grid { width: 1fr; height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, object]] = []

    def compose(self) -> ComposeResult:
        yield Grid(PLAIN)

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    def on_mount(self) -> None:
        self.grid.show([row(number) for number in range(64)])
        self.grid.focus()

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.told.append(("moved", message.key))

    def on_grid_opened(self, message: Grid.Opened) -> None:
        self.told.append(("opened", message.key))

    def on_grid_picked(self, message: Grid.Picked) -> None:
        self.told.append(("toggled" if message.toggle else "picked", message.keys))

    def on_grid_cleared(self, _: Grid.Cleared) -> None:
        self.told.append(("cleared", None))

    def on_grid_sort_asked(self, message: Grid.SortAsked) -> None:
        self.told.append(("sort", message.column))

    def first_rows(self, count: int = 9) -> list[str]:
        return text_grid(self).splitlines()[:count]


def test_columns_leave_in_their_order_and_never_move_without_need() -> None:
    """NAME-like columns first; module, utilization, memory and holder stay to the end."""
    dropped: list[str] = []
    for width in range(140, 30, -1):
        kept = {place.column.key for place in lay_out(COLUMNS, width, 2)}
        dropped += [column.key for column in COLUMNS if column.key not in kept and column.key not in dropped]
    assert dropped == ["history", "index", "mem-bar", "age", "bar", "pci", "power", "temp"]
    places = lay_out(COLUMNS, 140, 2)
    assert places[-1].x + places[-1].width == 140


async def test_keys_move_the_cursor_and_the_view_follows() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("down", "down", "enter", "end")
        await pilot.pause()
        assert app.grid.cursor_key == "row-63"
        assert app.first_rows()[-1].startswith("▌□row 63")
        await pilot.press("home", "pagedown")
        assert app.grid.cursor_key == "row-7"
        assert ("opened", "row-2") in app.told


async def test_picks_are_asked_for_one_by_one_and_in_ranges() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("space", "down", "shift+down", "shift+down", "shift+up", "x", "S")
        await pilot.pause()
        picks = [entry for entry in app.told if entry[0] in ("toggled", "picked", "cleared", "sort")]
        assert picks == [
            ("toggled", ("row-0",)),
            ("picked", ("row-1", "row-2")),
            ("picked", ("row-1", "row-2", "row-3")),
            ("picked", ("row-1", "row-2")),
            ("cleared", None),
            ("sort", None),
        ]


async def test_the_mouse_does_what_the_keys_do() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.click(Grid, offset=(5, 3))
        assert app.grid.cursor_key == "row-2"
        await pilot.click(Grid, offset=(1, 4))
        await pilot.click(Grid, offset=(5, 6), shift=True)
        await pilot.click(Grid, offset=(12, 0))
        await pilot.click(Grid, offset=(5, 2), times=2)
        assert [entry for entry in app.told if entry[0] != "moved"] == [
            ("toggled", ("row-3",)),
            ("picked", ("row-3", "row-4", "row-5")),
            ("sort", "value"),
            ("opened", "row-1"),
        ]


async def test_the_wheel_leaves_the_cursor_on_its_row_and_new_values_leave_the_view() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        app.grid._scroll(30, _Wheel())  # type: ignore[arg-type] # pilots have no wheel
        app.grid.show([row(number, "2") for number in range(64)])
        await pilot.pause()
        assert app.first_rows()[1].strip().startswith("□row 30")
        assert app.grid.cursor_key == "row-0"


async def test_the_cursor_stays_on_its_row_when_rows_come_and_go() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        app.grid.move_to("row-5")
        app.grid.show([row(number) for number in range(3, 64)])
        assert app.grid.cursor_key == "row-5"
        app.grid.show([row(1)])
        assert app.grid.cursor_key == "row-1"
        app.grid.show([], empty=[cell("No runs yet.")])
        await pilot.pause()
        assert app.grid.cursor_key is None
        assert any("No runs yet." in line for line in app.first_rows())
        await pilot.press("down", "enter", "space", "shift+down")  # nothing to act on, nothing happens
        assert ("opened", None) not in app.told


async def test_only_changed_cells_are_drawn_again() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.pause()
        regions: list[tuple[int, int, int]] = []
        drawn = app.grid.refresh

        def refresh(*areas: object, **options: bool) -> Grid:
            regions.extend((area.x, area.y, area.width) for area in areas)  # type: ignore[attr-defined]
            return drawn(*areas, **options)  # type: ignore[arg-type]

        app.grid.refresh = refresh  # type: ignore[method-assign] # a spy in front of the real one
        rows = [row(number) for number in range(64)]
        app.grid.show(rows)
        assert regions == []
        rows[2] = row(2, "7")
        rows[40] = row(40, "7")  # out of sight
        app.grid.show(rows)
        assert regions == [(11, 3, 5)]
        await pilot.pause()
        assert "row 2        7" in app.first_rows()[3]


async def test_foreign_text_stays_text() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        hostile = "[@click=app.quit]x[/]\x1b]52;c;aGk=\x07\x1b[2J\u202e"
        app.grid.show([Row("row", (cell(hostile), cell("\x9b2J"), cell(hostile)), Piece("□"))])
        await pilot.pause()
        shown = text_grid(app)
        assert "[@click…" in shown
        assert not any((ord(letter) < 0x20 and letter != "\n") or 0x7F <= ord(letter) < 0xA0 for letter in shown)
        assert "\u202e" not in shown


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (12, 3), (200, 60)])
async def test_any_size_draws(size: tuple[int, int]) -> None:
    app = Table()
    async with app.run_test(size=size) as pilot:
        await pilot.press("down", "end", "pageup")
        await pilot.pause()
        assert text_grid(app)


class _Wheel:
    """As much of an event as the scroll needs."""

    def stop(self) -> None:
        """Nobody else listens here."""


async def test_a_header_that_finds_room_again_is_drawn() -> None:
    app = Table()
    async with app.run_test(size=(40, 9)) as pilot:
        app.grid.show([row(number) for number in range(3)])
        app.grid.head_rows = 0
        await pilot.pause()
        assert app.first_rows(2)[0].startswith("▌□row 0")
        app.grid.head_rows = 1
        app.grid.show([row(0, "2"), row(1), row(2)])
        await pilot.pause()
        assert "NAME" in app.first_rows(2)[0]
        assert app.first_rows(2)[1].startswith("▌□row 0")
