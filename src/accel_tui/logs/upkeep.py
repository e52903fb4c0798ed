"""What keeps logs from filling a disk: giving the middle of a long one back, while its writer goes on.

Linux gives the blocks of a span back to the disk by `fallocate(2)` with FALLOC_FL_PUNCH_HOLE; the length stays, so that
a writer that appends notices nothing. Readers see a hole. A log is never cut under its writer.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01
_ALIGNED = 1024 * 1024
"""Whole MiB are given back: every file system's blocks fit, and what is left over is small."""
HEAD_SHARE = 8
"""An eighth of what is kept is the beginning, with the configuration and the first steps; the rest is the end."""

DISK_NOTE = "disk "
"""Begins the note of a live run that says how full its disk is."""
DISK_QUESTION = " and this log grows"
"""Stands in that note where the disk is so full that a person is asked whether to stop the run."""
CAP_NOTE = "log cannot be capped"
"""Begins the note of a live run whose log may grow on, as its file system gives no part of a file back."""


class NotReleasableError(OSError):
    """The file system cannot give a part of a file back."""


def release(path: Path, most: int) -> int:
    """Give the middle of a log that takes more than `most` bytes back to the disk; how many bytes that were.

    Kept are the beginning and the end, together three quarters of `most`, so that it is long until the next time.
    Blocks that are being written out at this moment may be missing from what the file system counts (ext4): a log is
    then found too long at the next look.

    Raises:
        NotReleasableError: this file system cannot do that.
        OSError: the file is missing or may not be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        before = found.st_blocks * 512
        if before <= most:
            return 0
        kept = most * 3 // 4
        begin = -(-kept // HEAD_SHARE // _ALIGNED) * _ALIGNED
        end = (found.st_size - (kept - kept // HEAD_SHARE)) // _ALIGNED * _ALIGNED
        if end <= begin:
            return 0
        _punch(descriptor, begin, end - begin)
        return max(0, before - os.fstat(descriptor).st_blocks * 512)
    finally:
        os.close(descriptor)


def _punch(descriptor: int, begin: int, length: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    call = library.fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if call(descriptor, _PUNCH_HOLE_KEEP_SIZE, begin, length) == 0:
        return
    number = ctypes.get_errno()
    if number in (errno.EOPNOTSUPP, errno.ENOSYS):
        raise NotReleasableError(number, os.strerror(number))
    raise OSError(number, os.strerror(number))


def used_share(place: Path) -> float | None:
    """How full the disk of a place is for this account, from 0 to 1; None where that cannot be told."""
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    usable = found.f_blocks - found.f_bfree + found.f_bavail
    return None if usable <= 0 else 1 - found.f_bavail / usable
