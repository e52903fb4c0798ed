"""What an application shows, as text and as a picture whose every character stands in its cell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.widget import Widget

CELL_WIDTH, CELL_HEIGHT = 10, 22
FONT = "JetBrains Mono, DejaVu Sans Mono, Menlo, Consolas, monospace"
DATA = Path(__file__).parent.parent / "data" / "tui"


def rows(app: App[Any]) -> list[list[Segment]]:
    """Every screen row as segments, dialogs included."""
    # Textual has no public way to the cells themselves; the screenshot that it offers goes the same way.
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    strips: Any = update.strips  # type: ignore[union-attr] # a full update is one of whole lines
    return [[segment for strip in line for segment in strip if not segment.control] for line in strips]


def text_grid(app: App[Any]) -> str:
    """The characters on the screen, rows ending without blanks."""
    return "\n".join("".join(segment.text for segment in row).rstrip() for row in rows(app)) + "\n"


def assert_grid(app: App[Any], name: str, *, varying: str = "", of: Widget | None = None) -> None:
    """The screen, or with `of` that widget's part of it, is the one stored in `tests/data/tui/NAME.txt`.

    A missing file is written and fails once.

    What the expression `varying` matches may be anything of that length.
    """
    path, seen = DATA / f"{name}.txt", text_grid(app)
    if of is not None:
        x, y, width, height = of.region
        lines = seen.split("\n")[y : y + height]
        seen = "\n".join(line[x : x + width].rstrip() for line in lines) + "\n"
    if varying:
        seen = re.sub(varying, lambda match: "#" * len(match[0]), seen)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(seen, encoding="utf-8")
        raise AssertionError(f"{path} was missing and is written now: look at it, then run again")
    assert seen == path.read_text(encoding="utf-8"), f"differs from {path}; delete it to write it again"


def picture(app: App[Any]) -> str:
    """The screen as SVG, each character placed by itself, so that fonts with other widths cannot shift it."""
    theme, surface = app.ansi_theme, _hex(app.screen.styles.background.rich_color, app.ansi_theme, foreground=False)
    width, height = app.size.width * CELL_WIDTH, app.size.height * CELL_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{surface}"/>',
        f'<g font-family="{FONT}" font-size="16.6">',
    ]
    for y, row in enumerate(rows(app)):
        parts += _row(y, row, theme, surface)
    return "\n".join([*parts, "</g></svg>"])


def _row(y: int, row: list[Segment], theme: TerminalTheme, surface: str) -> Iterator[str]:
    x, top = 0, y * CELL_HEIGHT
    for segment in row:
        style = segment.style or Style()
        colour, under = _colours(style, theme, surface)
        width = segment.cell_length * CELL_WIDTH
        if under != surface:
            yield f'<rect x="{x}" y="{top}" width="{width}" height="{CELL_HEIGHT}" fill="{under}"/>'
        weight = ' font-weight="bold"' if style.bold else ""
        line = ' text-decoration="underline"' if style.underline else ""
        yield from _letters(segment.text, x, top, colour, weight + line)
        x += width


def _letters(text: str, x: float, top: float, colour: str, attributes: str) -> Iterator[str]:
    """Each word at its place and as wide as its cells; braille, blocks and lines as shapes: few fonts fill cells."""
    word, begin, dots = "", x, ""
    for letter in f"{text} ":
        cells = Segment(letter).cell_length
        shape = 0x2800 <= ord(letter) < 0x2900 or letter in _SHAPES or letter == " "
        if word and (shape or cells != 1):
            yield _word(word, begin, top, colour, attributes)
            word = ""
        if 0x2800 <= ord(letter) < 0x2900:
            dots += _dots(letter, x, top)
        elif letter in _SHAPES:
            left, under, wide, high = _SHAPES[letter]
            yield f'<rect x="{x + left}" y="{top + under}" width="{wide}" height="{high}" fill="{colour}"/>'
        elif cells != 1:
            yield _word(letter, x, top, colour, attributes)
        elif letter != " ":
            begin = begin if word else x
            word += letter
        x += CELL_WIDTH * cells
    if dots:
        yield f'<path d="{dots}" stroke="{colour}" stroke-width="3" stroke-linecap="round"/>'


def _word(word: str, x: float, top: float, colour: str, attributes: str) -> str:
    width = CELL_WIDTH * Segment(word).cell_length
    place = f'x="{x:g}" y="{top + CELL_HEIGHT // 2 + 6}" textLength="{width}"'
    return f'<text {place} fill="{colour}"{attributes}>{html.escape(word)}</text>'


def _dots(letter: str, x: float, top: float) -> str:
    order = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
    lit = [place for bit, place in enumerate(order) if ord(letter) >> bit & 1]
    return "".join(f"M{x + 2.5 + 5 * across:g} {top + 3 + 5.4 * down:.1f}h0" for across, down in lit)


_SHAPES: dict[str, tuple[float, float, float, float]] = {
    "▆": (0, 5, 10, 17), "█": (0, 0, 10, 22), "▀": (0, 0, 10, 11), "▄": (0, 11, 10, 11), "▌": (0, 0, 5, 22),
    "━": (0, 9.5, 10, 3), "╸": (0, 9.5, 5, 3), "─": (0, 10.5, 10, 1), "│": (4.5, 0, 1, 22), "┃": (3.5, 0, 3, 22),
}  # fmt: skip


def _colours(style: Style, theme: TerminalTheme, surface: str) -> tuple[str, str]:
    colour = _hex(style.color, theme, foreground=True)
    under = (
        surface if style.bgcolor is None or style.bgcolor.is_default else _hex(style.bgcolor, theme, foreground=False)
    )
    return (under, colour) if style.reverse else (colour, under)


def _hex(colour: Color | None, theme: TerminalTheme, *, foreground: bool) -> str:
    return (colour or Color.default()).get_truecolor(theme, foreground=foreground).hex
