"""The event file: whole lines, plain numbers, and a disk that fills up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from accel_tui_worker.events import EventLog, encode
from support.working import events


def test_every_event_carries_time_rank_and_name(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events", 3)
    log.emit("phase", phase="loading")
    log.finish(ok=True)
    first, last = events(tmp_path, 3)
    assert first["rank"] == 3
    assert first["event"] == "phase"
    assert first["phase"] == "loading"
    assert last["event"] == "result"
    assert last["ok"] is True
    assert last["t"] >= first["t"]


def test_the_result_is_the_last_event_and_the_first_result_counts(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events", 0)
    assert log.finish(ok=True) is True
    assert log.finish(ok=False) is False
    log.emit("phase", phase="saving")
    assert [event["event"] for event in events(tmp_path)] == ["result"]
    assert events(tmp_path)[0]["ok"] is True


def test_numbers_that_json_lacks_become_null() -> None:
    line = encode({"loss": float("nan"), "deep": [{"a": float("inf")}, 1.5], "path": Path("/x")})
    assert json.loads(line) == {"loss": None, "deep": [{"a": None}, 1.5], "path": "/x"}


def test_any_text_is_one_ascii_line() -> None:
    line = encode({"message": "two\nlines, \x1b[31m, ü and \udcff"})
    assert line.isascii()
    assert line.count(b"\n") == 1


def test_a_second_log_of_a_rank_appends(tmp_path: Path) -> None:
    for phase in ("loading", "training"):
        EventLog(tmp_path / "events", 0).emit("phase", phase=phase)
    assert [event["phase"] for event in events(tmp_path)] == ["loading", "training"]


FULL_DISK = """
import resource, sys
from pathlib import Path
from accel_tui_worker.events import EventLog

log = EventLog(Path(sys.argv[1]) / "events", 0)
log.emit("phase", phase="loading")
room = log.path.stat().st_size + 50  # the next line does not fit: what a full disk does, half a line included
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
for step in range(1, 6):
    log.emit("step", step=step, total=5, epoch=1.0, eta_seconds=0.0, steps_per_second=1.0)
if sys.argv[2] == "freed":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.emit("phase", phase="saving")
    log.finish(ok=True)
print("went on")
"""


def _fill(folder: Path, then: str) -> str:
    argv = [sys.executable, "-c", FULL_DISK, str(folder), then]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_a_full_disk_does_not_end_the_work_and_leaves_no_half_line(tmp_path: Path) -> None:
    assert _fill(tmp_path, "full") == "went on\n"
    raw = (tmp_path / "events/rank-0.jsonl").read_bytes()
    assert raw.endswith(b"}\n")
    assert [event["event"] for event in events(tmp_path)] == ["phase"]


def test_events_that_waited_for_space_come_in_order_with_a_warning(tmp_path: Path) -> None:
    _fill(tmp_path, "freed")
    kinds = [event["event"] for event in events(tmp_path)]
    assert kinds == ["phase", "step", "step", "step", "step", "step", "phase", "warning", "result"]
    assert [event["step"] for event in events(tmp_path) if event["event"] == "step"] == [1, 2, 3, 4, 5]
    assert events(tmp_path)[-2]["code"] == "events-delayed"
