"""What was read over time, in SQLite: recorded by the supervisor alone, thinned by age, bounded in size.

A cache and never a truth: a damaged file is set aside and begun anew, and a full disk pauses the recording. Neither
reaches the caller as an exception.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from accel_tui.model.devices import Problem

Sample = tuple[str, str, float, "float | None"]
"""Device key, reading name, seconds since the epoch, value; None marks the begin of a gap."""

Point = tuple[float, "float | None", "float | None", "float | None"]
"""Time, mean, least and greatest value."""

T = TypeVar("T")

TIERS: tuple[tuple[int, float], ...] = ((0, 3600.0), (10, 6 * 3600.0), (60, 30 * 86400.0))
"""Width of a point in seconds (0: as read) and how old such a point may become before it is thinned or dropped."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS series (id INTEGER PRIMARY KEY, device TEXT NOT NULL, reading TEXT NOT NULL,
                                   UNIQUE (device, reading));
CREATE TABLE IF NOT EXISTS samples (series INTEGER NOT NULL, width INTEGER NOT NULL, time REAL NOT NULL,
                                    value REAL, low REAL, high REAL, PRIMARY KEY (series, width, time)) WITHOUT ROWID;
"""
_WIDEN = """
INSERT OR REPLACE INTO samples
SELECT series, :wider, CAST(time / :wider AS INTEGER) * :wider AS bucket, AVG(value), MIN(low), MAX(high)
FROM samples WHERE series = :series AND width = :width AND time < :before GROUP BY bucket
"""
_FLUSH_SECONDS = 2.0
_RETRY_SECONDS = 10.0
_THIN_SECONDS = 300.0
_PENDING_LIMIT = 200_000


class History:
    """The recording of one host. Thread-safe; queries block and belong off the event loop.

    The file is opened exclusively, so that write-ahead logging works without shared memory (network homes).
    """

    def __init__(self, path: Path, *, limit_bytes: int = 256 << 20, clock: Callable[[], float] = time.time) -> None:
        self._path, self._limit, self._clock = path, limit_bytes, clock
        self._lock = threading.Lock()
        """Guards the connection."""
        self._wake = threading.Condition()
        self._pending: deque[Sample] = deque(maxlen=_PENDING_LIMIT)
        self._connection: sqlite3.Connection | None = None
        self._series: dict[tuple[str, str], int] = {}
        self._problem: Problem | None = None
        self._aside: Problem | None = None
        self._closed = False
        self._retry_at = 0.0
        self._thinned_at = clock()
        self._thread = threading.Thread(target=self._work, name="history", daemon=True)
        self._thread.start()

    def append(self, samples: Sequence[Sample]) -> None:
        """Record these soon. Never blocks and never raises; while nothing can be written the oldest are given up."""
        self._pending.extend(samples)

    def samples(
        self, device: str, since: float, until: float | None = None, *, readings: Collection[str] | None = None
    ) -> dict[str, list[Point]]:
        """The points of one device in a span of time, by reading name, oldest first; empty when none can be read.

        With `readings`, of those alone.
        """
        end = self._clock() if until is None else until
        wanted: Collection[str | None] = (None,) if readings is None else readings

        def query(connection: sqlite3.Connection) -> dict[str, list[Point]]:
            found: dict[str, list[Point]] = {}
            for name in wanted:
                rows = connection.execute(
                    "SELECT reading, time, value, low, high FROM series JOIN samples ON samples.series = series.id"
                    " WHERE device = ? AND (? IS NULL OR reading = ?) AND time BETWEEN ? AND ? ORDER BY reading, time",
                    (device, name, name, since, end),
                )
                for reading, *point in rows:
                    found.setdefault(reading, []).append((point[0], point[1], point[2], point[3]))
            return found

        self.flush()
        return self.transact(query, {})

    def transact(self, action: Callable[[sqlite3.Connection], T], default: T) -> T:
        """Run `action` in a transaction of its own; `default` when the file cannot be used now."""
        with self._lock:
            return self._guarded(action, default)

    def flush(self) -> None:
        """Write what was appended; returns when it is written, or when it cannot be."""
        with self._lock:
            batch = [self._pending.popleft() for _ in range(len(self._pending))]
            if batch and not self._guarded(lambda connection: self._write(connection, batch), False):
                self._pending.extendleft(reversed(batch[-(_PENDING_LIMIT - len(self._pending)) :]))

    def thin(self) -> None:
        """Join old points into wider ones, drop the oldest, and keep the file within its bound."""
        self.transact(self._thin, None)
        self.transact(self._give_back, None)

    def retry(self) -> None:
        """Try again now after a pause instead of some seconds later."""
        self._retry_at = 0.0

    def problems(self) -> tuple[Problem, ...]:
        """Why nothing is recorded now, and that a damaged file was set aside."""
        return tuple(problem for problem in (self._problem, self._aside) if problem is not None)

    def close(self) -> None:
        """Write the rest and close the file."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()
        self._retry_at = 0.0
        self.flush()
        with self._lock:
            self._disconnect()

    def _work(self) -> None:
        while True:
            with self._wake:
                if self._closed or self._wake.wait(_FLUSH_SECONDS) or self._closed:
                    return
            self.flush()
            if self._clock() - self._thinned_at >= _THIN_SECONDS:
                self._thinned_at = self._clock()
                self.thin()

    def _guarded(self, action: Callable[[sqlite3.Connection], T], default: T) -> T:
        """The one border where faults of the file become problems. Holds the lock."""
        if self._retry_at > time.monotonic():
            return default
        for attempt in range(2):
            try:
                connection = self._connected()
                with connection:
                    result = action(connection)
            except sqlite3.OperationalError as error:  # full, read-only, locked, no folder: it may pass
                self._pause(error)
                return default
            except sqlite3.DatabaseError as error:  # malformed, or no database at all
                self._disconnect()
                if attempt or not self._set_aside(error):
                    return default
            except OSError as error:
                self._pause(error)
                return default
            else:
                self._problem = None
                return result
        return default

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                self._path, timeout=0, isolation_level="IMMEDIATE", check_same_thread=False, cached_statements=32
            )
            try:
                for pragma in ("locking_mode=EXCLUSIVE", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.executescript(_SCHEMA)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._series.clear()
        return self._connection

    def _write(self, connection: sqlite3.Connection, batch: Sequence[Sample]) -> bool:
        rows = [(self._number(connection, s[0], s[1]), s[2], s[3], s[3], s[3]) for s in batch]
        connection.executemany("INSERT OR REPLACE INTO samples VALUES (?, 0, ?, ?, ?, ?)", rows)
        return True

    def _number(self, connection: sqlite3.Connection, device: str, reading: str) -> int:
        number = self._series.get((device, reading))
        if number is None:
            connection.execute("INSERT OR IGNORE INTO series (device, reading) VALUES (?, ?)", (device, reading))
            row = connection.execute("SELECT id FROM series WHERE device = ? AND reading = ?", (device, reading))
            number = int(row.fetchone()[0])
            self._series[device, reading] = number
        return number

    def _thin(self, connection: sqlite3.Connection) -> None:
        now = self._clock()
        series = [row[0] for row in connection.execute("SELECT id FROM series")]
        for (width, age), wider in zip(TIERS, (*(tier[0] for tier in TIERS[1:]), None), strict=True):
            # Whole points of the wider tier only: a half one would be overwritten by its other half.
            cutoff = now - age if wider is None else (now - age) // wider * wider
            for number in series:
                if wider is not None:
                    connection.execute(_WIDEN, {"width": width, "wider": wider, "series": number, "before": cutoff})
                connection.execute(
                    "DELETE FROM samples WHERE series = ? AND width = ? AND time < ?", (number, width, cutoff)
                )
        self._bound(connection, series)

    def _bound(self, connection: sqlite3.Connection, series: Sequence[int]) -> None:
        """Drop the oldest tenth of the time span until the file fits; freed pages are used again."""
        for _ in range(20):
            pages, free, size = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
            oldest = connection.execute("SELECT MIN(time) FROM samples").fetchone()[0]
            if (pages - free) * size <= self._limit or oldest is None:
                break
            cutoff = oldest + max(1.0, (self._clock() - oldest) / 10)
            connection.executemany("DELETE FROM samples WHERE series = ? AND time < ?", [(n, cutoff) for n in series])

    @staticmethod
    def _give_back(connection: sqlite3.Connection) -> None:
        """Shorten the file by its free pages; outside a transaction, and through to the file itself."""
        # As a script: `execute` makes one step of it, which frees a single page.
        connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

    def _pause(self, error: Exception) -> None:
        """Try again later; a failed statement leaves an open file usable, a failed open leaves none."""
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        locked = "locked" in str(error)
        self._problem = Problem(
            None,
            "history-locked" if locked else "history-paused",
            f"Readings are not recorded now: {self._path}: {error}.",
            "Another process has the file open."
            if locked
            else "Free space on that disk; the recording goes on by itself.",
        )
        self._series.clear()

    def _set_aside(self, error: Exception) -> bool:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._clock()))
        aside = self._path.with_name(f"{self._path.name}.damaged-{stamp}")
        try:
            self._path.rename(aside)
            for suffix in ("-wal", "-shm", "-journal"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        except OSError as rename_error:
            self._pause(rename_error)
            return False
        message = f"The history was damaged ({error}) and has been set aside as {aside.name}; a new one was begun."
        self._aside = Problem(
            None, "history-damaged", message, "Runs are not affected; delete that file when you like."
        )
        return True

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._series.clear()
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
