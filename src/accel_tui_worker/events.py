"""The event file of one rank: JSON lines that outlast a dropped terminal and a full disk.

Each event is one `write` on an `O_APPEND` descriptor, so a reader never sees half of a line that stays half.
A line that cannot be written waits in memory and is tried again with the next event; work goes on meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PENDING_EVENTS = 512
"""How many unwritten lines are kept; beyond it the oldest are dropped and counted."""

RESERVE_BYTES = 16384
"""Disk space held back beside the event file, so that a full disk cannot swallow the `result`."""


class EventLog:
    """Writes the events of one rank; safe to use from several threads."""

    def __init__(self, folder: Path, rank: int) -> None:
        """Open `folder/rank-N.jsonl`, making the folder when needed.

        Raises:
            OSError: the file cannot be opened at all.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.rank = rank
        self.path = folder / f"rank-{rank}.jsonl"
        self._lock = threading.RLock()
        self._pending: deque[bytes] = deque(maxlen=PENDING_EVENTS)
        self._lost = 0
        self._failure: str | None = None
        self._closed = False
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._reserve = folder / f".rank-{rank}.reserve"
        with contextlib.suppress(OSError):  # no room for a reserve: then there is none
            self._reserve.write_bytes(b" " * RESERVE_BYTES)

    def emit(self, event: str, **fields: Any) -> None:
        """Append one event; never raises for a full or vanished disk. After `finish` nothing is written."""
        record = {"t": round(time.time(), 3), "rank": self.rank, "event": event, **fields}
        with self._lock:
            if self._closed:
                return
            if len(self._pending) == PENDING_EVENTS:
                self._lost += 1
            self._pending.append(encode(record))
            self._flush()

    def warn(self, code: str, message: str) -> None:
        """Append a `warning` event."""
        self.emit("warning", code=code, message=message)

    def finish(self, **fields: Any) -> bool:
        """Append the `result`, giving the held-back disk space for it, and close the file.

        False when a `result` was written before: the first one counts.
        """
        with self._lock:
            if self._closed:
                return False
            with contextlib.suppress(OSError):
                self._reserve.unlink()
            self.emit("result", **fields)
            self._closed = True
            if self._pending:  # still no room: the outcome alone is worth more than what led to it
                self._pending = deque([self._pending[-1]])
                self._flush()
            os.close(self._descriptor)
            return True

    def _flush(self) -> None:
        while self._pending:
            try:
                self._append(self._pending[0])
            except OSError as error:
                self._failure = str(error)
                return
            self._pending.popleft()
            if not self._pending and self._failure:
                self._report_failure()

    def _report_failure(self) -> None:
        message = f"events could not be written for a while ({self._failure}); {self._lost} were dropped"
        self._failure, self._lost = None, 0
        record = {"t": round(time.time(), 3), "rank": self.rank, "event": "warning"}
        self._pending.append(encode({**record, "code": "events-delayed", "message": message}))

    def _append(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):  # a disk that filled up in mid-line: take the half line back
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise OSError(f"{written} of {len(line)} bytes written")


def encode(record: dict[str, Any]) -> bytes:
    """One JSON line in ASCII; numbers that JSON does not have become null."""
    try:
        text = json.dumps(record, allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(finite(record), allow_nan=False, default=lambda value: finite(_plain(value)))
    return text.encode("ascii") + b"\n"


def finite(value: Any) -> Any:
    """The same value with every nan and infinity replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    """What JSON can hold of a foreign object: the number in a scalar tensor, else its text."""
    item = getattr(value, "item", None)
    if callable(item):
        with contextlib.suppress(ValueError, RuntimeError):
            return item()
    return str(value)
