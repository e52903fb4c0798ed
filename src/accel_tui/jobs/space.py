"""Room on the disks that a run writes to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE = "free-space"
ARTEFACTS = "free-space-artefacts"
CHECKS = frozenset({STATE, ARTEFACTS})
"""The checks that room decides: a queued run waits for it where another refusal would end the run."""

REMEDY = "free space there, or lower log.minimum_free_bytes"


def shortages(state: str, artefacts: str | None, least: int) -> Iterator[tuple[str, str]]:
    """Check and words for every place below which no run may start; what cannot be told is no shortage."""
    for check, place in ((STATE, state), (ARTEFACTS, artefacts)):
        words = None if place is None else shortage(Path(place), least)
        if words is not None:
            yield check, words


def shortage(place: Path, least: int) -> str | None:
    """Why nothing may be started that writes below `place`; None where there is room."""
    try:
        found = os.statvfs(nearest(place))
    except OSError:
        return None
    free = found.f_bavail * found.f_frsize
    if free < least:
        return f"{size(free)} free for {place}; no run starts below {size(least)}"
    if found.f_files and not found.f_favail:
        return f"no file can be made for {place}: the file system has no inodes left"
    return None


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 / 10 else f"{count / 2**20:.1f} MiB"


def nearest(path: Path) -> Path:
    """The nearest folder on the way up that exists."""
    return next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/"))
