"""The help page: every key from the table, what the signs mean, and where keys come from. Pure, but for the sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from accel_tui.tui.bindings import GROUPS, KEYS
from accel_tui.tui.glyphs import GLYPHS, Glyphs
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.pieces import Cell, Piece, cell_width, fit

_KEY_WIDTH, _COLUMN_WIDTH = 14, 48
_LEGEND = (
    ("running", "running"), ("free", "free"), ("other-user", "other user"), ("idle-held", "idle-held"),
    ("stale", "stale"), ("failed", "failed"), ("queued", "queued"), ("succeeded", "succeeded"),
    ("stopped", "stopped"), ("lost", "lost"), ("picked", "picked"), ("can-pick", "can be picked"),
    ("cannot-pick", "cannot, i says why"), ("absent", "not on this device"),
)  # fmt: skip

PAIRS = {
    "pane.next": ("pane.previous", "next, previous pane"),
    "pane.narrower": ("pane.wider", "left side narrower, wider"),
    "chart.zoom_in": ("chart.zoom_out", "zoom in, out"),
    "chart.cursor_left": ("chart.cursor_right", "cursor"),
    "log.fold": ("log.fold_all", "fold, fold all"),
    "find.next": ("find.previous", "next, previous hit"),
    "event.next": ("event.previous", "next, previous problem"),
    "part.next": ("part.previous", "next, previous rank, card or run"),
    "item.copy": ("item.export", "copy, write to a file"),
}
"""Verbs that share a line."""
_SECONDS = frozenset(second for second, _ in PAIRS.values())
_NO_WORDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Here:
    """The pane with the focus."""

    name: str
    verbs: Sequence[str]
    words: Mapping[str, str]
    """What it calls a verb that means something of its own there."""


def help_lines(services: Services, here: Here, known: Sequence[str], glyphs: Glyphs, width: int) -> list[Cell]:
    """The page for a dialog that is `width` columns wide inside; the pane with the focus comes first.

    Args:
        known: Verbs that anything on the screen can do.
    """
    blocks = [_block(f"Here: {here.name}", here.verbs, services, here.words)]
    shown = set(here.verbs)
    for group in GROUPS:
        verbs = [verb for verb in known if KEYS[verb].group == group and verb not in shown and _worth(verb)]
        if verbs:
            blocks.append(_block(group, verbs, services))
    columns = 2 if width >= 2 * _COLUMN_WIDTH else 1
    return [*_side_by_side(blocks, columns), *_legend(glyphs, width)]


def _worth(verb: str) -> bool:
    """Whatever any reader tries anyway is not listed one by one, nor is the second of a pair."""
    if verb in _SECONDS or re.fullmatch(r"pane\.\d", verb):
        return False
    return KEYS[verb].palette or verb in ("pane.next", "app.back")


def _block(title: str, verbs: Sequence[str], services: Services, words: Mapping[str, str] = _NO_WORDS) -> list[Cell]:
    lines: list[Cell] = [(Piece(title, "strong", bold=True),)]
    if title == "Everywhere":
        lines.append(_line("1 to 6", "go to a pane"))
    for verb in verbs:
        if verb in words and words[verb] != KEYS[verb].word:
            lines.append(_line(services.key(verb, 2), words[verb]))
        elif verb in PAIRS:
            second, together = PAIRS[verb]
            lines.append(_line(f"{services.key(verb)} {services.key(second)}", together))
        elif verb not in _SECONDS:
            lines.append(_line(services.key(verb, 2), KEYS[verb].help))
    return [*lines, ()]


def _line(keys: str, words: str) -> Cell:
    return (Piece(f"{keys:<{_KEY_WIDTH - 1}} ", "accent", bold=True), Piece(words))


def _side_by_side(blocks: Sequence[Sequence[Cell]], columns: int) -> list[Cell]:
    """Blocks in columns of about the same height."""
    if columns == 1:
        return [line for block in blocks for line in block]
    half = sum(map(len, blocks)) / 2
    left: list[Cell] = []
    right: list[Cell] = []
    for block in blocks:
        (left if len(left) + len(block) / 2 <= half else right).extend(block)
    height = max(len(left), len(right))
    left += [()] * (height - len(left))
    right += [()] * (height - len(right))
    return [(*fit(one, _COLUMN_WIDTH), *other) for one, other in zip(left, right, strict=True)]


def _legend(glyphs: Glyphs, width: int) -> list[Cell]:
    """Every sign with its word, as many on a line as fit."""
    lines: list[Cell] = [()]
    for name, word in _LEGEND:
        entry = (Piece(f"{glyphs.text(name)} ", GLYPHS[name].role), Piece(f"{word}   "))
        if lines[-1] and cell_width((*lines[-1], *entry)) > width:
            lines.append(())
        lines[-1] = (*lines[-1], *entry)
    return lines
