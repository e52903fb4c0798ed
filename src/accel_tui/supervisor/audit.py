"""The record of who changed what: one JSON line per change in `audit.log`."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.times import time_text
from accel_tui.protocol.messages import dump

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

LIMIT = 8 * 1024 * 1024
"""Bytes after which the file is moved to `audit.log.1`, in place of the one before."""


@dataclass(frozen=True)
class Peer:
    """Who asked: known from the kernel, not from what was said."""

    uid: int
    pid: int

    def to_text(self) -> str:
        return f"uid {self.uid} pid {self.pid}"


class Audit:
    """Appends to `audit.log`; a full disk costs lines of it, never a run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._open()

    def _open(self) -> int | None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o600)
        except OSError as error:
            log.warning("%s cannot be opened: %s", self._path, error.strerror)
            return None

    def write(self, what: str, run: str | None, by: Peer | None, **more: object) -> None:
        """`what` is a verb such as `submit`; `by` None is the supervisor itself. No secret may be in `more`."""
        who = None if by is None else {"uid": by.uid, "pid": by.pid}
        entry = {"time": time_text(time.time()), "what": what, "run": run, "by": who, "supervisor": os.getpid()}
        line = dump({**entry, **more}).encode() + b"\n"
        if self._file is None:
            self._file = self._open()
            if self._file is None:
                return
        try:
            os.write(self._file, line)
            if os.fstat(self._file).st_size > LIMIT:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                os.close(self._file)
                self._file = self._open()
        except OSError:
            return

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
