"""A full disk and used-up memory, as a keeper meets and records them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from accel_tui.keeper.files import overwrite, read_record, reserve, write_atomic
from accel_tui.keeper.memory import Kills
from support import namespaces


def play(scene: str, folder: Path) -> Any:
    return namespaces.play(Path(__file__).parent / "in_namespace.py", scene, folder)


def test_the_record_is_written_on_a_full_disk(tmp_path: Path) -> None:
    record = play("full-disk", tmp_path)
    assert record["cause"] == "exit"
    assert record["exit_code"] in {1, 120}  # the interpreter could not write its output


def test_a_time_limit_holds_on_a_full_disk(tmp_path: Path) -> None:
    record = play("limit", tmp_path)
    assert (record["cause"], record["stopped"], record["signal"]) == ("time-limit", True, "SIGTERM")


def test_without_room_for_a_record_nothing_starts_and_the_run_may_wait(tmp_path: Path) -> None:
    answer = play("no-room", tmp_path)
    assert answer["reason"] == "busy"
    assert "No space left" in answer["message"]


def test_used_up_memory_is_told_from_other_kills(tmp_path: Path) -> None:
    record = play("out-of-memory", tmp_path)
    assert (record["cause"], record["signal"]) == ("out-of-memory", "SIGKILL")
    assert "memory was used up" in record["message"]


@pytest.mark.parametrize(
    ("groups", "counter"),
    [
        ("0::/user.slice/a.scope\n", "user.slice/a.scope/memory.events"),
        ("0::/\n", "memory.events"),
        ("4:memory:/group\n1:name=systemd:/\n0::/\n", "memory/group/memory.oom_control"),
    ],
)
def test_both_kinds_of_control_groups_are_read(tmp_path: Path, groups: str, counter: str) -> None:
    (tmp_path / "cgroup").write_text(groups)
    path = tmp_path / "root" / counter
    path.parent.mkdir(parents=True)
    path.write_text("low 0\noom 1\noom_kill 1\noom_group_kill 0\n")
    kills = Kills(str(tmp_path / "cgroup"), str(tmp_path / "root"))
    assert kills.readable
    assert not kills.happened()
    path.write_text("low 0\noom 2\noom_kill 2\n")
    assert kills.happened()


def test_without_control_groups_nothing_is_known(tmp_path: Path) -> None:
    kills = Kills(str(tmp_path / "missing"), str(tmp_path))
    assert not kills.readable
    assert not kills.happened()


def test_a_record_fits_whatever_its_message(tmp_path: Path) -> None:
    path = tmp_path / "exit.json"
    descriptor = reserve(path)
    assert read_record(path) is None
    for message in ("✓" * 4096, "x" * 9000, "\U0001f600" * 5000):
        overwrite(descriptor, {"exit_code": 1, "message": message})
        assert path.stat().st_size == 4096
        record = read_record(path)
        assert record is not None
        assert record["message"].endswith("…")
        assert len(record["message"]) > 200
    os.close(descriptor)


def test_a_reserved_record_keeps_its_blocks(tmp_path: Path) -> None:
    path = tmp_path / "exit.json"
    os.close(reserve(path))
    before = path.stat()
    descriptor = reserve(path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    overwrite(descriptor, {"schema": 1})
    os.close(descriptor)
    assert read_record(path) == {"schema": 1}


def test_an_atomic_write_leaves_nothing_behind(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"one")
    write_atomic(tmp_path / "a", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"two")]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomic(tmp_path / "folder", b"never")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
