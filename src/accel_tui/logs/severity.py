"""Which lines of a log tell of an error or a warning."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from accel_tui.logs.lines import last_frame
from accel_tui.logs.ranks import split_rank

if TYPE_CHECKING:
    from collections.abc import Iterator


class Severity(enum.Enum):
    """How serious a line is."""

    WARNING = "warning"
    ERROR = "error"


_ERROR = re.compile(
    r"""
      ^Traceback\ \(most\ recent\ call\ last\):
    | ^[\w.]*(?:Error|Exception|Interrupt|Exit)(?::\ |$)            # the line that ends a traceback
    | ^\[?[EF]\d{4}\ \d\d:\d\d:\d\d                                   # glog style, as torchrun and torch's C++ write
    | (?:^|[\s\[|:(-])(?:ERROR|CRITICAL|FATAL)(?:[\s\]|:)]|$)           # levels of Python's logging
    | ^(?:fatal|error):\ | \b[Ff]atal\ (?:Python\ )?error\b
    | \b(?:Segmentation\ fault|core\ dumped|Bus\ error)\b | ^Killed$ | ^Aborted
    | \b[Oo]ut\ of\ memory\b | \bOOM\b | \boom-kill
    | \bChildFailedError\b
    | \*ERROR\*                                                       # the kernel's graphics drivers
    | ^<[0-3]>                                                        # levels of the kernel, as it writes them itself
    | (?:^\[\s*\d+\.\d{6}\]|\bkernel:)\ .*\b(?:(?:segfault|[Ee]rror|[Ff]ailed|Call\ Trace|hung)\b|BUG:)
    | \bHCCL\w*(?:Error|_ERROR|\ error)\b | \bhccl(?:Internal|Remote|System|Invalid)\w*Error
    | \b(?:one)?CCL\w*[:\s].*\b(?:error|fail(?:ed|ure))\b | \bCCL_ERROR\b
    | \b(?:UR|ZE|PI)_(?:RESULT_)?ERROR_?\w* | \bsyn(?:Fail|DeviceReset)\w* | \bsynStatus\ [1-9]
    """,
    re.VERBOSE,
)
_WARNING = re.compile(
    r"""
      \b\w*Warning:\ | ^[Ww]arning:\ | ^\[?W\d{4}\ \d\d:\d\d:\d\d
    | (?:^|[\s\[|:(-])(?:WARNING|WARN)(?:[\s\]|:)]|$)
    | ^<4> | (?:^\[\s*\d+\.\d{6}\]|\bkernel:)\ .*\b[Tt]imed\ ?out\b
    """,
    re.VERBOSE,
)
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_RULE = re.compile(r"={20,}$")
_LONGEST = 2000  # a level stands near the beginning; the rest of a huge line is not searched


def severity_of(text: str) -> Severity | None:
    """How serious one line is by itself; its rank prefix is looked through."""
    text = split_rank(text)[1][:_LONGEST]
    if _ERROR.search(text):
        return Severity.ERROR
    return Severity.WARNING if _WARNING.search(text) else None


_WORDS = (
    *(b"err", b"warn", b"traceback", b"exception", b"exit", b"critical", b"fatal", b"fault", b"core dumped"),
    *(b"<0>", b"<1>", b"<2>", b"<3>", b"<4>", b"bug:", b"call trace", b"failed", b"hung", b"timed", b"kernel:"),
    *(b"killed", b"aborted", b"memory", b"oom", b"ccl", b"ur_", b"ze_", b"pi_", b"syn", b"] "),
)
"""One of them stands, in small letters, in every line that `severity_of` may call serious; glog's lines have a `] `.

Plain searches for each are several times faster than one expression for all.
"""
_FIRST_BYTES = 3 * _LONGEST


class Problems:
    """Finds the lines that tell of an error or a warning; a `Finder`."""

    def __init__(self, only: Severity | None = None) -> None:
        """With `only` those of that severity alone."""
        self._only = only

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """As `logs.search.Finder` says."""
        folded = block.lower()
        places = {word: place for word in _WORDS if (place := folded.find(word)) >= 0}
        while places:
            place = min(places.values())
            begin = block.rfind(b"\n", 0, place) + 1
            end = block.find(b"\n", place)
            end = len(block) if end < 0 else end
            text = last_frame(block[begin:end])[:_FIRST_BYTES].decode("utf-8", "replace")
            found = severity_of(text)
            if found is not None and self._only in (None, found):
                yield begin, end
            for word, known in list(places.items()):
                if known < end:
                    places[word] = folded.find(word, end)
                    if places[word] < 0:
                        del places[word]


class ErrorFilter:
    """Lets the lines of errors through, whole tracebacks and torchrun's summary included; ranks may be mixed."""

    def __init__(self) -> None:
        self._tracebacks: set[int | None] = set()
        """Ranks in the middle of a traceback."""
        self._after_rule = False
        self._in_summary = False

    def takes(self, line: str) -> bool:
        """Whether this line, the next of the log, belongs to an error."""
        rank, text = split_rank(line)
        if self._summary(text):
            return True
        if text.startswith("Traceback (most recent call last):"):
            self._tracebacks.add(rank)
            return True
        if rank in self._tracebacks:
            if not text.startswith((" ", "\t")) and text.strip():
                self._tracebacks.discard(rank)  # the line that names the exception is the last one
            return True
        return text.startswith(_CHAINED) or severity_of(text) is Severity.ERROR

    def _summary(self, text: str) -> bool:
        """torchrun's final block: between two rules of `=`, with `… FAILED` on its first line."""
        if _RULE.fullmatch(text.rstrip()):
            ended, self._in_summary = self._in_summary, False
            self._after_rule = not ended
            return ended
        if self._after_rule:
            self._after_rule = False
            self._in_summary = text.rstrip().endswith(" FAILED")
        return self._in_summary
