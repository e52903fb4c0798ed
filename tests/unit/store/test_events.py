"""Reading worker events while they are being written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accel_tui.store import events


def lines(*found: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in found)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    return tmp_path


def test_reader_gives_whole_lines_once(run: Path) -> None:
    path = run / "events" / "rank-0.jsonl"
    reader = events.EventFile(path)
    assert reader.read_new() == []
    path.write_bytes(lines({"event": "a"}) + b'{"event"')
    assert [event["event"] for event in reader.read_new()] == ["a"]
    assert reader.read_new() == []
    with path.open("ab") as file:
        file.write(b': "b"}\n')
    assert [event["event"] for event in reader.read_new()] == ["b"]


def test_reader_starts_again_when_the_file_was_cut_or_replaced(run: Path) -> None:
    path = run / "events" / "rank-0.jsonl"
    path.write_bytes(lines({"event": "a"}, {"event": "b"}))
    reader = events.EventFile(path)
    assert len(reader.read_new()) == 2
    path.write_bytes(lines({"event": "c"}))
    assert [event["event"] for event in reader.read_new()] == ["c"]
    path.unlink()
    assert reader.read_new() == []
    path.write_bytes(lines({"event": "longer", "text": "x" * 100}))
    assert [event["event"] for event in reader.read_new()] == ["longer"]


def test_what_is_no_event_is_left_out(run: Path) -> None:
    path = run / "events" / "rank-0.jsonl"
    path.write_bytes(b'\n\0\0\0\n[]\n7\n{"event": 7}\n{"no": 1}\n\xff\xfe\n{"event": "a"}\n' + b"[" * 50_000 + b"\n")
    assert events.EventFile(path).read_new() == [{"event": "a"}]
    assert events.tail(path) == [{"event": "a"}]


def test_line_longer_than_the_window_is_read_whole(run: Path) -> None:
    path = run / "events" / "rank-0.jsonl"
    path.write_bytes(lines({"event": "a", "text": "x" * 400_000}, {"event": "b", "text": "y" * 100_000}))
    assert [event["event"] for event in events.tail(path)] == ["b"]
    assert len(list(events.all_events(run))) == 2


def test_endless_line_does_not_stop_the_reader(run: Path) -> None:
    path = run / "events" / "rank-0.jsonl"
    path.write_bytes(b"x" * (events.LONGEST_LINE * 2 + 77) + b"\n" + lines({"event": "a"}))
    assert [event["event"] for event in events.all_events(run)] == ["a"]


def test_events_of_all_ranks_or_of_one(run: Path) -> None:
    for rank in (10, 2):
        (run / "events" / f"rank-{rank}.jsonl").write_bytes(lines({"event": "start", "rank": 99}))
    assert [event["rank"] for event in events.all_events(run)] == [2, 10]
    assert [event["rank"] for event in events.all_events(run, 10)] == [10]
    assert list(events.all_events(run, 3)) == []
    assert list(events.all_events(run / "nowhere")) == []


def test_progress_is_the_newest_of_each(run: Path) -> None:
    assert events.progress_of(run).phase is None
    path = run / "events" / "rank-0.jsonl"
    steps = [{"event": "step", "step": step, "total": 5000, "eta_seconds": 9.5} for step in range(5000)]
    log = {"event": "log", "step": 4990, "loss": 1.25, "learning_rate": 1e-5, "tokens_per_second": None}
    path.write_bytes(lines({"event": "start"}, {"event": "phase", "phase": "training"}, *steps[:-5], log, *steps[-5:]))
    progress = events.progress_of(run)
    assert (progress.phase, progress.step, progress.total, progress.loss) == ("training", 4999, 5000, 1.25)
    assert (progress.eta_seconds, progress.tokens_per_second) == (9.5, None)


def test_progress_of_odd_figures(run: Path) -> None:
    odd = [
        {"event": "phase", "phase": 7},
        {"event": "step", "step": "x", "total": True},
        {"event": "log", "loss": float("nan"), "step": 3.0},
        {"event": "generation", "index": 4, "decode_tokens_per_second": 8.5},
        {"event": "result", "ok": True},
    ]
    (run / "events" / "rank-0.jsonl").write_bytes(lines(*odd))
    progress = events.progress_of(run)
    assert (progress.phase, progress.loss, progress.step, progress.tokens_per_second) == (None, None, 5, 8.5)


def test_series_have_time_step_and_unit(run: Path) -> None:
    assert events.series_of(run) == []
    told = [
        {"event": "log", "t": 1.0, "step": 5, "loss": 7.5, "tokens_per_second": 100},
        {"event": "log", "t": 2.0, "step": 10, "loss": None, "note": "text"},
        {"event": "generation", "t": 3.0, "index": 0, "new_tokens": 8, "time_to_first_token_seconds": 0.5},
    ]
    (run / "events" / "rank-0.jsonl").write_bytes(lines(*told))
    series = {one["name"]: one for one in events.series_of(run)}
    assert series["loss"]["points"] == [[1.0, 5, 7.5], [2.0, 10, None]]
    assert series["tokens_per_second"]["unit"] == "tokens/s"
    assert series["time_to_first_token_seconds"] == {
        "name": "time_to_first_token_seconds",
        "unit": "s",
        "points": [[3.0, 0, 0.5]],
    }
    assert set(series) == {"loss", "tokens_per_second", "new_tokens", "time_to_first_token_seconds"}
