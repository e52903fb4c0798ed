"""What is looked at of a log: all of a small one, head and tail of a large one, and nothing that is no file."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from accel_tui.diagnosis import scan
from accel_tui.diagnosis.recognise import Evidence, recognise
from accel_tui.diagnosis.table import shipped


def test_a_small_log_is_read_in_full(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\n[rank1]:[rank1]: \x1b[31mtwo\x1b[0m\n[default0]:three\n\xff")
    assert [(line.number, line.rank, line.text) for line in scan.of_log(log)] == [
        (1, None, "one"), (2, 1, "two"), (3, 0, "three"), (4, None, "\ufffd"),
    ]  # fmt: skip


def test_of_a_large_log_head_and_tail_are_read_and_numbered_as_in_the_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.write(b"first\n")
        file.writelines(b"%08d some words of a step that nobody reads again\n" % number for number in range(60_000))
        file.write(b"last\n")
    lines = scan.of_log(log)
    assert sum(len(line.text) + 1 for line in lines) <= scan.HEAD_BYTES + scan.TAIL_BYTES
    assert (lines[0].text, lines[0].number) == ("first", 1)
    assert (lines[-2].text, lines[-2].number) == ("last", 60_002)


def test_a_single_line_without_end_is_looked_at_by_its_last_frames(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"\r %6d/9999999 [00:01<00:02]" % number for number in range(200_000)) + b"\rKilled: no")
    lines = scan.of_log(log)
    assert lines[-1].text == "Killed: no"
    assert all(len(line.text) <= scan.LONGEST for line in lines)
    assert len(lines) < 10


def test_a_hole_of_any_size_costs_no_number_and_no_memory(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(scan.COUNTED_BYTES + 10 * scan.TAIL_BYTES)
        file.seek(0, os.SEEK_END)
        file.write(b"\nValueError: x\n")
    lines = scan.of_log(log)
    assert lines[-2].text == "ValueError: x"
    assert lines[-2].number is None


def test_what_is_no_file_is_no_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert scan.of_log(log) == ()
    log.write_bytes(b"x")
    (tmp_path / "link").symlink_to(log)
    os.mkfifo(tmp_path / "fifo")
    assert scan.of_log(tmp_path / "link") == scan.of_log(tmp_path / "fifo") == scan.of_log(tmp_path) == ()


@given(st.binary(max_size=3000))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    lines = scan.of_text(data)
    assert lines[-1].number == data.count(b"\n") + 1
    found = recognise(Evidence("x", lines), shipped())
    assert found is None or found.summary.isprintable()


def test_a_search_that_takes_too_long_ends_with_what_it_has() -> None:
    lines = scan.of_text("RuntimeError: synStatus=8 [Device not found] Device acquire failed.\n" * 100)
    assert recognise(Evidence("x", lines), shipped(), seconds=-1.0) is None
    assert recognise(Evidence("x", lines), shipped()) is not None
