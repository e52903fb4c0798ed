"""Saving a job into a session file: comments stay, and what is written reads as what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accel_tui.jobs.forms.form import Form, new_form
from accel_tui.jobs.saving import save_job
from accel_tui.jobs.session import load_session
from accel_tui.model.errors import AccelError, FileError

FILE = """\
# The file's own remark.
[session]
title = "Two jobs"

[[job]]
name = "tune"
kind = "train"

[job.model]
path = "tiny"  # beside this file

[job.data]
path = "text.txt"
block_size = 64  # tokens

[job.train.arguments]
max_steps = 3  # quick
learning_rate = 1e-3

[[job]]
name = "say"
kind = "command"
[job.command]
argv = ["echo", "hello"]
"""


def opened(folder: Path, number: int = 0) -> tuple[Path, Form]:
    path = folder / "session.toml"
    path.write_text(FILE)
    return path, Form(load_session(path).jobs[number].model_dump(mode="json"))


def test_changed_fields_alone_are_written_and_comments_stay(tmp_path: Path) -> None:
    path, form = opened(tmp_path)
    changed = form.with_value(("train", "arguments", "max_steps"), 9).reset(("data", "block_size"))
    changed = changed.with_value(("launch", "env"), {"A": "\x1b[31m"})
    assert save_job(path, changed.job, saved=form.job, folder=str(tmp_path)) == 3
    text = path.read_text()
    assert "max_steps = 9  # quick" in text
    assert "# The file's own remark." in text
    assert 'path = "tiny"  # beside this file' in text
    assert "block_size" not in text
    assert "\x1b" not in text
    jobs = {job.name: job for job in load_session(path).jobs}
    assert jobs["tune"].model_dump(mode="json")["launch"]["env"] == {"A": "\x1b[31m"}
    assert jobs["say"].model_dump(mode="json")["command"]["argv"] == ["echo", "hello"]


def test_a_renamed_job_keeps_its_place(tmp_path: Path) -> None:
    path, form = opened(tmp_path)
    save_job(path, form.with_value(("name",), "other").job, saved=form.job, folder=str(tmp_path))
    assert [job.name for job in load_session(path).jobs] == ["other", "say"]


def test_a_job_can_be_added(tmp_path: Path) -> None:
    path, _ = opened(tmp_path)
    added = new_form("command").with_value(("command", "argv"), ["true"])
    save_job(path, added.job, folder=str(tmp_path))
    assert [job.name for job in load_session(path).jobs] == ["tune", "say", "command"]
    assert path.read_text().startswith(FILE.rstrip("\n"))


def test_a_new_file_holds_what_differs_and_paths_that_stay_right(tmp_path: Path) -> None:
    path, form = opened(tmp_path)
    new = tmp_path / "deeper" / "new.toml"
    moved = form.with_value(("data", "path"), "other.txt")
    save_job(new, moved.job, select="cpu", title="Mine", folder=str(tmp_path))
    session = load_session(new)
    assert (session.title, session.select) == ("Mine", "cpu")
    fields: dict[str, Any] = session.jobs[0].model_dump(mode="json")
    assert fields["data"]["path"] == str(tmp_path / "other.txt")
    assert "retries" not in new.read_text()
    assert path.read_text() == FILE


def test_a_secret_is_not_written(tmp_path: Path) -> None:
    job = new_form("command").with_value(("command", "argv"), ["prog", "hf_" + "a" * 30])
    with pytest.raises(FileError, match="looks like a token") as caught:
        save_job(tmp_path / "new.toml", job.job)
    assert "env_from" in str(caught.value.remedy)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["not toml [", "job = 3\n", '[[job]]\nname = "x"\nkind = "nothing"\n'])
def test_a_file_that_is_no_session_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.toml"
    path.write_text(text)
    job = new_form("command").with_value(("command", "argv"), ["true"])
    with pytest.raises(AccelError):
        save_job(path, job.job)
    assert path.read_text() == text
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.toml"]
