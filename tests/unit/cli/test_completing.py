"""What completion offers for session files, their jobs and the fields of a job."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from accel_tui.cli import completing

JOB = '[[job]]\nname = "{}"\nkind = "command"\ncommand.argv = ["true"]\n'
SESSION = JOB.format("say") + JOB.format("other")


def keys(prefix: str, file: str | None = None) -> list[str]:
    return completing.keys(prefix, argparse.Namespace(file=file))


def test_files_and_the_jobs_behind_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(SESSION)
    Path("broken.toml").write_text("[")
    assert completing.sessions("m") == ["mine.toml"]
    assert completing.sessions("mine.toml#") == ["mine.toml#say", "mine.toml#other"]
    assert completing.sessions("mine.toml#s") == ["mine.toml#say"]
    assert completing.sessions("broken.toml#") == completing.sessions("none.toml#") == []


def test_fields_are_those_of_the_jobs_kind(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SESSION)
    assert keys("train.arguments.lear") == ["train.arguments.learning_rate="]
    assert keys("launch.pro") == ["launch.processes="]
    assert keys("comm", f"{file}#say") == ["command.argv="]
    assert keys("train.", f"{file}#say") == []
    assert keys("train.", str(tmp_path / "none.toml"))
