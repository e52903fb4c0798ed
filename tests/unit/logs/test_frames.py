"""Progress bars untangled: frames, the text between them, one live bar per rank, task and process."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.frames import Bars, only_frames, parts, shown

DATA = Path(__file__).parents[2] / "data" / "logs"


def frame(done: int, total: int = 100, label: str = "", rest: str = "00:05<00:07,  8.1it/s") -> bytes:
    share = 100 * done // total
    lead = f"{label}: " if label else ""
    return f"\r{lead}{share:3}%|{'█' * (share // 10):<10}| {done}/{total} [{rest}]".encode()


def bars(data: bytes, *, cut: int = 0) -> list[tuple[int | None, str, float, float | None, int | None]]:
    seen = Bars()
    for at in range(0, len(data), cut or max(1, len(data))):
        seen.feed(data[at : at + (cut or len(data))])
    return [(bar.frame.rank, bar.frame.label, bar.frame.done, bar.frame.total, bar.number) for bar in seen.live()]


def test_frames_and_the_text_between_them() -> None:
    found = parts(frame(3) + b"a warning of another rank\n" + frame(4, label="Eval") + b" " * 40 + b"\r{'loss': 1.2}\n")
    assert [(one.label, one.done) for one in found.frames] == [("", 3), ("Eval", 4)]
    assert found.texts == [b"a warning of another rank", b"{'loss': 1.2}"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", b"plain"),
        (b"100 %| of it", b"100 %| of it"),
        (frame(1) + frame(2), frame(2)[1:]),
        (frame(1) + b"said between" + frame(2), b"said between"),
        (b"\r", b""),
        (b"old\rnew", b"new"),
        (b"[default0]:  0%|          | 0/6 [00:00<?, ?it/s][default1]:[rank1]: Oh: x", b"[default1]:[rank1]: Oh: x"),
    ],
)  # fmt: skip
def test_what_of_a_line_is_shown(data: bytes, text: bytes) -> None:
    assert shown(data) == text


def test_lines_that_hold_nothing_but_frames() -> None:
    assert only_frames(frame(1) + frame(2) + b"\r")
    assert only_frames(frame(1) + b"\x1b[A")
    assert not only_frames(frame(1) + b"text")
    assert not only_frames(b"50%| nothing of that kind")
    assert not only_frames(b"")


def counted(done: int, label: str = "", unit: str = "it") -> bytes:
    """As tqdm writes it for what has no length."""
    lead = f"{label}: " if label else ""
    return f"\r{lead}{done}{unit} [00:03, {done / 3:.2f}{unit}/s]".encode()


def test_a_bar_without_a_total_is_live_until_its_line_ends() -> None:
    data = b"begin\n" + b"".join(counted(done, "Reading") for done in range(20))
    assert bars(data + counted(20, "Reading")) == bars(data + counted(20, "Reading"), cut=7)
    assert bars(data + b"\r") == [(None, "Reading", 19, None, None)]
    both = data + b"\n" + b"".join(counted(done, "Generating train split", " examples") for done in range(9)) + b"\r"
    assert bars(both) == [(None, "Generating train split", 8, None, None)]
    assert parts(data + b"\n" + counted(3)).texts == [b"begin"]


def test_a_rank_whose_bar_has_no_total() -> None:
    data = b"".join(b"[default%d]:" % rank + counted(done)[1:] + b"\n" for done in range(5) for rank in (0, 1))
    assert bars(data) == [(0, "", 4, None, None), (1, "", 4, None, None)]
    assert bars(data, cut=3) == bars(data)


@pytest.mark.parametrize(
    "text", [b"[12:30:01, 4] it was read", b"9" * 70_000 + b"it [00:03, 4.00it/s", b"[00:03, /s]" * 3000]
)
def test_a_time_of_day_is_no_bar(text: bytes) -> None:
    assert parts(text).frames == []
    assert not only_frames(text)


def test_nested_bars_are_two_rows() -> None:
    data = b"".join(
        frame(epoch, 3, "Epoch") + b"\n" + b"".join(frame(batch, 50, "Batch") for batch in range(40)) + b"\x1b[A"
        for epoch in range(3)
    )
    assert bars(data) == [(None, "Batch", 39, 50, None), (None, "Epoch", 2, 3, None)]


def test_ranks_by_their_prefix() -> None:
    data = b"".join(
        f"[rank{rank}]:".encode() + frame(step + rank)[1:] + b"\n" for step in range(9) for rank in range(4)
    )
    assert bars(data) == [(rank, "", 8 + rank, 100, None) for rank in range(4)]


@pytest.mark.parametrize("cut", [0, 1, 7, 64])
def test_four_processes_that_name_themselves_nowhere(cut: int) -> None:
    steps = [0, 0, 0, 0]
    data = b"".join(frame(0) for _ in steps)
    for turn in range(200):
        process = (turn * 7 + turn // 3) % 4
        steps[process] += 1
        data += frame(steps[process])
    found = bars(data, cut=cut)
    assert [bar[4] for bar in found] == [1, 2, 3, 4][: len(found)]
    assert max(bar[2] for bar in found) == max(steps)
    assert len(found) <= 4


def test_a_complete_bar_begins_again() -> None:
    data = b"".join(frame(step) for _ in range(3) for step in (*range(0, 101, 20),)) + frame(7)
    assert bars(data) == [(None, "", 7, 100, None)]


def test_of_complete_bars_the_newest_stays() -> None:
    assert bars(frame(46, 46, "Loading weights") + b"\n" + frame(100, 100)) == [(None, "", 100, 100, None)]


def test_a_bar_that_never_was_complete_begins_again_when_its_clock_does() -> None:
    first = b"".join(frame(step, rest=f"01:{step:02}<00:07, 8it/s") for step in range(60))
    assert bars(first + frame(3, rest="00:01<00:07, 8it/s")) == [(None, "", 3, 100, None)]
    assert len(bars(first + frame(3, rest="01:58<00:07, 8it/s"))) == 2, "another process, as old as the first"


def test_large_counts_and_units() -> None:
    found = parts(b"\rmodel.safetensors:  42%|####2     | 1.05G/2.50G [00:12<00:16, 88.1MB/s]").frames
    assert (found[0].label, found[0].done, found[0].total) == ("model.safetensors", 1.05e9, 2.5e9)


def test_a_real_log_of_two_ranks_under_tee() -> None:
    data = (DATA / "trainer_stderr_single_raw_cr.log").read_bytes()
    assert bars(data, cut=37) == [(None, "Writing model shards", 1, 1, None)]
    assert all(b"\r" not in shown(line) for line in data.split(b"\n"))


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([frame(3), b"%|", b"x", b"\n", b"[rank1]:", b"\xff|"])).map(b"".join)
)
def test_any_bytes_are_taken(data: bytes) -> None:
    found = parts(data)
    assert all(one.data in data for one in found.frames)
    assert all(text.strip() for text in found.texts)
    shown(data)
    Bars().feed(data)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 100), max_size=30), st.integers(1, 50))
def test_chunk_edges_do_not_matter(steps: list[int], cut: int) -> None:
    data = b"some text\n" + b"".join(frame(step, label="Task") for step in steps)
    assert bars(data, cut=cut) == bars(data)
