"""The person's own keys: `keymap.toml` in the configuration folder.

preset = "vim"            # adds j k g G

[keys]
"run.stop" = "X"
"app.palette" = ["ctrl+p", "f2"]
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from accel_tui.config.toml import read_toml
from accel_tui.model.errors import FileError
from accel_tui.tui.bindings import KEYS

PRESETS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vim": MappingProxyType(
            {
                "move.down": "down,j",
                "move.up": "up,k",
                "move.first": "home,g",
                "move.last": "end,G",
                "device.group": "ctrl+g",
            }
        )
    }
)
"""Sets of keys by name. In `vim` the group proposal gives its letter to the first row."""

_SIGNS = {"?": "question_mark", "!": "exclamation_mark", ":": "colon", "/": "slash", ".": "full_stop", "+": "plus",
          "-": "minus", "=": "equals_sign", "<": "less_than_sign", ">": "greater_than_sign", "|": "vertical_line",
          "{": "left_curly_bracket", "}": "right_curly_bracket", "[": "left_square_bracket",
          "]": "right_square_bracket", ",": "comma", " ": "space", "esc": "escape", "del": "delete"}  # fmt: skip


@dataclass(frozen=True)
class Keymap:
    """Keys by verb, in Textual's names, and what could not be used."""

    keys: Mapping[str, str]
    problems: tuple[FileError, ...] = ()


def load_keymap(path: Path) -> Keymap:
    """The person's keys; without a file there are none. A wrong entry is a problem and does not hide the others."""
    if not path.is_file():
        return Keymap({})
    try:
        document = read_toml(path)
    except FileError as problem:
        return Keymap({}, (problem,))
    keys: dict[str, str] = {}
    problems: list[FileError] = []
    preset = document.get("preset")
    if preset is not None and preset not in PRESETS:
        problems.append(FileError(f"{path}: preset: there is no {preset!r}", remedy=f"one of {', '.join(PRESETS)}"))
    keys.update(PRESETS.get(str(preset), {}))
    table = document.get("keys", {})
    if not isinstance(table, dict):
        problems.append(FileError(f"{path}: keys: a table is expected", remedy="write [keys]"))
        table = {}
    for name, value in table.items():
        fault = _fault(path, name, value)
        if fault is None:
            keys[name] = ",".join(map(_named, value)) if isinstance(value, list) else _named(value)
        else:
            problems.append(fault)
    problems += _clashes(path, keys)
    for name in document:
        if name not in ("preset", "keys"):
            remedy = "verbs stand in the table [keys]" if name in KEYS or "." in name else "known: preset, [keys]"
            problems.append(FileError(f"{path}: {name}: unknown", remedy=remedy))
    return Keymap(keys, tuple(problems))


def _clashes(path: Path, keys: Mapping[str, str]) -> list[FileError]:
    """Keys that were given to a verb although another one has them; where both can act, the new one does."""
    found = []
    for name, given in keys.items():
        for other, verb in KEYS.items():
            if other == name or verb.keys == KEYS[name].keys:
                continue
            new = set(given.split(",")) - set(KEYS[name].keys.split(","))
            both = new & set(keys.get(other, verb.keys).split(","))
            if both and (other not in keys or other < name):
                remedy = f"give {other} another key"
                found.append(FileError(f"{path}: {name} takes {', '.join(sorted(both))} from {other}", remedy=remedy))
    return found


def _fault(path: Path, name: str, value: Any) -> FileError | None:
    if name not in KEYS:
        near = difflib.get_close_matches(name, KEYS, 1)
        return FileError(f"{path}: {name}: no such verb", remedy=f"did you mean {near[0]}?" if near else "? lists all")
    keys = value if isinstance(value, list) else [value]
    if not keys or not all(isinstance(key, str) and key for key in keys):
        return FileError(f"{path}: {name}: a key, or a list of keys, is expected", remedy='such as "X" or ["x", "f5"]')
    return None


def _named(key: str) -> str:
    """A sign as Textual calls it."""
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    return "+".join([*modifiers, _SIGNS.get(last, last)])
