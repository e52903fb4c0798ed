"""The invented hosts that `--demo` can show, by name."""

from __future__ import annotations

DEMOS: tuple[str, ...] = ("server8", "gaudi3", "gaudi2", "b60x4", "max1550x2", "mixed")
