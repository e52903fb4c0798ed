"""A log that fills the disk is told of on the runs, with the question whether to stop the one that does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import namespaces


@pytest.mark.usefixtures("own_world")
def test_the_run_that_fills_the_disk_is_named_with_the_question(tmp_path: Path) -> None:
    told = namespaces.play(Path(__file__).parent / "on_filling_disk.py", tmp_path)
    (loud,) = told["filling"]["loud"]
    assert loud.startswith("disk 9")
    assert "free space, or stop the run (accel-tui stop " in loud
    assert all("stop the run" not in note for note in told["filling"]["quiet"]), "it does not fill it"
    assert told["filling"]["calm"] == []
    (note,) = told["uncapped"]["notes"]
    assert note.startswith("log cannot be capped: its file system gives no part of a file back")
    assert told["uncapped"]["whole"], "nothing was cut under its writer"
