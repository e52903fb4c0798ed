"""TOML with places: where a syntax fault stands, and on which line a field does."""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from accel_tui.model.errors import FileError

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def parse(text: str, name: str) -> dict[str, Any]:
    """The document.

    Raises:
        FileError: a fault of syntax; the message shows the line with a caret under the place.
    """
    try:
        document: dict[str, Any] = tomllib.loads(text)
        return document
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, name, str(error)) from None
    except RecursionError:
        raise FileError(f"{name}: nested too deeply", remedy="a session file needs no deep nesting") from None


def _syntax_error(text: str, name: str, message: str) -> FileError:
    lines = text.splitlines() or [""]
    match = _PLACE.search(message)
    reason = _PLACE.sub("", message)
    if match is None or match.group(1) is None:
        line, column = len(lines), len(lines[-1]) + 1
    else:
        line, column = int(match.group(1)), int(match.group(2))
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    start = max(0, column - 60)
    excerpt = shown[start : start + 100].replace("\t", " ")
    caret = " " * (column - 1 - start) + "^"
    return FileError(
        f"{name}:{line}:{column}: {reason[:1].lower() + reason[1:]}\n    {excerpt}\n    {caret}",
        remedy="correct the TOML syntax there",
    )


def value(text: str) -> Any:
    """`text` as a TOML value; the text itself when it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (tomllib.TOMLDecodeError, RecursionError, KeyError):
        return text


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """The line on which the field `path` of a document stands, counted from 1, or that of its nearest parent.

    A scan of headers and keys, good enough for a message: a field of an inline table gives the line of the table.
    """
    best: tuple[int, int] | None = None
    prefix: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            prefix = _address(_parts(header.group(2)), counts, array=header.group(1) == "[[")
            here = prefix
        else:
            key = _KEY.match(line)
            if key is None:
                continue
            here = (*prefix, *_parts(key.group(1)))
        # The field itself, a parent of it, or a table below it, whose header is where its name first stands.
        shared = min(len(here), len(path))
        if here[:shared] == path[:shared] and (best is None or shared > best[0]):
            best = (shared, number)
    return None if best is None else best[1]


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", text))


def _address(parts: tuple[str, ...], counts: dict[tuple[str | int, ...], int], *, array: bool) -> tuple[str | int, ...]:
    """The path of a header: `job.train` after the second `[[job]]` is `("job", 1, "train")`."""
    path: tuple[str | int, ...] = ()
    for position, part in enumerate(parts):
        path = (*path, part)
        if array and position == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
