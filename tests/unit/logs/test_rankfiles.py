"""A folder with a file for each rank reads as one log in the order of time, also while its files grow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.folds import Folds, Kind
from accel_tui.logs.frames import Bars
from accel_tui.logs.lines import iterate, last_frame
from accel_tui.logs.packed import open_log
from accel_tui.logs.rankfiles import MergedSource, rank_files
from accel_tui.logs.ranks import split_rank
from accel_tui.model.errors import FileError

OLD = 1000.0
AT = "2026-11-30T12:00:{:02}Z {}\n".format


def write(path: Path, text: str, *, live: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)
    if not live:
        os.utime(path, (OLD, OLD))


def said(source: MergedSource) -> list[str]:
    return [line.data.decode() for line in iterate(source)]


def merged(folder: Path) -> MergedSource:
    source = open_log(folder)
    assert isinstance(source, MergedSource)
    return source


def test_whose_file_it_is(tmp_path: Path) -> None:
    names = (
        *("none_x1/attempt_0/0/stdout.log", "none_x1/attempt_0/11/stderr.log", "none_x1/attempt_0/0/error.json"),
        *("rank-3.log", "train_rank4.out", "local_rank_5.txt", "6.log", "7", "frank8.log", "rank9.jsonl", "notes.log"),
    )
    for name in names:
        write(tmp_path / name, "x\n")
    (tmp_path / "rank12.log").symlink_to("/etc/hostname")
    assert [rank for rank, _ in rank_files(tmp_path)] == [0, 3, 4, 5, 6, 7, 11]


def test_all_ranks_by_time_and_one_behind_the_other_without(tmp_path: Path) -> None:
    write(tmp_path / "rank0.log", AT(1, "a") + "of a\n" + AT(4, "d"))
    write(tmp_path / "rank1.log", AT(2, "b") + AT(3, "c") + "[rank1]: said so itself, no end")
    with merged(tmp_path) as source:
        assert [line.rsplit(" ", 1)[-1] for line in said(source)] == ["a", "a", "b", "c", "end", "d"]
        assert said(source)[1] == "[rank0]: of a"
        assert said(source)[4] == "[rank1]: said so itself, no end"
        assert source.ranks == {0, 1}


def test_what_is_written_later_comes_below(tmp_path: Path) -> None:
    first, second = tmp_path / "0/stderr.log", tmp_path / "1/stderr.log"
    write(first, "one\nbegun", live=True)
    write(second, "two\n", live=True)
    with merged(tmp_path) as source:
        assert said(source) == ["[rank0]: one", "[rank1]: two"]
        write(first, " and ended\n", live=True)
        write(second, "\r 10%|#  | 1/10 [00:01<00:09, 1.0it/s]\r 20%", live=True)
        assert said(source)[2] == "[rank0]: begun and ended"
        assert said(source)[3].startswith("[rank1]: ")
        assert "1/10" in said(source)[3]
        first.write_text("anew\n")
        assert said(source)[-1] == "[rank0]: anew"


def test_little_by_little(tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path / f"rank{rank}.log", "".join(AT(second, "x" * 50) for second in range(60)))
    with merged(tmp_path) as whole, MergedSource(tmp_path, look_bytes=500) as source:
        sizes = [source.size() for _ in range(100)]
        assert sizes[0] < 1000
        assert said(source) == said(whole)


def test_tracebacks_fold_and_bars_of_all_ranks_are_told_apart(tmp_path: Path) -> None:
    bar = "".join(f"\r{done}%|#  | {done}/100 [00:05<00:07,  8.1it/s]" for done in range(1, 5))
    for rank in range(2):
        write(tmp_path / f"rank{rank}.log", "Traceback (most recent call last):\n  File x\nE: y\n" + bar)
    with merged(tmp_path) as source:
        size = source.size()
        bars, folds = Bars(), Folds(source)
        bars.feed(source.read(0, size))
        while not folds.step():
            continue
        assert [(one.frame.rank, one.frame.done) for one in bars.live()] == [(0, 4), (1, 4)]
        assert [folds[place].kind for place in range(len(folds))].count(Kind.TRACEBACK) == 2
        assert all("\r[rank" in line for line in said(source) if "%|" in line)


def test_a_folder_without_ranks(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "x")
    with pytest.raises(FileError, match="no file in it belongs to a rank"):
        open_log(tmp_path)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=30), max_size=8), min_size=1, max_size=4))
def test_no_line_is_lost(tmp_path_factory: pytest.TempPathFactory, ranks: list[list[bytes]]) -> None:
    folder = tmp_path_factory.mktemp("ranks")
    for rank, pieces in enumerate(ranks):
        (folder / f"rank{rank}.log").write_bytes(b"\n".join(pieces))
        os.utime(folder / f"rank{rank}.log", (OLD, OLD))
    wanted: list[bytes] = []
    for pieces in ranks:
        *whole, last = b"\n".join(pieces).split(b"\n")
        wanted += [_shown(line) for line in whole] + ([_shown(last)] if last.strip(b"\0\r") else [])
    with merged(folder) as source:
        found = [last_frame(line.data) for line in iterate(source)]
    assert sorted(split_rank(line.decode("latin-1"))[1].encode("latin-1") for line in found) == sorted(wanted)


def _shown(line: bytes) -> bytes:
    """What is seen of it in the end; leading zeros are what an abandoned write leaves."""
    return last_frame(line.lstrip(b"\0"))
