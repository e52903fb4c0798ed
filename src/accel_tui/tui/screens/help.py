"""The help page: every key from the table, what the signs mean, and where keys come from. Pure, but for the sheet."""

from __future__ import annotations

from collections.abc import Sequence

from accel_tui.tui.bindings import GROUPS, KEYS, Key
from accel_tui.tui.glyphs import GLYPHS, Glyphs
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.pieces import Cell, Piece, cell_width, fit

_KEY_WIDTH, _COLUMN_WIDTH = 13, 46
_LEGEND = (
    ("running", "running"), ("free", "free"), ("other-user", "other user"), ("idle-held", "idle-held"),
    ("stale", "stale"), ("failed", "failed"), ("queued", "queued"), ("succeeded", "succeeded"),
    ("stopped", "stopped"), ("lost", "lost"), ("picked", "picked"), ("can-pick", "can be picked"),
    ("cannot-pick", "cannot, i says why"), ("absent", "not on this device"),
)  # fmt: skip


def help_lines(services: Services, here: str, own: Sequence[str], glyphs: Glyphs, width: int) -> list[Cell]:
    """The page for a dialog that is `width` columns wide inside.

    Args:
        here: The name of the pane with the focus; its verbs `own` come first.
    """
    sections = [(f"Here: {here}", [KEYS[verb] for verb in own])]
    shown = set(own)
    for group in GROUPS:
        keys = [key for key in KEYS.values() if key.group == group and key.id not in shown and _worth(key)]
        if keys:
            sections.append((group, keys))
    blocks = [_block(title, keys, services) for title, keys in sections]
    columns = 2 if width >= 2 * _COLUMN_WIDTH else 1
    return [*_side_by_side(blocks, columns), (), *_legend(glyphs, width)]


def _worth(key: Key) -> bool:
    """Whatever any reader tries anyway is not listed one by one."""
    return not key.id.startswith(("move.", "pane.1", "pane.2", "pane.3", "pane.4", "pane.5", "pane.6"))


def _block(title: str, keys: Sequence[Key], services: Services) -> list[Cell]:
    lines: list[Cell] = [(Piece(title, "strong", bold=True),)]
    if title == "Everywhere":
        lines.append(_line("1 to 6", "go to a pane"))
    lines += [_line(services.key(key.id, 2), key.help) for key in keys]
    if title == "Everywhere":
        lines.append(_line("arrows", "move; page up, page down, home, end"))
    return [*lines, ()]


def _line(keys: str, words: str) -> Cell:
    return (Piece(f"{keys:<{_KEY_WIDTH}}", "accent", bold=True), Piece(words))


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
