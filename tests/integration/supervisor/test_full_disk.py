"""A full disk: runs end with their record, the queue stays whole, and what cannot be done is said in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import namespaces


@pytest.mark.usefixtures("own_world")
def test_a_full_disk_loses_nothing_and_is_said(tmp_path: Path) -> None:
    told = namespaces.play(Path(__file__).parent / "on_full_disk.py", tmp_path)
    for request in ("submit", "hold", "move"):
        assert told[request]["exit"] == 9, told
        assert "No space left" in told[request]["message"]
        assert "free space" in told[request]["remedy"]
    assert told["held"] is None, "what could not be written down did not happen"
    ends = [
        ["finished", "failed", 3, None, "exit"],
        ["finished", "stopped", None, "SIGTERM", "stopped-by-user"],
        ["finished", "stopped", None, "SIGKILL", "stopped-by-user"],
        ["finished", "stopped", None, None, "stopped-by-user"],
    ]
    assert told["ended"] == ends
    assert told["again"] == ends, "the next supervisor reads the same"
    assert "No space left" in told["waits"]
    assert told["left"], "nothing half made"
    assert told["at last"] == ["finished", "succeeded", 0, None, "exit"]
    assert told["retried"] == ["finished", "failed", 3, None, "exit", 2], "an attempt waits for room, too"
    assert told["temporary"] == []
    assert not told["reports"]
