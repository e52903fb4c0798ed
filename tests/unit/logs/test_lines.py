"""Lines over files of any size and shape."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.lines import BLOCK, LONGEST_LINE, LineIndex, iterate, last_frame, line_start, start_of_last
from accel_tui.logs.source import FileSource

DATA = Path(__file__).parents[2] / "data" / "logs"
CONTENT = st.lists(
    st.sampled_from([b"\n", b"a", b"\r", b"\0", b"line\n", b"x" * 5000, b"y" * 40_000 + b"\n"]), max_size=60
)


def source_of(path: Path, data: bytes) -> FileSource:
    path.write_bytes(data)
    return FileSource(path)


def test_lines_have_place_and_content(tmp_path: Path) -> None:
    found = list(iterate(source_of(tmp_path / "log", b"one\n\ntwo\rthree\nlast")))
    assert [(line.offset, line.end, line.data, line.complete) for line in found] == [
        (0, 4, b"one", True),
        (4, 5, b"", True),
        (5, 15, b"two\rthree", True),
        (15, 19, b"last", False),
    ]
    assert last_frame(found[2].data) == b"three"


@settings(max_examples=200, deadline=None)
@given(CONTENT.map(b"".join), st.integers(min_value=0, max_value=30))
def test_every_way_of_finding_a_line_agrees(tmp_path_factory: pytest.TempPathFactory, data: bytes, count: int) -> None:
    with source_of(tmp_path_factory.mktemp("log") / "log", data) as source:
        lines = list(iterate(source))
        assert b"".join(data[line.offset : line.end] for line in lines) == data
        index = LineIndex(source)
        assert index.extend()
        assert index.line_ends == data.count(b"\n")
        for number, line in enumerate(lines):
            assert index.offset_of(number) == line.offset
            assert index.line_at(line.offset) == number
            assert line_start(source, line.end - 1) == line.offset
        expected = lines[-count].offset if 0 < count <= len(lines) else (len(data) if count == 0 else 0)
        assert start_of_last(source, count) == expected


def test_progress_bar_of_a_real_log_is_its_last_frame() -> None:
    frames = [last_frame(line.data) for line in iterate(FileSource(DATA / "trainer_stderr_single_raw_cr.log"))]
    assert any(b"46/46" in frame for frame in frames)
    assert all(b"\r" not in frame for frame in frames)


def test_hole_is_told_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    hole = 512 * 1024 * 1024 * 1024
    with path.open("wb") as file:
        file.seek(hole)
        file.write(b"first\nsecond\n")
    if path.stat().st_blocks * 512 > hole // 2:
        pytest.skip("this file system has no holes")
    source = FileSource(path)
    first, *rest = list(iterate(source))
    assert first.discarded
    assert first.end <= hole
    assert [line.data for line in rest] == [b"first", b"second"]
    assert start_of_last(source, 1) == hole + 6
    assert start_of_last(source, 99) > 0
    assert line_start(source, hole + 8) == hole + 6


def test_hole_behind_an_unfinished_line_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(1024 * 1024)
    lines = list(iterate(FileSource(path)))
    assert b"".join(line.data for line in lines).rstrip(b"\0") == b"x" * 4096
    assert lines[-1].end == 1024 * 1024


def test_zeros_in_front_of_a_line_are_dropped(tmp_path: Path) -> None:
    assert [line.data for line in iterate(source_of(tmp_path / "log", b"a\n\0\0\0b\n"))] == [b"a", b"b"]


def test_line_without_an_end_keeps_its_tail_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"\r 10%" * (1024 * 1024 // 5))
        file.write(b"\r 99%\nnext\n")
    tracemalloc.start()
    long, following = iterate(FileSource(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert long.cut
    assert len(long.data) == LONGEST_LINE
    assert last_frame(long.data) == b" 99%"
    assert (following.data, following.cut) == (b"next", False)
    assert peak < 12 * 1024 * 1024


def test_index_is_extended_in_steps_and_starts_again_when_the_file_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456\n" * 50_000)
    source = FileSource(path)
    index = LineIndex(source)
    assert not index.extend(BLOCK)
    assert index.indexed == BLOCK
    assert index.extend()
    assert (index.line_ends, index.offset_of(40_000), index.line_at(320_003)) == (50_000, 320_000, 40_000)
    with path.open("ab") as file:
        file.write(b"more\n")
    assert index.extend()
    assert index.line_ends == 50_001
    os.truncate(path, 16)
    assert index.extend()
    assert (index.line_ends, index.indexed) == (2, 16)
    path.unlink()
    path.write_bytes(b"new\n" * 10)
    assert index.extend()
    assert index.line_ends == 10


def test_index_steps_over_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.seek(20 * BLOCK + 5)
        file.write(b"\nline\n")
    index = LineIndex(FileSource(path))
    assert index.extend()
    assert (index.line_ends, index.offset_of(1)) == (2, 20 * BLOCK + 6)
