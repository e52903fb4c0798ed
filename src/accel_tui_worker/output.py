"""Standard output and error that survive a full disk.

The log of a run and its checkpoints often lie on different disks. Print statements of libraries must not end a
training because the disk of the log is full.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FULL = (errno.ENOSPC, errno.EDQUOT)


class _ForgivingFile(io.FileIO):
    """A descriptor that drops what a full disk does not take."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno in _FULL:
                return memoryview(data).nbytes
            raise


def forgive_full_disk() -> None:
    """Replace the standard streams: UTF-8 whatever the locale, nothing raised for text or for a full disk."""
    if sys.stdout is not None:  # None when the descriptor is closed
        sys.stdout.flush()
        sys.stdout = _stream(1)
    if sys.stderr is not None:
        sys.stderr.flush()
        sys.stderr = _stream(2)


def _stream(descriptor: int) -> io.TextIOWrapper:
    raw = _ForgivingFile(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
