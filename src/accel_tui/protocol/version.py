"""Versions: of the product, and of what client and supervisor say to each other."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = "0.1.0"
"""The product's version, the same as the distribution's."""

PROTOCOL = (1, 0)
"""Major and minor number: the major one rises when an older side would misunderstand, else the minor one."""

PROTOCOL_HEADER = "Accel-Tui-Protocol"
VERSION_HEADER = "Accel-Tui-Version"
SETTINGS_HEADER = "Accel-Tui-Settings"
"""Sent by clients: the digest of their settings."""


def protocol_text() -> str:
    """`MAJOR.MINOR` of this side, as the header carries it."""
    return f"{PROTOCOL[0]}.{PROTOCOL[1]}"


def parse_protocol(text: str) -> tuple[int, int] | None:
    """`(MAJOR, MINOR)` of a header, or None when it is no such thing."""
    match = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", text)
    return None if match is None else (int(match[1]), int(match[2]))


def understands(theirs: tuple[int, int]) -> bool:
    """Whether the two sides can talk: their major numbers agree."""
    return theirs[0] == PROTOCOL[0]


def is_newer(mine: str, theirs: str) -> bool:
    """Whether version `mine` is newer than `theirs`; a release is newer than its own pre-releases."""
    return _order(mine) > _order(theirs)


def _order(version: str) -> tuple[tuple[int, ...], int]:
    match = re.match(r"(\d+(?:\.\d+)*)(.*)", version)
    if match is None:
        return (0,), 0
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), 0 if re.match(r"(a|b|rc|\.dev)", match[2]) else 1


def settings_digest(settings: Mapping[str, object]) -> str:
    """A short digest of JSON-able settings; where the files are is left out, equal settings give equal text."""
    compared = {name: value for name, value in settings.items() if name not in ("state_dir", "config_dir")}
    text = json.dumps(compared, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
