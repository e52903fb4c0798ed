"""Folds over logs of any content: they cover whole lines, never overlap, and do not depend on how the log arrived."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.folds import Folds, Kind
from accel_tui.logs.lines import LONGEST_LINE
from accel_tui.logs.ranks import OfRank
from accel_tui.logs.source import FileSource
from support.bytes_source import FakeSource

DATA = Path(__file__).parents[2] / "data" / "logs"
FRAME = b"\r 42%|####      | 42/100 [00:05<00:07,  8.1it/s]"
LINES = st.lists(
    st.sampled_from(
        [b"a", b"a", b"b", b"", b"[rank0]: a", b"[rank1]: a", b"Traceback (most recent call last):", b"  File x",
         b"ValueError: no", b"[rank1]: Traceback (most recent call last):", b"[rank1]:   File y", b"[rank1]: E: 1",
         FRAME, b"[default0]:" + FRAME[1:], b"text" + FRAME, b"\xff\0\r"]
    ), max_size=40,
)  # fmt: skip


def found(source: FakeSource | FileSource) -> list[tuple[int, int, int, int, Kind]]:
    folds = Folds(source)
    while not folds.step():
        continue
    return [tuple(folds[place]) for place in range(len(folds))]  # type: ignore[misc] # a tuple of five


def shown(data: bytes) -> list[tuple[int, bytes]]:
    """Each fold as its length and the line that is shown."""
    return [(lines, data[last:].split(b"\n")[0]) for _, lines, _, last, _ in found(FakeSource(data))]


@pytest.mark.parametrize(
    ("data", "folds"),
    [
        (b"a\na\na\nb\n", [(3, b"a")]),
        (b"a\n\n\n\nb\n", []),
        (b"[rank0]: warn\n[rank1]: warn\n[rank2]: warn\nb\n", [(3, b"[rank2]: warn")]),
        (b"x\nTraceback (most recent call last):\n  File x\n    y\nE: z\nE: z2\n", [(4, b"E: z")]),
        (b"Traceback (most recent call last):\n  File x\nE: 1\n\nDuring handling of the above exception\n\n"
         b"Traceback (most recent call last):\n  File y\nE: 2\n", [(3, b"E: 1"), (3, b"E: 2")]),
        (b"[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n[rank0]: other\n[rank1]: E\n", []),
        (FRAME + b"\n" + FRAME + b"\n\n" + FRAME + b"\n\n\nend\n", [(4, FRAME)]),
        (FRAME + b"\n", []),
        (b"a\na", []),
    ],
)  # fmt: skip
def test_what_is_folded(data: bytes, folds: list[tuple[int, bytes]]) -> None:
    assert shown(data) == folds


@settings(max_examples=300, deadline=None)
@given(LINES, st.lists(st.integers(1, 60), min_size=1, max_size=12), st.booleans())
def test_folds_agree_with_the_lines_however_they_arrive(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    data = b"\n".join(lines) + b"\n" * ended
    growing = FakeSource(b"")
    folds = Folds(growing)
    position = 0
    for cut in [*cuts, len(data)]:
        position = min(len(data), position + cut)
        growing.data = data[:position]
        while not folds.step():
            continue
    at_once = found(FakeSource(data))
    assert [tuple(folds[place]) for place in range(len(folds))] == at_once
    whole = data.split(b"\n")
    end = 0
    for number, count, offset, last, kind in at_once:
        assert count >= 2
        assert number >= end
        end = number + count
        assert end <= len(whole) - 1, "an unfinished line is in no fold"
        assert offset == sum(len(line) + 1 for line in whole[:number])
        assert last == sum(len(line) + 1 for line in whole[: end - 1])
        if kind is Kind.REPEAT:
            bare = {line.removeprefix(b"[rank0]: ").removeprefix(b"[rank1]: ") for line in whole[number:end]}
            assert len(bare) == 1


def test_a_replaced_log_is_folded_anew() -> None:
    source = FakeSource(b"a\na\nb\n")
    folds = Folds(source)
    while not folds.step():
        continue
    source.replace(b"c\nd\nd\nd\n")
    while not folds.step():
        continue
    assert [tuple(folds[place]) for place in range(len(folds))] == [(1, 3, 2, 6, Kind.REPEAT)]


def test_a_huge_line_of_frames_is_one_of_several(tmp_path: Path) -> None:
    path = tmp_path / "log"
    huge = FRAME * (2 * LONGEST_LINE // len(FRAME))
    path.write_bytes(b"begin\n" + huge + b"\n" + FRAME + b"\nend\n")
    with FileSource(path) as source:
        assert found(source) == [(1, 2, 6, 6 + len(huge) + 1, Kind.FRAMES)]


def test_real_tracebacks_of_two_ranks() -> None:
    folds = shown((DATA / "torchrun_python_exception_tee3.log").read_bytes())
    assert folds[0] == (5, b"[default1]:[rank1]: RuntimeError: simulated out of memory on rank 1")
    assert folds[1][1].startswith(b"[default0]:[rank0]: RuntimeError: ")
    assert folds[2][1].startswith(b"torch.distributed.elastic.multiprocessing.errors.ChildFailedError")


@settings(max_examples=200, deadline=None)
@given(LINES, st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_folds_of_one_rank_are_those_of_a_log_of_its_own(lines: list[bytes], cuts: list[int]) -> None:
    wanted = OfRank(1)
    data = b"".join(line + b"\n" for line in lines)
    own = b"".join(line + b"\n" for line in lines if list(wanted.hits(line + b"\n")))
    source = FakeSource(b"")
    folds = Folds(source, wanted)
    for cut in (*cuts, len(data)):
        source.data = data[: len(source.data) + cut]
        while not folds.step():
            continue
    some = [folds[place] for place in range(len(folds))]
    texts = [(one.number, one.lines, data[one.last :].split(b"\n")[0], one.kind) for one in some]
    assert texts == [
        (at, count, own[last:].split(b"\n")[0], kind) for at, count, _, last, kind in found(FakeSource(own))
    ]


def _trace(rank: int, exception: str) -> list[str]:
    lines = ["Traceback (most recent call last):", '  File "train.py", line 3, in main', "    step()", exception]
    return [f"[rank{rank}]: {line}" for line in lines]


def _mixed(*traces: list[str]) -> str:
    return "\n".join(line for lines in zip(*traces, strict=True) for line in lines) + "\n"


def test_mixed_tracebacks_with_the_same_exception_are_one() -> None:
    ranks = [_trace(rank, f"RuntimeError: no room on device {rank}") for rank in range(4)]
    text = "before\n" + _mixed(*ranks) + "after\n"
    assert shown(text.encode()) == [(16, b"[rank3]: RuntimeError: no room on device 3")]


def test_mixed_tracebacks_with_other_exceptions_hide_nothing() -> None:
    text = _mixed(_trace(0, "RuntimeError: first"), _trace(1, "ValueError: second"))
    assert shown(text.encode()) == []
    more = _mixed(_trace(0, "E: x"), _trace(1, "E: x")) + "\n".join(_trace(0, "F: y")) + "\n"
    assert shown(more.encode()) == [(8, b"[rank1]: E: x"), (4, b"[rank0]: F: y")]
