"""Which lines of a log tell of an error or a warning."""

from __future__ import annotations

import enum
import re

from accel_tui.logs.ranks import split_rank


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
