"""Which cards the ranks of a run really hold, as their workers proved it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.store.events import head, rank_files

if TYPE_CHECKING:
    from pathlib import Path

_WEIGHT = {"verified": 0, "not-verified": 1, "different": 2}


def placement_of(folder: Path, processes: int = 1) -> dict[str, Any] | None:
    """`{"status", "ranks": [{"rank","status","wanted","held","reason"}…]}` of a run folder; None where no rank looked.

    The whole is `verified` when all of `processes` ranks are, `different` when one is; a status that this version does
    not know counts as `not-verified`.
    """
    ranks = []
    for rank, path in rank_files(folder).items():
        found = next((event for event in head(path) if event["event"] == "placement"), None)
        if found is not None:
            status = found.get("status") if found.get("status") in _WEIGHT else "not-verified"
            held = [card for card in found.get("held") or () if isinstance(card, dict)]
            words = {"wanted": found.get("wanted"), "held": held, "reason": found.get("reason")}
            ranks.append({"rank": rank, "status": status, **words})
    if not ranks:
        return None
    worst = max((str(rank["status"]) for rank in ranks), key=_WEIGHT.__getitem__)
    return {"status": "not-verified" if worst == "verified" and len(ranks) < processes else worst, "ranks": ranks}
