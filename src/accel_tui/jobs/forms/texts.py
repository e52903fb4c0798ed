"""Values as a person types them, and back. What cannot be read stays the text that it is; validation then says why.

A text that a terminal could not show as it is (control characters, blanks at an end, a leading quote) is written in
double quotes with the escapes of JSON, so that every value can be shown, and comes back the same.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from accel_tui.jobs import toml
from accel_tui.jobs.forms.fields import Field, Shape
from accel_tui.jobs.spec import seconds
from accel_tui.model.secrets import MASK, is_secret_name, looks_secret

_BARE = re.compile(r"[^\s'\"\\]+")
_KEY = re.compile(r"[A-Za-z0-9_-]+")


def to_text(field: Field, value: Any) -> str:
    """The text that `from_text` makes `value` of again; empty for none. Secrets in lists are masked."""
    if value is None:
        return ""
    if field.shape is Shape.FLAG and isinstance(value, bool):
        return "on" if value else "off"
    if field.shape is Shape.DURATION and _is_number(value):
        return duration(value)
    if field.shape is Shape.WORDS and isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return " ".join(word(MASK if looks_secret(one) else one) for one in value)
    if isinstance(value, str):
        return _shown(field, value)
    if field.shape is Shape.VALUE:
        return literal(value)
    return number(value) if _is_number(value) else literal(value)


def _shown(field: Field, value: str) -> str:
    """A text, be it what cannot be read as the field's own kind of value."""
    if looks_secret(value):
        return MASK
    if field.shape is Shape.VALUE:
        return literal(value)
    if field.shape in (Shape.TEXT, Shape.CHOICE):
        return plain(value) if value or field.empty else ""
    return value if value.isprintable() else quoted(value)


def from_text(field: Field, text: str, old: Any = None) -> Any:
    """The value that `text` writes for `field`; the text itself where it is none.

    Args:
        old: What stood there: a masked secret in `text` keeps its value.
    """
    stripped = text.strip()
    if not stripped:
        return _nothing(field)
    if stripped == MASK and isinstance(old, str) and looks_secret(old):
        return old
    if field.shape in (Shape.WHOLE, Shape.NUMBER):
        return _number(stripped, whole=field.shape is Shape.WHOLE)
    if field.shape is Shape.FLAG:
        words = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
        return words.get(stripped.lower(), stripped)
    if field.shape is Shape.DURATION:
        return _duration(stripped)
    if field.shape is Shape.WORDS:
        return _words(stripped, old)
    if field.shape is Shape.VALUE:
        return _value(stripped)
    return unquoted(stripped)


def _nothing(field: Field) -> Any:
    """What an empty text means."""
    if field.shape is Shape.WORDS:
        return []
    if field.shape is Shape.TEXT and not field.empty:
        return ""
    return None if field.empty else field.default


def _value(text: str) -> Any:
    value = toml.value(text)
    return unquoted(text) if value == text or not _finite(value) else value


def _finite(value: Any) -> bool:
    """JSON, and so a request, has no other numbers."""
    if isinstance(value, (list, dict)):
        return all(map(_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


# Texts


def plain(text: str) -> str:
    """`text` as it is where it can be shown and typed so, else in double quotes."""
    shown = text.isprintable() and text == text.strip() and text and text[0] != '"'
    return text if shown else quoted(text)


def quoted(text: str) -> str:
    """`text` in double quotes; nothing but printable characters is left."""
    letters = (json.dumps(one)[1:-1] if one in '"\\' or not one.isprintable() else one for one in text)
    return f'"{"".join(letters)}"'


def unquoted(text: str) -> str:
    """What `plain` made `text` of."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


# Lists on one line


def word(text: str) -> str:
    """`text` as one word of a line, quoted where it needs to be."""
    if not text.isprintable():
        return quoted(text)
    if _BARE.fullmatch(text):
        return text
    return f"'{text}'" if "'" not in text else quoted(text)


def split(text: str) -> list[str]:
    """The words of a line; quotes and backslashes as in a shell, double quotes with the escapes of JSON.

    Raises:
        ValueError: a quote is not closed.
    """
    words: list[str] = []
    current: list[str] | None = None
    place = 0
    while place < len(text):
        letter = text[place]
        if letter.isspace():
            if current is not None:
                words.append("".join(current))
                current = None
            place += 1
            continue
        current = [] if current is None else current
        piece, place = _piece(text, place)
        current.append(piece)
    return words if current is None else [*words, "".join(current)]


def _piece(text: str, place: int) -> tuple[str, int]:
    """What begins at `place`, and where it ends."""
    letter = text[place]
    if letter == "'":
        end = text.find("'", place + 1)
        if end < 0:
            raise ValueError("a quote is not closed")
        return text[place + 1 : end], end + 1
    if letter == '"':
        match = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, place)
        if match is None:
            raise ValueError("a quote is not closed")
        try:
            return str(json.loads(match.group())), match.end()
        except ValueError:  # an escape that JSON does not know stands for its letter
            return re.sub(r"\\(.)", r"\1", match.group()[1:-1]), match.end()
    if letter == "\\":
        return text[place + 1 : place + 2], place + 2
    match = _BARE.match(text, place)
    return (letter, place + 1) if match is None else (match.group(), match.end())


def _words(text: str, old: Any) -> Any:
    try:
        words = split(text)
    except ValueError:
        return text
    kept = iter([one for one in old if looks_secret(one)] if isinstance(old, list) else [])
    return [next(kept, one) if one == MASK else one for one in words]


# Rows of a list or table


def item_text(field: Field, value: Any, number_: int) -> str:
    """The text of one row; empty for the one behind the last."""
    if field.shape is Shape.VARIABLES:
        pairs = list(value.items()) if isinstance(value, dict) else []
        if number_ >= len(pairs):
            return ""
        name, content = pairs[number_]
        shown = str(content) if isinstance(content, (str, int, float)) else literal(content)
        secret = is_secret_name(name) or looks_secret(shown)
        return f"{name}={MASK if secret else plain(shown) if shown else ''}"
    items = value if isinstance(value, list) else []
    if number_ >= len(items):
        return ""
    return plain(items[number_]) if isinstance(items[number_], str) else literal(items[number_])


def with_item(field: Field, value: Any, number_: int, text: str) -> Any:
    """`value` with one row written anew, added (behind the last) or, with an empty text, taken out."""
    stripped = text.strip()
    if field.shape is Shape.VARIABLES:
        return _with_variable(value if isinstance(value, dict) else {}, number_, stripped)
    items = list(value) if isinstance(value, list) else []
    items[number_ : number_ + 1] = [unquoted(stripped)] if stripped else []
    return items


def _with_variable(value: dict[str, Any], number_: int, text: str) -> dict[str, Any]:
    pairs = list(value.items())
    name, equals, content = text.partition("=")
    pair = (name.strip(), unquoted(content.strip()) if equals else "")
    if number_ < len(pairs) and pair[1] == MASK:
        pair = (pair[0], pairs[number_][1])
    pairs[number_ : number_ + 1] = [pair] if text else []
    return dict(pairs)


# Numbers and the rest


def number(value: float) -> str:
    """`2e-4` and `0.05`: as a person writes it, and exactly that number."""
    digits, exponent, power = repr(value).partition("e")
    return f"{digits}e{int(power)}" if exponent else digits


def duration(value: float) -> str:
    """`2h 30m` where the seconds are whole."""
    if not math.isfinite(value) or value != int(value) or value <= 0:
        return number(value)
    rest, parts = int(value), []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts)


def _duration(text: str) -> Any:
    found = _number(text, whole=False)
    if not isinstance(found, str):
        return float(found)
    try:
        return float(seconds(text))
    except ValueError:
        return text


def _number(text: str, *, whole: bool) -> int | float | str:
    digits = text.replace(" ", "")
    try:
        return int(digits)
    except ValueError:
        pass  # it may still be a number with a fraction
    try:
        value = float(digits)
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return int(value) if whole and value == int(value) else value


def literal(value: Any) -> str:
    """A value of a library argument as TOML writes it; a text is bare where it cannot be taken for something else."""
    if isinstance(value, str):
        shown = plain(value)
        return quoted(value) if shown == value and toml.value(value) != value else shown
    return _inline(value)


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_inline(one) for one in value)}]"
    if isinstance(value, dict):
        pairs = (f"{name if _KEY.fullmatch(name) else quoted(name)} = {_inline(one)}" for name, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if value is None:
        return '""'
    return number(value) if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
