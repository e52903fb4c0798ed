"""A log file that appears, grows, is cut, replaced and deleted while it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accel_tui.logs.source import FileSource
from accel_tui.model.errors import FileError


def test_missing_file_is_empty_until_it_appears(tmp_path: Path) -> None:
    source = FileSource(tmp_path / "log")
    assert (source.size(), source.read(0, 10), source.hole_end(0)) == (0, b"", 0)
    (tmp_path / "log").write_bytes(b"text")
    assert (source.size(), source.read(1, 10), source.generation) == (4, b"ext", 0)


def test_growth_keeps_the_generation_and_cutting_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"12345678")
    with FileSource(path) as source:
        assert source.size() == 8
        with path.open("ab") as file:
            file.write(b"9")
        assert (source.size(), source.generation) == (9, 0)
        os.truncate(path, 3)
        assert (source.size(), source.generation, source.read(0, 99)) == (3, 1, b"123")


def test_replaced_file_is_taken_up_and_a_deleted_one_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"old")
    source = FileSource(path)
    assert source.size() == 3
    path.rename(tmp_path / "log.1")
    assert (source.size(), source.read(0, 9), source.generation) == (3, b"old", 0)
    path.write_bytes(b"newer")
    assert (source.size(), source.read(0, 9), source.generation) == (5, b"newer", 1)
    path.unlink()
    assert (source.size(), source.read(0, 9)) == (5, b"newer")
    source.close()


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_file_that_must_be_there_is_told_when_it_is_not(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(FileError, match="log: "):
        FileSource.existing(path)
    if kind == "missing":
        path.write_bytes(b"x")
        assert FileSource.existing(path).size() == 1
