"""Following: nothing is missed, nothing comes twice, and it ends when told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from accel_tui.logs.follow import follow
from accel_tui.logs.source import FileSource


class Script:
    """Does one step of a story each time the follower waits, and says stop when the story is over."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def wait(self, seconds: float) -> None:
        assert 0 < seconds <= 1
        self.steps.pop(0)()

    def over(self) -> bool:
        return not self.steps


def append(path: Path, data: bytes) -> Callable[[], object]:
    def step() -> None:
        with path.open("ab") as file:
            file.write(data)

    return step


def told(path: Path, script: Script, start: int = 0) -> list[bytes]:
    return [line.data for line in follow(FileSource(path), start, script.over, script.wait)]


def test_lines_come_once_when_they_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    script = Script(append(path, b"o"), append(path, b"\nthree\n"), append(path, b"unfinished"))
    assert told(path, script) == [b"one", b"two", b"three", b"unfinished"]


def test_what_was_written_just_before_the_end_is_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert told(path, Script(append(path, b"late\n"))) == [b"late"]
    assert told(path, Script()) == [b"late"]
    assert told(path, Script(), start=5) == []


def test_replaced_and_cut_files_are_followed_from_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a long first file\n")

    def replace() -> None:
        path.rename(tmp_path / "log.1")
        path.write_bytes(b"second, and it is longer than the first\n")

    def cut() -> None:
        path.write_bytes(b"third\n")

    assert told(path, Script(replace, cut, path.unlink)) == [
        b"a long first file",
        b"second, and it is longer than the first",
        b"third",
    ]
