"""The session file that the quickstart leaves for a person to make their own."""

from __future__ import annotations

from pathlib import Path

from accel_tui.client import quickstart
from accel_tui.jobs.session import load_session


def test_the_file_names_the_model_of_here_and_is_never_overwritten(tmp_path: Path) -> None:
    state = tmp_path / 'state "of" ünits'
    (state / "quickstart").mkdir(parents=True)
    place = quickstart.session_file(state)
    jobs = load_session(place).jobs
    assert [job.model_dump(mode="json") for job in jobs] == [
        job.model_dump(mode="json") for job in quickstart.shipped_jobs(state)
    ]
    place.write_text("mine")
    assert quickstart.session_file(state) == place
    assert place.read_text() == "mine"
