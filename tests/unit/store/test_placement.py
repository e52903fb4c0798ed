"""What a run folder says about the cards that its ranks hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accel_tui.store.placement import placement_of
from support.runs import tell


def event(status: str) -> dict[str, Any]:
    held = [{"key": "pci:0000:17:00.0", "node": "/dev/accel/accel1", "module_id": 4}]
    reason = None if status == "verified" else "why"
    return {"event": "placement", "status": status, "wanted": "pci:0000:17:00.0", "held": held, "reason": reason}


@pytest.mark.parametrize(
    ("told", "processes", "whole"),
    [
        (["verified", "verified"], 2, "verified"),
        (["verified"], 2, "not-verified"),
        (["verified", "not-verified"], 2, "not-verified"),
        (["verified", "different"], 2, "different"),
        (["verified", "a later word"], 2, "not-verified"),
    ],
)
def test_the_whole_is_as_good_as_its_worst_rank(tmp_path: Path, told: list[str], processes: int, whole: str) -> None:
    assert placement_of(tmp_path, processes) is None
    (tmp_path / "events").mkdir()
    for rank, status in enumerate(told):
        tell(tmp_path, rank, {"event": "start"}, event(status), {"event": "step", "step": 1})
    found = placement_of(tmp_path, processes)
    assert found is not None
    assert found["status"] == whole
    assert [rank["rank"] for rank in found["ranks"]] == list(range(len(told)))
    assert found["ranks"][0]["held"][0]["module_id"] == 4
