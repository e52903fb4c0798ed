"""What is looked for in one line: a text, or a regular expression of a form that cannot take for ever."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from typing import Any

SEARCHED = 1000
"""A regular expression sees so many characters of a line."""
MOST_OPEN = 2
"""So many parts of an expression may repeat without a near end; with a bounded line its cost is bounded too."""

_NEAR = 16
"""A repeat of at most this many counts as bounded."""
_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_BACKWARDS = ("GROUPREF", "GROUPREF_IGNORE", "GROUPREF_EXISTS", "GROUPREF_UNI_IGNORE", "GROUPREF_LOC_IGNORE")


class UnsafePatternError(ValueError):
    """The expression is broken, or of a form that is not taken."""


@dataclass(frozen=True)
class Pattern:
    """One thing to look for; case counts."""

    literal: str
    """Stands in every line that fits; empty when nothing is certain."""
    expression: re.Pattern[str] | None = None
    """None when the literal is all."""

    @property
    def names(self) -> frozenset[str]:
        """What the expression captures."""
        return frozenset(self.expression.groupindex) if self.expression is not None else frozenset()

    def search(self, line: str) -> dict[str, str] | None:
        """What was captured in a line that fits; None where it does not."""
        if self.literal not in line:
            return None
        if self.expression is None:
            return {}
        match = self.expression.search(line[:SEARCHED])
        return None if match is None else {name: text for name, text in match.groupdict().items() if text is not None}


def text(literal: str) -> Pattern:
    """Looks for these characters."""
    return Pattern(literal)


def expression(source: str) -> Pattern:
    """Looks for a regular expression.

    Raises:
        UnsafePatternError: it is broken, refers back, repeats a repeat, or has more than `MOST_OPEN` open repeats.
    """
    try:
        compiled = re.compile(source)
        parsed = _parser.parse(source)
    except (re.error, OverflowError, RecursionError) as fault:
        raise UnsafePatternError(f"{source!r} is no regular expression: {fault}") from None
    if _open_repeats(parsed, inside=False) > MOST_OPEN:
        raise UnsafePatternError(f"{source!r} has more than {MOST_OPEN} repeats without a near end, such as `.*`")
    return Pattern("" if compiled.flags & re.IGNORECASE else _certain(parsed), compiled)


def _open_repeats(part: Any, *, inside: bool) -> int:
    """How many repeats have no near end; `inside` says that a repeat is around this part."""
    found = 0
    for operation, argument in part:
        name = str(operation)
        if name in _BACKWARDS:
            raise UnsafePatternError("an expression that refers back to a group is not taken")
        if name in _REPEATS:
            _, most, repeated = argument
            if int(most) > 1 and inside:
                raise UnsafePatternError("a repeat inside a repeat, such as (a+)*, can take for ever and is not taken")
            found += int(most) > _NEAR
            found += _open_repeats(repeated, inside=inside or int(most) > 1)
        else:
            found += sum(_open_repeats(inner, inside=inside) for inner in _parts(argument))
    return found


def _parts(argument: Any) -> list[Any]:
    """The expressions within an operation's argument, however they are wrapped."""
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [part for one in argument for part in _parts(one)]
    return []


def _certain(parsed: Any) -> str:
    """The longest text that stands in every match."""
    best = run = ""
    for operation, argument in parsed:
        run = run + chr(argument) if str(operation) == "LITERAL" else ""
        best = max(best, run, key=len)
    return best
