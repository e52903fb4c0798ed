"""The recording: what was appended is found again; faults of the disk pause it and never reach the caller."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from accel_tui.devices.history import History

KEY = "pci:0000:01:00.0"
NOW = 1_800_000_000.0


def opened(path: Path, **named: int) -> History:
    return History(path, clock=lambda: NOW, **named)


def series(history: History, since: float = 0, reading: str = "power_watts") -> list[tuple[float, float | None]]:
    return [(time, value) for time, value, _, _ in history.samples(KEY, since).get(reading, [])]


def test_samples_are_found_again_after_reopening(tmp_path: Path) -> None:
    history = opened(tmp_path / "h.sqlite3")
    history.append([(KEY, "power_watts", NOW - 2, 10.0), (KEY, "power_watts", NOW - 1, None), ("cpu", "x", NOW, 1.0)])
    assert series(history) == [(NOW - 2, 10.0), (NOW - 1, None)]
    assert series(history, since=NOW - 1.5) == [(NOW - 1, None)]
    history.close()
    again = opened(tmp_path / "h.sqlite3")
    assert series(again) == [(NOW - 2, 10.0), (NOW - 1, None)]
    again.close()


def test_works_without_shared_memory(tmp_path: Path) -> None:
    history = opened(tmp_path / "h.sqlite3")
    history.append([(KEY, "power_watts", NOW, 1.0)])
    history.flush()
    assert (tmp_path / "h.sqlite3-wal").exists()
    assert not (tmp_path / "h.sqlite3-shm").exists()
    history.close()


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 8000])
def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "h.sqlite3").write_bytes(damage)
    history = opened(tmp_path / "h.sqlite3")
    history.append([(KEY, "power_watts", NOW, 1.0)])
    assert series(history) == [(NOW, 1.0)]
    assert [problem.code for problem in history.problems()] == ["history-damaged"]
    aside = list(tmp_path.glob("h.sqlite3.damaged-*"))
    assert [path.read_bytes() for path in aside] == [damage]
    history.close()


def test_damage_in_the_middle_of_use_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite3"
    first = opened(path)
    first.append([(KEY, "power_watts", NOW - n, float(n)) for n in range(5000)])
    first.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x00" * (len(content) - 4096)
    path.write_bytes(content)
    history = opened(path)
    history.append([(KEY, "power_watts", NOW, 1.0)])
    history.flush()
    assert series(history) == [(NOW, 1.0)]
    assert [problem.code for problem in history.problems()] == ["history-damaged"]
    history.close()


def test_a_file_that_another_has_open_pauses_and_stays_whole(tmp_path: Path) -> None:
    first = opened(tmp_path / "h.sqlite3")
    first.append([(KEY, "power_watts", NOW, 1.0)])
    first.flush()
    second = opened(tmp_path / "h.sqlite3")
    second.append([(KEY, "power_watts", NOW, 2.0)])
    assert series(second) == []
    assert [problem.code for problem in second.problems()] == ["history-locked"]
    second.close()
    assert series(first) == [(NOW, 1.0)]
    first.close()


def test_a_folder_that_is_missing_pauses(tmp_path: Path) -> None:
    history = opened(tmp_path / "missing" / "h.sqlite3")
    history.append([(KEY, "power_watts", NOW, 1.0)])
    history.flush()
    assert [problem.code for problem in history.problems()] == ["history-paused"]
    (tmp_path / "missing").mkdir()
    history.close()
    again = opened(tmp_path / "missing" / "h.sqlite3")
    assert series(again) == [(NOW, 1.0)], "written when it could be, at the latest at the close"
    again.close()


def test_old_points_are_thinned_to_mean_least_and_greatest(tmp_path: Path) -> None:
    history = opened(tmp_path / "h.sqlite3")
    old = NOW - 2 * 3600
    history.append([(KEY, "power_watts", old + n, float(n)) for n in range(20)])
    history.append([(KEY, "power_watts", NOW - 10, 7.0), (KEY, "power_watts", NOW - 31 * 86400, 7.0)])
    history.flush()
    history.thin()
    history.thin()
    points = history.samples(KEY, 0)["power_watts"]
    assert points == [(old, 4.5, 0.0, 9.0), (old + 10, 14.5, 10.0, 19.0), (NOW - 10, 7.0, 7.0, 7.0)]
    history.close()


def test_the_file_stays_within_its_bound(tmp_path: Path) -> None:
    history = opened(tmp_path / "h.sqlite3", limit_bytes=300_000)
    for start in range(0, 40_000, 2000):
        history.append([(KEY, "power_watts", NOW - n, float(n)) for n in range(start, start + 2000)])
    history.flush()
    history.thin()
    kept = series(history)
    history.close()
    assert kept[-1] == (NOW, 0.0), "the newest stay"
    assert (tmp_path / "h.sqlite3").stat().st_size < 600_000


def test_a_full_disk_pauses_and_the_recording_goes_on(tmp_path: Path) -> None:
    """In a process of its own, whose file size limit stands in for the disk."""
    code = f"""
import resource
from pathlib import Path
from accel_tui.devices.history import History
now = [{NOW}]
history = History(Path({str(tmp_path / "h.sqlite3")!r}), clock=lambda: now[0])
history.append([("cpu", "power_watts", now[0], 1.0)])
history.flush()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
history.append([("cpu", "power_watts", now[0] - n, 1.0) for n in range(1, 20_000)])
history.flush()
print([problem.code for problem in history.problems()])
history.append([("cpu", "power_watts", now[0] + 1, 2.0)])
history.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
history.retry()
history.flush()
print([problem.code for problem in history.problems()])
print(len(history.samples("cpu", 0, now[0] + 10)["power_watts"]))
history.close()
"""
    source = Path(sys.modules["accel_tui"].__path__[0]).parent
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(source)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["['history-paused']", "[]", "20001"]


def test_others_may_keep_tables_of_their_own(tmp_path: Path) -> None:
    def make(connection: sqlite3.Connection) -> int:
        connection.execute("CREATE TABLE runs (id TEXT)")
        connection.execute("INSERT INTO runs VALUES ('a')")
        return int(connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0])

    history = opened(tmp_path / "h.sqlite3")
    assert history.transact(make, 0) == 1
    history.close()
