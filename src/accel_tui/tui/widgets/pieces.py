"""Text with a role: what every drawing widget is given, and how it is cut, padded and made into segments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment

from accel_tui.text import sanitise
from accel_tui.tui.palette import Palette

LONGEST = 1024
"""Most characters of a piece: wider than any terminal, and a bound on what the caches hold."""

Align: TypeAlias = Literal["left", "right", "centre"]


class Piece(NamedTuple):
    """A run of text in one style, named by role. Foreign text may stand in `text`: it is cleaned when drawn."""

    text: str
    role: str = "text"
    bold: bool = False
    on: str = ""
    """A background of its own, such as `accent` for a chip; empty is that of the row."""
    fill: bool = False
    """Mixed into the background, as the body of an area chart is."""


Cell: TypeAlias = tuple[Piece, ...]
"""What stands in one place: a table's cell, a line of text."""


class Ends(NamedTuple):
    """A line with something at both ends, laid out when the width is known."""

    left: Cell
    right: Cell


class Rule(NamedTuple):
    """A line across, with or without a word in it."""

    title: str = ""


def cell(*parts: Piece | str) -> Cell:
    """Pieces in a row; a bare string has the role `text`."""
    return tuple(part if isinstance(part, Piece) else Piece(part) for part in parts)


def cell_width(content: Cell) -> int:
    """Terminal columns that `content` takes, once cleaned."""
    return sum(cell_len(piece.text) for piece in clean(content))


@lru_cache(2048)
def clean(content: Cell, ascii_only: bool = False) -> Cell:
    """`content` as it may reach a terminal; with `ascii_only` what is not ASCII becomes `?`."""
    return tuple(piece._replace(text=_clean_text(piece.text, ascii_only)) for piece in content)


def _clean_text(text: str, ascii_only: bool) -> str:
    text = sanitise(text, limit=LONGEST)
    return text.encode("ascii", "replace").decode() if ascii_only and not text.isascii() else text


@lru_cache(4096)
def fit(content: Cell, width: int, align: Align = "left", cut: str = "…", ascii_only: bool = False) -> Cell:
    """`content` in exactly `width` columns: padded by `align`, or ending in the sign `cut` where it is too long."""
    if width <= 0:
        return ()
    content = clean(content, ascii_only)
    room = width - sum(cell_len(piece.text) for piece in content)
    if room < 0:
        return _shortened(content, width, cut)
    if room == 0:
        return content
    left = {"left": 0, "right": room, "centre": room // 2}[align]
    before = (Piece(" " * left),) if left else ()
    after = (Piece(" " * (room - left)),) if room > left else ()
    return (*before, *content, *after)


def _shortened(content: Cell, width: int, cut: str) -> Cell:
    cut = cut[:width]
    left = width - len(cut)
    kept: list[Piece] = []
    for piece in content:
        taken = min(left, cell_len(piece.text))
        if taken:
            kept.append(piece._replace(text=set_cell_size(piece.text, taken)))
        left -= taken
        if not left:
            break
    last = kept[-1] if kept else Piece("")
    return (*kept, Piece(cut, "faint", on=last.on))


def wrapped(content: Cell, width: int, indent: int = 0) -> list[Cell]:
    """`content` on as many lines as it takes, broken between words; further lines begin `indent` columns in.

    What does not fit into a line even alone is broken anywhere: nothing is cut.
    """
    content = clean(content)
    indent = indent if width - indent > 3 else 0
    if sum(cell_len(piece.text) for piece in content) <= width:
        return [content]
    lines: list[list[Piece]] = [[]]
    room = width
    for piece in content:
        for word in re.findall(r"\s+|\S+", piece.text):
            rest = word
            if cell_len(rest) > room and not rest.isspace() and lines[-1]:
                lines.append([Piece(" " * indent)] if indent else [])
                room = width - indent
            while cell_len(rest) > room and not rest.isspace():
                taken = _fitting(rest, room)
                lines[-1].append(piece._replace(text=rest[:taken]))
                lines.append([Piece(" " * indent)] if indent else [])
                rest, room = rest[taken:], width - indent
            if rest.isspace() and cell_len(rest) > room:
                continue
            lines[-1].append(piece._replace(text=rest))
            room -= cell_len(rest)
    return [joined(line) for line in lines]


def _fitting(text: str, width: int) -> int:
    """How many characters of `text` fit, at least one."""
    count, used = 0, 0
    for letter in text:
        used += cell_len(letter)
        if used > width:
            break
        count += 1
    return max(1, count)


def joined(pieces: Iterable[Piece]) -> Cell:
    """The same with neighbours of one style drawn as one run: fewer bytes to the terminal."""
    runs: list[Piece] = []
    for piece in pieces:
        if runs and runs[-1][1:] == piece[1:]:
            runs[-1] = piece._replace(text=runs[-1].text + piece.text)
        elif piece.text:
            runs.append(piece)
    return tuple(runs)


def changed_span(one: Cell, other: Cell) -> tuple[int, int]:
    """The columns from the first to the last, exclusive, in which two cleaned lines of one width differ."""
    before, after = list(_cells(one)), list(_cells(other))
    if len(before) != len(after):
        return 0, max(len(before), len(after))
    places = [x for x, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    return (places[0], places[-1] + 1) if places else (0, 0)


def _cells(content: Cell) -> Iterator[tuple[str, Piece | None]]:
    """Letter and style of every column; the second column of a wide letter repeats it."""
    for piece in content:
        style = piece._replace(text="")
        for letter in piece.text:
            for _ in range(cell_len(letter)):
                yield letter, style


def spread(left: Cell, right: Cell, width: int, cut: str = "…", ascii_only: bool = False) -> Cell:
    """`left` and `right` at the two ends of a line; `right` is kept whole as long as it leaves room for `left`."""
    room = width - cell_width(right) - 1
    if not right or room < min(cell_width(left), width // 2):
        return fit(left, width, "left", cut, ascii_only)
    return (*fit(left, room, "left", cut, ascii_only), Piece(" "), *clean(right, ascii_only))


def segments(content: Sequence[Piece], palette: Palette, surface: str = "bg") -> list[Segment]:
    """Cleaned pieces as Rich segments in the colours of `palette`."""
    return [
        Segment(piece.text, palette.style(piece.role, piece.on or surface, bold=piece.bold, fill=piece.fill))
        for piece in content
        if piece.text
    ]
