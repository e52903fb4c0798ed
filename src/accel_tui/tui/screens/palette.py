"""Find anything: one list over runs, jobs, sessions, devices, settings and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.tui.fuzzy import match
from accel_tui.tui.screens.listing import ListDialog
from accel_tui.tui.widgets.columns import Column, Row
from accel_tui.tui.widgets.field import Field
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Cell, Piece

KINDS = {">": ("command",), "@": ("run", "job"), "#": ("device",), ",": ("setting",)}
"""What a first character narrows the list to."""
MOST = 200
"""Entries that are listed; more words narrow them down."""


Act: TypeAlias = Callable[[], object]
"""What an entry does; an awaitable result is awaited."""


@dataclass(frozen=True)
class Entry:
    """One thing that can be found. Foreign text may stand in it: it is cleaned when drawn."""

    kind: str
    title: str
    about: str = ""
    key: str = ""
    """The key that does the same."""
    act: Act | None = None
    reason: str | None = None
    """Why it cannot be chosen; None when it can."""


class Palette(ListDialog):
    """Dismissed with the chosen entry; whoever opened it acts."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        entries: Sequence[Entry],
        title: str = "Find anything",
        typed: Callable[[str], Entry | None] = lambda _: None,
    ) -> None:
        """`typed` makes an entry of the words themselves; it comes first."""
        super().__init__()
        self._entries, self._title, self._typed = tuple(entries), title, typed
        self._found: list[Entry] = []

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="-dialog -wide"):
            yield Field(placeholder="type letters of what you look for", id="words")
            columns = [
                Column("kind", "", 9, gap=0), Column("title", "", 30, grow=True), Column("key", "", 10, "right"),
            ]  # fmt: skip
            grid = Grid(columns, marks=False, id="found")
            grid.surface, grid.head_rows = "raised", 0
            grid.can_focus, grid.led = False, True
            yield grid
            hint = Lines([(Piece("> command   @ run   # device   , setting", "muted"),)])
            hint.surface = "raised"
            yield hint

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Field))
        self._find("")

    def on_input_changed(self, event: Field.Changed) -> None:
        self._find(event.value)

    def _find(self, words: str) -> None:
        kinds = KINDS.get(words[:1])
        if kinds is not None:
            words = words[1:].strip()
        rated = []
        for number, entry in enumerate(self._entries):
            if kinds is not None and entry.kind not in kinds:
                continue
            hit = match(words, f"{entry.title} {entry.about}" if words else "")
            if hit is not None:
                rated.append((-hit[0] + (5 if entry.reason else 0), number, entry, hit[1]))
        rated.sort(key=lambda one: one[:2])
        own = self._typed(words) if words and kinds is None else None
        if own is not None:
            rated.insert(0, (0, -1, own, ()))
        self._found = [entry for _, _, entry, _ in rated]
        rows = [self._row(at, entry, places) for at, (_, _, entry, places) in enumerate(rated[:MOST])]
        grid = self.query_one(Grid)
        nothing: tuple[Cell, ...] = ((Piece("nothing is called that", "muted"),),)
        grid.show(rows, empty=nothing)
        grid.action_edge(-1)
        facts = f"{len(rated)} of {len(self._entries)}   esc close"
        self.query_one(Frame).tell((), (Piece(facts, "muted"),))

    def _row(self, at: int, entry: Entry, places: tuple[int, ...]) -> Row:
        off = entry.reason is not None
        title = tuple(_marked(entry.title, places, "faint" if off else "text"))
        about = entry.reason if off else entry.about
        words = (*title, Piece(f"  {about}", "muted")) if about else title
        return Row(str(at), ((Piece(entry.kind, "muted"),), words, (Piece(entry.key, "accent"),)))

    def on_input_submitted(self) -> None:
        self.choose(self.query_one(Grid).cursor_key)

    def choose(self, key: str | None) -> None:
        entry = self._found[int(key)] if key is not None else None
        if entry is not None:
            self.dismiss(entry)


def _marked(title: str, places: Sequence[int], role: str) -> list[Piece]:
    """The title with the letters that were found in accent."""
    found = set(places)
    pieces: list[Piece] = []
    for at, letter in enumerate(title):
        hit = at in found and role != "faint"
        piece = Piece(letter, "accent" if hit else role, bold=hit)
        if pieces and pieces[-1][1:] == piece[1:]:
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + letter)
        else:
            pieces.append(piece)
    return pieces
