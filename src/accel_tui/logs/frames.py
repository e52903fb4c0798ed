"""Progress bars as tqdm writes them: frames told from the text between them, and one live bar per rank and task.

A frame is `LABEL 42%|####      | 42/100 [00:05<00:07,  8.1it/s]`, or `LABEL 42it [00:05,  8.1it/s]` where nobody said
how many there will be. On a terminal a carriage return makes it overwrite
the one before; in a file they stand one behind the other, those of several processes mixed, with plain lines between
them. torchrun's `--tee` makes lines of them and repeats its prefix in the middle of a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from accel_tui.logs.lines import last_frame
from accel_tui.logs.ranks import split_rank

SIGN = b"%|"
"""Stands in every frame of a bar that has a total."""
_CLOCK = rb"\[\d{1,4}(?::\d\d){1,2}, "
_COUNTING = re.compile(_CLOCK)
_PLACES = re.compile(rb"%\||" + _CLOCK)
"""A frame stands around one of these: the first with, the second without a total."""
_REST = re.compile(
    rb"%\|[^|\r\n]{0,400}\| *(?P<done>[\d.]+[kKMGTP]?)\w{0,2}/(?P<total>[\d.]+[kKMGTP]?)\w{0,2} "
    rb"\[(?P<rest>[^\]\r\n]{0,200})\]"
)
_PERCENT = re.compile(rb"(?P<label>.{0,120}?) ?(?P<percent>\d{1,3})$", re.DOTALL)
_COUNTED = re.compile(
    rb"(?P<label>.{0,120}?)(?<![\d.]) ?(?P<done>\d[\d.]{0,15}[kKMGTP]?)(?P<unit> ?[A-Za-z]{1,20}) $", re.DOTALL
)
_COUNTED_REST = re.compile(rb"\[(?P<rest>[\d:]{4,10}, {1,4}(?=[^\]\r\n]{0,60}(?:/s|s/))[^\]\r\n]{1,200})\]")
_PREFIX = re.compile(rb"(?:\[(?:default|rank)\d{1,5}\]:)+")
_MOVES = re.compile(rb"\x1b\[\d*[A-DJK]")
"""Moving the cursor and erasing: what tqdm writes for bars below each other."""
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
MOST_BARS = 32
_LEFT_BEHIND = 500
"""Frames of others."""
_LONGEST_FRAME = 1000
_NEAR_END = 16 * 1024
"""Bytes of a line that are looked at: a bar that ran for hours leaves megabytes in one line."""


class Frame(NamedTuple):
    """One picture of a progress bar."""

    label: str
    """What stood before the number: the task; empty for a bar without a description."""
    rank: int | None
    done: float
    total: float | None
    """None where it was not known."""
    rest: str
    """What stood in the brackets: times, speed, figures of the person's own."""
    data: bytes
    """The frame as it was written, prefixes included."""
    ended: bool = False
    """A bar without a total and without a prefix went on to the next line: it came to its end."""


class Parts(NamedTuple):
    """What stands in one line."""

    texts: list[bytes]
    """Text beside the frames, blank ones left out; what a carriage return overwrote is left out as well."""
    frames: list[Frame]


def may_hold_frames(data: bytes) -> bool:
    """Whether it is worth looking for frames: a quick no for nearly all text."""
    return SIGN in data or ((b"/s" in data or b"s/" in data) and _COUNTING.search(data) is not None)


def parts(data: bytes) -> Parts:
    """The frames of a line, or of many, and the text between them."""
    texts: list[bytes] = []
    frames: list[Frame] = []
    end = 0
    sign = _PLACES.search(data)
    while sign is not None:
        place = sign.start()
        whole = data.startswith(SIGN, place)
        match = (_REST if whole else _COUNTED_REST).match(data, place)
        begin = max(end, data.rfind(b"\r", end, place) + 1, data.rfind(b"\n", end, place) + 1)
        before = (_PERCENT if whole else _COUNTED).match(data[begin:place]) if match else None
        if match is None or before is None:
            sign = _PLACES.search(data, place + 2)
            continue
        begin = max(begin, begin + _last_prefix(data[begin:place]))
        _add_text(texts, data[end:begin])
        if whole:
            frames.append(_frame(data[begin : match.end()], data[begin:place], match))
        else:
            frames.append(_counted(data, begin, match))
        end = match.end()
        sign = _PLACES.search(data, end)
    _add_text(texts, data[end:])
    return Parts(texts, frames)


def _last_prefix(data: bytes) -> int:
    """Where the last rank prefix of a piece begins: what stands before it was said by somebody else."""
    found = 0
    for match in _PREFIX.finditer(data):
        found = match.start()
    return found


def _add_text(texts: list[bytes], data: bytes) -> None:
    for line in data.split(b"\n"):
        said = _MOVES.sub(b"", last_frame(line)).rstrip()
        if _PREFIX.sub(b"", said, count=1).strip():
            texts.append(said)


def _frame(data: bytes, head: bytes, match: re.Match[bytes]) -> Frame:
    rank, said = split_rank(head.decode("utf-8", "replace"))
    label = re.sub(r"\s*\d{1,3}$", "", _MOVES.sub(b"", said.encode()).decode()).strip().removesuffix(":")
    rest = match["rest"].decode("utf-8", "replace")
    return Frame(label, rank, _number(match["done"]), _number(match["total"]), rest, data)


def _counted(data: bytes, begin: int, match: re.Match[bytes]) -> Frame:
    """A frame of a bar without a total."""
    rank, said = split_rank(_MOVES.sub(b"", data[begin : match.start()]).decode("utf-8", "replace"))
    head = _COUNTED.match(said.encode())
    label = "" if head is None else head["label"].decode().strip().removesuffix(":")
    done = 0.0 if head is None else _number(head["done"])
    ended = rank is None and data.startswith(b"\n", match.end())
    rest = match["rest"].decode("utf-8", "replace")
    return Frame(label, rank, done, None, rest, data[begin : match.end()], ended)


def _number(data: bytes) -> float:
    text = data.decode()
    factor = _FACTORS.get(text[-1], 1.0)
    try:
        return float(text.rstrip("kKMGTP")) * factor
    except ValueError:  # such as 1.2.3
        return 0.0


def shown(data: bytes) -> bytes:
    """What of a line is worth a row: its text where it has one, else its last frame."""
    if not may_hold_frames(data):
        return last_frame(data)
    found = parts(_end_of(data))
    if found.texts:
        return found.texts[-1]
    return found.frames[-1].data if found.frames else last_frame(data)


def only_frames(data: bytes) -> bool:
    """Whether a line holds frames and nothing else."""
    if not may_hold_frames(data):
        return False
    found = parts(_end_of(data))
    return bool(found.frames) and not found.texts


def _end_of(data: bytes) -> bytes:
    """What is looked at of a line, from the beginning of a frame on."""
    if len(data) <= _NEAR_END:
        return data
    return data[data.find(b"\r", len(data) - _NEAR_END) + 1 :][-_NEAR_END:]


@dataclass
class Bar:
    """One live bar."""

    frame: Frame
    number: int | None
    """Which of several processes that cannot be told by name, from 1; None where there is one."""
    turn: int
    """Counts frames: the highest is the newest."""

    @property
    def complete(self) -> bool:
        return self.frame.ended if self.frame.total is None else self.frame.done >= self.frame.total


class Bars:
    """One bar per rank and task. Processes without a prefix are told apart by how far they are."""

    def __init__(self) -> None:
        self._bars: dict[tuple[int | None, str, float | None], list[Bar]] = {}
        self._turn = 0
        self._begun = b""

    def feed(self, data: bytes) -> bool:
        """Take in what was written next; True when a bar moved. A frame may be cut by the end of `data`."""
        data = self._begun + data
        frames = parts(data).frames if may_hold_frames(data) else []
        end = data.rfind(frames[-1].data) + len(frames[-1].data) if frames else 0
        if frames and frames[-1].total is None and end == len(data):
            end -= len(frames.pop().data)  # what comes next says whether the bar has ended
        self._begun = data[end:][-_LONGEST_FRAME:]
        for frame in frames:
            self._take(frame)
        return bool(frames)

    def _take(self, frame: Frame) -> None:
        self._turn += 1
        bars = self._bars.setdefault((frame.rank, frame.label, frame.total), [])
        # The one that is nearest behind moved on; where all are ahead, one began again or it is another process.
        behind = [bar for bar in bars if bar.frame.done <= frame.done]
        bar = max(behind, key=lambda bar: (bar.frame.done, -bar.turn), default=None)
        if bar is None and bars and (len(bars) >= MOST_BARS or _begins_again(frame, bars)):
            bar = max(bars, key=lambda bar: bar.frame.done)
        if bar is None:
            bar = Bar(frame, None, self._turn)
            bars.append(bar)
            for number, one in enumerate(bars, 1):
                one.number = number if len(bars) > 1 else None
        bar.frame, bar.turn = frame, self._turn

    def live(self) -> list[Bar]:
        """Bars that are not complete, by rank; without any the one that moved last."""
        bars = [bar for several in self._bars.values() for bar in several]
        going = [bar for bar in bars if not bar.complete and not self._left_behind(bar)] or sorted(
            bars, key=lambda bar: bar.turn
        )[-1:]
        return sorted(going, key=_order)[:MOST_BARS]

    def _left_behind(self, bar: Bar) -> bool:
        """Whether others moved often since: a bar without a total does not tell its end behind a rank's prefix."""
        return bar.frame.total is None and self._turn - bar.turn > _LEFT_BEHIND


def _begins_again(frame: Frame, bars: list[Bar]) -> bool:
    """Whether a frame that is behind all bars of its task is a new turn of one of them: its clock began anew."""
    if frame.rank is not None or frame.done == 0 or any(bar.complete for bar in bars):
        return True
    newest = _elapsed(max(bars, key=lambda bar: bar.turn).frame)
    return _elapsed(frame) < 0.8 * newest - 2


def _elapsed(frame: Frame) -> int:
    """Seconds, as tqdm writes them first: `05:12<`, `1:05:12<`."""
    match = re.match(r"\d{1,4}(?::\d\d){1,2}", frame.rest)
    seconds = 0
    for part in match[0].split(":") if match else ():
        seconds = 60 * seconds + int(part)
    return seconds


def _order(bar: Bar) -> tuple[int, str, float, int]:
    rank = -1 if bar.frame.rank is None else bar.frame.rank
    return (rank, bar.frame.label, bar.frame.total or 0.0, bar.number or 0)
