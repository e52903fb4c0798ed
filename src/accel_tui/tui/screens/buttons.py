"""Buttons of dialogs as parts of a line: a letter on each."""

from __future__ import annotations

from collections.abc import Sequence

from accel_tui.tui.widgets.parts import Part
from accel_tui.tui.widgets.pieces import Piece

_ROLES = {"default": ("on_accent", "accent"), "plain": ("text", "track"), "danger": ("error", "track"),
          "off": ("faint", "track")}  # fmt: skip


def buttons(chosen: Sequence[tuple[str, str, str]]) -> list[Part]:
    """Parts for `(key, text, kind)`; kind is `default`, `plain`, `danger` or `off`."""
    parts = []
    for key, text, kind in chosen:
        role, surface = _ROLES[kind]
        parts.append(Part("" if kind == "off" else key, (Piece(f" {text} ", role, bold=kind != "off", on=surface),)))
    return parts
