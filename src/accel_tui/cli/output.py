"""Where everything that a verb says goes: data on standard output, the rest on standard error.

Foreign text cannot reach a terminal unchanged through this module: every part of a line passes the sanitiser before it
is styled, and JSON escapes whatever is not plain ASCII. `Output.raw` alone writes bytes as they are, and refuses a
terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from accel_tui.cli.table import VERBS
from accel_tui.model.errors import FileError, UsageError
from accel_tui.text import sanitise
from accel_tui.text.glyphs import GLYPHS, Glyphs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMMAND = re.compile(rf"\baccel-tui (?=(?:{'|'.join(verb.name for verb in VERBS)})\b)")

LINE_LIMIT = 1 << 20
"""Characters of one line of a log that are shown; a longer one is cut."""

# Words of states and levels whose sign has another name, or another weight here.
_SIGNS: Mapping[str, tuple[str, str | None]] = {
    "starting": ("running", None),
    "preparing": ("queued", None),
    "stopping": ("stopped", "warn"),
    "foreign": ("other-user", None),
    "pass": ("passed", None),
    "not-started": ("failed", None),
    "refusal": ("invalid", None),
    "ask": ("warning", None),
    "unknown": ("stale", None),
}
# The ANSI colours that the look gives to a terminal's own palette; bold and dim are all that NO_COLOR leaves.
_COLOURS: Mapping[str, str] = {
    "ok": "36",
    "warn": "33",
    "error": "31",
    "foreign": "35",
    "accent": "94",
    "strong": "1",
    "muted": "2",
    "faint": "2",
    "head": "2",
    "simulated": "7",
}
_PLAIN: Mapping[str, str] = {
    "warn": "1",
    "error": "1",
    "strong": "1",
    "muted": "2",
    "faint": "2",
    "head": "2",
    "simulated": "7",
}


@dataclass(frozen=True)
class Styled:
    """A piece of text in one of the roles of the look; it is sanitised like any other."""

    text: str
    role: str


Part = str | Styled


def width(text: str) -> int:
    """Terminal columns of sanitised text."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _columns(stream: TextIO) -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def locale_is_utf8(environment: Mapping[str, str]) -> bool:
    """Whether the terminal takes UTF-8. Python hides a plain C locale behind its UTF-8 mode; this looks behind it."""
    if sys.flags.utf8_mode and "PYTHONUTF8" not in environment:
        return False
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


def to_nowhere(stream: TextIO) -> None:
    """Let what `stream` still holds vanish, so that the interpreter ends without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_closed_streams() -> None:
    """Put the null device where this process was given a closed standard stream.

    Else the next file or socket would get its number, and a program that is started here would write into that.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.dup(number), "w", encoding="utf-8"))


class Output:
    """The two streams of one verb, and how text is drawn on them."""

    def __init__(self, environment: Mapping[str, str], *, ascii_only: bool = False, json_wanted: bool = False) -> None:
        self.json_wanted = json_wanted
        self.own_flags = ""
        """Global flags of this call that a command line shown in a hint needs too, such as `--demo server8`."""
        self.lost = False
        """Standard output cannot be written; what is left to say goes to standard error."""
        self.ascii_only = ascii_only or not locale_is_utf8(environment)
        self._signs = Glyphs(ascii=self.ascii_only)
        self._colour = "NO_COLOR" not in environment or not environment["NO_COLOR"]
        self._dumb = environment.get("TERM", "") in ("", "dumb")
        self._live = False
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a broken name must not end a verb
                stream.reconfigure(errors="backslashreplace")

    def hint(self, text: str) -> str:
        """Text of ours that names command lines, with the flags that they need to mean this state folder."""
        return _COMMAND.sub(f"accel-tui {self.own_flags}", text) if self.own_flags else text

    def glyph(self, word: str) -> Styled:
        """The sign of a state; the word itself must stand beside it."""
        name, role = _SIGNS.get(word, (word, None))
        name = name if name in GLYPHS else "stale"
        return Styled(self._signs.text(name), role or GLYPHS[name].role)

    @property
    def repaints(self) -> bool:
        """Whether `live` has a terminal to repaint a line on."""
        return not self._dumb and not self.json_wanted and sys.stderr.isatty()

    def live(self, *parts: Part) -> None:
        """One line that the next line, note or call of this replaces; nothing where nobody can see it move."""
        if not self.repaints:
            return
        room = _columns(sys.stderr) - 1
        drawn = []
        for cell in map(self._cell, parts):
            text = cell.text
            while width(text) > room:
                text = text[:-1]
            room -= width(text)
            drawn.append(self._draw(sys.stderr, Styled(text, cell.role)))
        self._aside("\r" + "".join(drawn) + "\x1b[K")
        self._live = True

    def settle(self) -> None:
        """Take the live line away."""
        if self._live:
            self._live = False
            self._aside("\r\x1b[K")

    def line(self, *parts: Part) -> None:
        """One line of data."""
        self.settle()
        self._data(self._join(sys.stdout, parts) + "\n")

    def note(self, *parts: Part) -> None:
        """One line that is not data: progress, remarks, questions."""
        self.flush()
        self.settle()
        self._aside(self._join(sys.stderr, parts) + "\n")

    def text(self, text: str) -> None:
        """Several lines of data, in full; newlines stay."""
        lines = text.split("\n")
        self._data("\n".join(sanitise(line, limit=LINE_LIMIT) for line in lines))

    def log_line(self, text: str) -> None:
        """One line of a log, in full."""
        self._data(sanitise(text, limit=LINE_LIMIT) + "\n")

    def document(self, document: Mapping[str, Any], *, indent: int | None = 2) -> None:
        """One JSON document; ASCII, so that no byte in it can steer a terminal."""
        self._data(json.dumps(document, indent=indent, ensure_ascii=True) + "\n")
        self.flush()

    def raw(self, data: bytes) -> None:
        """Bytes as they are.

        Raises:
            UsageError: standard output is a terminal.
        """
        if sys.stdout.isatty():
            raise UsageError(
                "--raw does not write to a terminal: the bytes of a job could steer it",
                remedy="send it into a pipe or a file",
            )
        self.flush()
        try:
            sys.stdout.buffer.write(data)
        except OSError as error:
            self._fail(error)

    def flush(self) -> None:
        """Hand what was written to whoever reads; following needs it.

        Raises:
            FileError: standard output cannot be written, as any of the methods that write data.
        """
        try:
            sys.stdout.flush()
        except OSError as error:
            self._fail(error)

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[Part]], *, right: frozenset[int] = frozenset()
    ) -> None:
        """Rows under muted heads, in columns as wide as their widest cell; `right` columns are right-aligned."""
        cells = [[self._cell(cell) for cell in row] for row in rows]
        widths = [max([width(head), *(width(row[column].text) for row in cells)]) for column, head in enumerate(heads)]
        for row in [[Styled(head, "head") for head in heads], *cells]:
            parts: list[Part] = []
            for column, cell in enumerate(row):
                gap = " " * (widths[column] - width(cell.text))
                last = column == len(row) - 1
                parts += [gap, cell] if column in right else [cell, "" if last else gap]
                parts.append("" if last else "  ")
            self.line(*parts)

    def _cell(self, part: Part) -> Styled:
        text, role = (part, "") if isinstance(part, str) else (part.text, part.role)
        return Styled(self._localised(sanitise(text)), role)

    def _join(self, stream: TextIO, parts: Sequence[Part]) -> str:
        return "".join(self._draw(stream, self._cell(part)) for part in parts)

    def _draw(self, stream: TextIO, cell: Styled) -> str:
        code = (_COLOURS if self._colour else _PLAIN).get(cell.role)
        if code is None or not cell.text or self._dumb or not stream.isatty():
            return cell.text
        return f"\x1b[{code}m{cell.text}\x1b[0m"

    def _localised(self, text: str) -> str:
        # Signs of ours inside words; foreign text outside ASCII stays and the stream escapes what it cannot carry.
        return text.replace("–", "-").replace("…", "..").replace("·", "-") if self.ascii_only else text

    def _aside(self, text: str) -> None:
        """Text on standard error; where that cannot take it there is nowhere left to tell so."""
        try:
            self._write(sys.stderr, text)
            sys.stderr.flush()
        except BrokenPipeError:
            raise
        except OSError:
            to_nowhere(sys.stderr)

    def _data(self, text: str) -> None:
        try:
            self._write(sys.stdout, text)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> NoReturn:
        """A full disk behind standard output; a reader that left is told apart."""
        if isinstance(error, BrokenPipeError):
            raise error
        self.lost = True
        to_nowhere(sys.stdout)
        raise FileError(f"standard output cannot be written: {error.strerror}", remedy="give it room") from None

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text)
