"""Reading TOML files, with the fault named by file and place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from accel_tui.model.errors import FileError

MOST_BYTES = 4 * 1024 * 1024
"""A file of a person is smaller; a larger one is something else, taken by mistake."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        FileError: it is missing, unreadable, not text or not TOML; the message names file and line.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as fault:
        raise FileError(f"{path}: there is no such file", remedy="check the path") from fault
    except OSError as fault:
        raise FileError(
            f"{path}: cannot be read: {fault.strerror}", remedy="check the file's type and rights"
        ) from fault
    if len(data) > MOST_BYTES:
        raise FileError(f"{path}: larger than {MOST_BYTES} bytes, so not taken as TOML", remedy="check the path")
    return _parse(path, data)


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):  # late: a command without such a file does not pay for the parser
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(data.decode("utf-8-sig"))
        return document
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise FileError(f"{path}: line {line}: not UTF-8 text", remedy="save the file as UTF-8") from fault
    except tomllib.TOMLDecodeError as fault:
        raise FileError(f"{path}: not valid TOML: {fault}", remedy="correct the line named") from fault
    except RecursionError as fault:
        raise FileError(f"{path}: not valid TOML: nested too deep", remedy="flatten the arrays or tables") from fault
