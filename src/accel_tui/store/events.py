"""What workers tell: events as JSON lines, one file per rank, read while they are being written."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.keeper.files import decode
from accel_tui.model.runs import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Event = dict[str, Any]

TAIL_BYTES = 16 * 1024
LONGEST_LINE = 4 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024

_RANK_FILE = re.compile(r"rank-(\d{1,6})\.jsonl")
_UNITS = {
    "learning_rate": "1", "loss": "1", "eval_loss": "1", "grad_norm": "1", "epoch": "epochs", "steps_per_second": "1/s",
    "tokens_per_second": "tokens/s", "eta_seconds": "s",
}  # fmt: skip


def rank_files(folder: Path) -> dict[int, Path]:
    """The event files below a run folder by rank, in order; a name that does not fit is ignored."""
    found: dict[int, Path] = {}
    try:
        with os.scandir(folder / "events") as entries:
            for entry in entries:
                match = _RANK_FILE.fullmatch(entry.name)
                if match and entry.is_file(follow_symlinks=False):
                    found[int(match[1])] = Path(entry.path)
    except OSError:
        return {}  # no worker reported yet, or what stands there is no folder
    return dict(sorted(found.items()))


class EventFile:
    """One rank's events, read on from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        """Where the first byte stands that was not given out yet."""
        self._identity: tuple[int, int] | None = None

    def read_new(self, most: int = CHUNK_BYTES) -> list[Event]:
        """The whole lines that were added; a line without its end waits for the next call.

        A file that was replaced or cut is read from its start. Lines that hold no event are left out. A missing file
        gives nothing. At most about `most` bytes are read, so call again until nothing comes.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._identity = None  # a new file may get the old one's inode
            return []
        try:
            status = os.fstat(descriptor)
            identity = (status.st_dev, status.st_ino)
            if identity != self._identity or status.st_size < self.offset:
                self._identity, self.offset = identity, 0
            data = self._whole_lines(descriptor, most)
        except OSError:  # a read error of the disk, or no regular file
            return []
        finally:
            os.close(descriptor)
        self.offset += len(data)
        return parse_lines(data)

    def _whole_lines(self, descriptor: int, most: int) -> bytes:
        while True:
            data = os.pread(descriptor, most, self.offset)
            end = data.rfind(b"\n") + 1
            if end or len(data) < most:
                return data[:end]
            if most >= LONGEST_LINE:
                return data  # no event is so long: skip it piece by piece
            most *= 4


def parse_lines(data: bytes) -> list[Event]:
    """The events in whole lines; what is no JSON object with an `event` is left out."""
    found = []
    for line in data.split(b"\n"):
        if not line.strip(b" \r\t\0"):
            continue
        try:
            event = decode(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            found.append(event)
    return found


def tail(path: Path) -> list[Event]:
    """The last whole events of a file, at least one where it holds one, without reading all of it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        size = os.fstat(descriptor).st_size
        length = TAIL_BYTES
        while True:
            start = max(0, size - length)
            data = os.pread(descriptor, length, start)
            first = 0 if start == 0 else data.find(b"\n") + 1
            events = parse_lines(data[first : data.rfind(b"\n") + 1])
            if events or start == 0 or length >= LONGEST_LINE:
                return events
            length *= 4
    except OSError:
        return []
    finally:
        os.close(descriptor)


def head(path: Path) -> list[Event]:
    """The first events of a file."""
    reader = EventFile(path)
    return reader.read_new(TAIL_BYTES)


def tails(folder: Path) -> dict[int, list[Event]]:
    """The last events of every rank of a run folder, in the order of ranks."""
    return {rank: tail(path) for rank, path in rank_files(folder).items()}


def all_events(folder: Path, rank: int | None = None) -> Iterator[Event]:
    """Every event of a run folder, rank by rank (or of that rank alone); each has its `rank`."""
    for number, path in rank_files(folder).items():
        if rank not in (None, number):
            continue
        reader = EventFile(path)
        while batch := _next_batch(reader):
            for event in batch:
                yield {**event, "rank": number}


def _next_batch(reader: EventFile) -> list[Event]:
    """The next events; empty at the end only, not where a stretch of the file holds none."""
    while True:
        before = reader.offset
        batch = reader.read_new()
        if batch or reader.offset == before:
            return batch


def progress_of(folder: Path) -> Progress:
    """How far a run is, from the newest events of its first rank."""
    files = rank_files(folder)
    if not files:
        return Progress()
    first = next(iter(files.values()))
    events = tail(first)
    if not any(event["event"] == "phase" for event in events):
        # The last phase began before the tail; the phases before training stand at the head.
        phases = [event for event in head(first) if event["event"] == "phase"]
        events = [*phases, *events]
    return progress_from(events)


def progress_from(events: Iterable[Event]) -> Progress:
    """The newest figure of each kind; one that is not finite is left out."""
    values: dict[str, Any] = {}
    for event in events:
        if event["event"] == "phase" and isinstance(event.get("phase"), str):
            values["phase"] = event["phase"]
        elif event["event"] == "step":
            _take(values, event, ("step", "total", "eta_seconds"))
        elif event["event"] == "log":
            _take(values, event, ("step", "loss", "learning_rate", "tokens_per_second"))
        elif event["event"] == "generation" and number(event.get("index")) is not None:
            values["step"] = int(event["index"]) + 1
            values["tokens_per_second"] = number(event.get("decode_tokens_per_second"))
        elif event["event"] == "result":
            values["eta_seconds"] = None
    for name in ("step", "total"):
        if values.get(name) is not None:
            values[name] = int(values[name])
    return Progress(**values)


def _take(values: dict[str, Any], event: Event, names: tuple[str, ...]) -> None:
    for name in names:
        if name in event:
            values[name] = number(event[name])


def number(value: Any) -> float | None:
    """`value` when it is a finite number, else None."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def series_of(folder: Path) -> list[dict[str, Any]]:
    """The curves of a run: `{"name","unit","points":[[TIME, STEP, VALUE]…]}` of the first rank, by name of figure.

    TIME is in seconds since the epoch; VALUE is null where the figure was not finite.
    """
    files = rank_files(folder)
    if not files:
        return []
    found: dict[str, list[list[Any]]] = {}
    for event in all_events(folder, next(iter(files))):
        if event["event"] in ("log", "step", "generation"):
            _add_points(found, event)
    return [{"name": name, "unit": unit_of(name), "points": points} for name, points in sorted(found.items())]


def _add_points(found: dict[str, list[list[Any]]], event: Event) -> None:
    step = number(event.get("index" if event["event"] == "generation" else "step"))
    skipped = {"t", "rank", "event", "step", "total", "index", "text"}
    for name, value in event.items():
        if name in skipped or not (value is None or number(value) is not None or isinstance(value, float)):
            continue
        found.setdefault(name, []).append([number(event.get("t")), step, number(value)])


def unit_of(name: str) -> str:
    """The unit of a figure, by its name."""
    if name in _UNITS:
        return _UNITS[name]
    for ending, unit in (
        ("_tokens_per_second", "tokens/s"),
        ("_per_second", "1/s"),
        ("_seconds", "s"),
        ("_bytes", "B"),
    ):
        if name.endswith(ending):
            return unit
    return "tokens" if name.endswith("_tokens") else "1"
