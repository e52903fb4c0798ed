"""The PCI Express link of a card: of the bridge above it where the card's own endpoint says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, absent, ok
from accel_tui.vendors.xpu.cards import ADDRESS
from accel_tui.vendors.xpu.files import number, text

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.vendors.xpu.cards import Card

_GENERATIONS = {
    "2.5": 1,
    "5": 2,
    "5.0": 2,
    "8": 3,
    "8.0": 3,
    "16": 4,
    "16.0": 4,
    "32": 5,
    "32.0": 5,
    "64": 6,
    "64.0": 6,
}
"""GT/s per lane to generation."""
ENDPOINT_SAYS_NOTHING = frozenset({"dg1", "dg2", "bmg"})
"""Families with a switch of their own on the card, whose endpoint always reads generation 1, one lane."""


def readings(card: Card, source: str) -> dict[str, Reading]:
    """Generation and width of the card's link to the host."""
    if card.integrated:
        reason = "an integrated GPU has no PCI Express link"
        return {"pcie_gen": absent(reason, source), "pcie_width": absent(reason, source)}
    generation, width = _of(card.folder)
    if card.product.family in ENDPOINT_SAYS_NOTHING and (generation, width) == (1, 1):
        for bridge in card.folder.parents:
            if not ADDRESS.fullmatch(bridge.name):
                break
            above = _of(bridge)
            if None not in above and above != (1, 1):
                generation, width = above
                break
    reason = "the kernel does not tell the link of this card"
    return {
        "pcie_gen": absent(reason, source) if generation is None else ok(generation, source),
        "pcie_width": absent(reason, source) if not width else ok(width, source),
    }


def _of(folder: Path) -> tuple[int | None, int | None]:
    speed = (text(folder / "current_link_speed") or "").split(" ")[0]
    return _GENERATIONS.get(speed), number(folder / "current_link_width")
