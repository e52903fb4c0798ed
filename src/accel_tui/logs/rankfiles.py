"""A folder with a file for each rank: which files those are, and all of them as one log, merged by time.

torchrun and accelerate write `RUN_ID_xxx/attempt_0/1/stderr.log` below their `--log-dir`; people's own programs write
`rank-1.log`, `train_rank1.out` and the like.
"""

from __future__ import annotations

import heapq
import math
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from accel_tui.logs.lines import LONGEST_LINE, iterate
from accel_tui.logs.ranks import split_rank
from accel_tui.logs.source import FileSource
from accel_tui.logs.stamps import stamp_of
from accel_tui.model.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMED = re.compile(r"(?:^|[^a-z])(?:local[-_]?)?rank[-_.]?(\d{1,5})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,5})(?:\.(?:log|txt|out|err))?")
_ENDINGS = (".log", ".txt", ".out", ".err", "")
_LAUNCHED = ("stdout.log", "stderr.log")
_DEEPEST = 4
_FIND_SECONDS = 1.0
_SETTLED_SECONDS = 1.0
"""A line that nobody went on with for so long is shown without its end."""
MOST_FILES = 256
LOOK_BYTES = 256 * 1024
"""So much is merged at a look where somebody waits for keys between two of them."""


def rank_of(path: Path) -> int | None:
    """The rank that wrote a file, by its name; of torchrun's files by the folder they lie in."""
    if path.suffix.lower() not in _ENDINGS:
        return None
    found = _NUMBER.fullmatch(path.parent.name if path.name in _LAUNCHED else path.name) or _NAMED.search(path.stem)
    return None if found is None else int(found[1])


def rank_files(folder: Path) -> list[tuple[int, Path]]:
    """Ranks and their files below a folder, by name; links out of it and what is not a file are left out."""
    found: list[tuple[int, Path]] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < MOST_FILES:
        place, depth = waiting.pop()
        try:
            inside = sorted(place.iterdir())
        except OSError:
            continue
        for one in inside:
            if one.is_symlink():
                continue
            if one.is_dir() and depth < _DEEPEST:
                waiting.append((one, depth + 1))
            elif one.is_file() and (rank := rank_of(one)) is not None:
                found.append((rank, one))
    return sorted(found)[:MOST_FILES]


@dataclass
class _Part:
    """The file of one rank and how far it was merged."""

    rank: int
    source: FileSource
    position: int = 0
    generation: int = 0
    moment: float = -math.inf
    """Of the newest line so far: a line without a time belongs to the one before it."""


class MergedSource(FileSource):
    """All lines of a folder's rank files as one log; a `ByteSource`.

    Lines bear `[rankN]:` in front, as torch writes it, and stand in the order of the times that they bear, as far as
    they were there already; what is written later is added below as it comes. Files whose lines bear no time stand one
    behind the other. The log is kept in a file without a name.
    """

    def __init__(self, folder: Path, *, look_bytes: int | None = None) -> None:
        """
        Args:
            look_bytes: How much is merged at most when the size is asked for; None for all that is there.

        Raises:
            FileError: no file in the folder belongs to a rank, or there is no room.
        """
        self.folder = folder
        self._parts: dict[Path, _Part] = {}
        self._look_bytes = math.inf if look_bytes is None else look_bytes
        self._merging: Iterator[tuple[float, bytes]] = iter(())
        self._found = -math.inf
        self._find()
        if not self._parts:
            raise FileError(
                f"{folder}: no file in it belongs to a rank", remedy="name a log file, or torchrun's log-dir"
            )
        try:
            self._merged: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        except OSError as fault:
            raise FileError(f"{folder}: no room to merge its files: {fault.strerror}") from fault
        super().__init__(Path(f"/proc/self/fd/{self._merged.fileno()}"))

    @property
    def ranks(self) -> frozenset[int]:
        """Those that have a file."""
        return frozenset(part.rank for part in self._parts.values())

    def size(self) -> int:
        self._take_in()
        return super().size()

    def close(self) -> None:
        super().close()
        for part in self._parts.values():
            part.source.close()
        self._merged.close()

    def _find(self) -> None:
        """Files that came since are taken in as well: ranks start at different times, and again."""
        now = time.monotonic()
        if now - self._found < _FIND_SECONDS:
            return
        self._found = now
        for rank, path in rank_files(self.folder):
            if path not in self._parts:
                self._parts[path] = _Part(rank, FileSource(path))

    def _take_in(self) -> None:
        """Append what was written since, up to the bytes of a look."""
        if self._merged.closed:
            return
        written, out = 0, []
        for _ in range(2):  # what the last look left, and what came since
            for _, line in self._merging:
                out.append(line)
                written += len(line)
                if written >= self._look_bytes:
                    break
            else:
                self._find()
                grown = [part for part in self._parts.values() if self._grew(part)]
                self._merging = heapq.merge(*map(_lines, grown), key=lambda entry: entry[0])
                continue
            break
        if out:
            try:
                self._merged.write(b"".join(out))
                self._merged.flush()
            except OSError as fault:
                raise FileError(f"{self.folder}: no room to merge its files: {fault.strerror}") from fault

    @staticmethod
    def _grew(part: _Part) -> bool:
        size = part.source.size()
        if part.source.generation != part.generation:
            part.position, part.generation = 0, part.source.generation
        return size > part.position


def _lines(part: _Part) -> Iterator[tuple[float, bytes]]:
    """Lines that were not merged yet, each with its time and its rank in front."""
    for line in iterate(part.source, part.position):
        data, end = line.data, line.end
        if not line.complete and not line.discarded:
            # Frames of a progress bar are whole although their line is not; so is what nobody goes on with.
            frames = data.rfind(b"\r") + 1
            if not _settled(part.source.path) and len(data) < LONGEST_LINE:
                if not frames:
                    return
                data, end = data[:frames].strip(b"\r"), end - (len(data) - frames)
        part.position = end
        part.moment = max(part.moment, stamp_of(data) or -math.inf)
        if data or (line.complete and not line.discarded):
            yield part.moment, _named(data, part.rank) + b"\n"


def _named(data: bytes, rank: int) -> bytes:
    """With the rank in front, of each frame of a progress bar as well: any of them may be the one that is shown."""
    prefix = b"[rank%d]: " % rank
    if b"\r" not in data:
        return data if _names(data) else prefix + data
    frames = [frame for frame in data.split(b"\r") if frame]
    return b"\r".join(frame if _names(frame) else prefix + frame for frame in frames)


def _names(data: bytes) -> bool:
    return data.startswith(b"[") and split_rank(data[:64].decode("utf-8", "replace"))[0] is not None


def _settled(path: Path) -> bool:
    try:
        return abs(time.time() - path.stat().st_mtime) > _SETTLED_SECONDS
    except OSError:  # it is gone: nobody goes on with it
        return True
