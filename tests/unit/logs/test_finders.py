"""Finding lines of a rank and lines of trouble in blocks agrees with asking every line; times of places."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.ranks import OfRank, of_rank, ranks_in, split_rank
from accel_tui.logs.search import Both, Finder, Needle
from accel_tui.logs.severity import Problems, severity_of
from accel_tui.logs.times import Times

DATA = Path(__file__).parents[2] / "data" / "logs"
LINES = st.lists(
    st.sampled_from(
        [
            "", "step", "[rank0]: a", "[rank1]: b", "[rank1]:c", "[default0]:d", "[default1]:[rank1]: e", "[rank 1] f",
            "[default2]:[rank 1] g", "[rank 01] h", "[rank10]: i", "[rank 1]j", "x [rank1]: k", "[default1]:",
            "Traceback (most recent call last):", "[rank1]: ValueError: no", "[W1130 12:00:00.1 x.cpp:3] late",
            "FutureWarning: old", "INFO all is well", "an error of 3 %", "Killed", "the memory", "[rank0]: ERROR x",
        ]
    ),
    max_size=12,
)  # fmt: skip


def lines_of(block: str, finder: Finder) -> list[str]:
    found = []
    data = block.encode()
    for begin, _ in finder.hits(data):
        start = data.rfind(b"\n", 0, begin) + 1
        end = data.find(b"\n", start)
        found.append(data[start : len(data) if end < 0 else end].decode())
    return found


@settings(max_examples=300)
@given(LINES, st.sampled_from([0, 1, 2, 10]), st.booleans())
def test_lines_of_a_rank(lines: list[str], rank: int, ended: bool) -> None:
    block = "\n".join(lines) + ("\n" if ended and lines else "")
    whole = block.removesuffix("\n").split("\n") if block else []
    assert lines_of(block, OfRank(rank)) == [line for line in whole if of_rank(line, rank) is not None]
    assert ranks_in(block.encode()) == {split_rank(line)[0] for line in whole} - {None}


@settings(max_examples=300)
@given(LINES)
def test_lines_of_trouble(lines: list[str]) -> None:
    assert lines_of("\n".join(lines), Problems()) == [line for line in lines if severity_of(line) is not None]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.log")), ids=lambda path: path.name)
def test_lines_of_trouble_in_real_logs(path: Path) -> None:
    lines = [line.split("\r")[-1] for line in path.read_text().split("\n")]
    assert lines_of("\n".join(lines), Problems()) == [line for line in lines if severity_of(line) is not None]


def test_the_time_of_a_place_while_times_are_written(tmp_path: Path) -> None:
    path = tmp_path / "log.times"
    times = Times(path)
    times.look()
    assert (times.last, times.moment_of(0), times.offset_at(9e9)) == (None, None, 0)
    path.write_text("100.5 10\nnonsense\n101.5 30\n102.")
    times.look()
    assert [times.moment_of(place) for place in (0, 9, 10, 29, 30)] == [100.5, 100.5, 101.5, 101.5, None]
    with path.open("a") as file:
        file.write("5 40\nnan 50\n90 60\n103.5 20\n")
    times.look()
    assert (times.last, times.moment_of(35), times.moment_of(55)) == (102.5, 102.5, None)
    assert [times.offset_at(moment) for moment in (100, 100.5, 102, 200)] == [0, 10, 30, 40]
    path.write_text("200 5\n")
    times.look()
    assert (times.last, times.moment_of(3)) == (200.0, 200.0)


@settings(max_examples=200)
@given(LINES, st.sampled_from(["a", "e", "rank1", "i"]), st.integers(0, 2))
def test_hits_within_other_lines(lines: list[str], text: str, rank: int) -> None:
    found = lines_of("\n".join(lines), Both(OfRank(rank), Needle(text)))
    assert found == [line for line in lines if of_rank(line, rank) is not None and text in line.lower()]
