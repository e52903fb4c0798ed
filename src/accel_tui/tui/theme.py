"""Theme files: TOML in, palettes and Textual themes out.

A file gives flat keys: every role of `palette.SINGLE` as a colour, `series` (4) and `heat` (7) as lists, and how it
behaves (`dark`, `ansi`, `bold`, `dim`, `cursor`, `focus_border`, `heat_glyphs`). `dark` and the roles of `REQUIRED` are
needed unless `extends` names a shipped theme; whatever else is missing is derived.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.color import Color

from accel_tui.config.toml import read_toml
from accel_tui.model.errors import FileError
from accel_tui.tui.palette import HEAT, QUANTITIES, ROLES, SERIES, SINGLE, Palette

REQUIRED = ("bg", "text", "accent", "ok", "warn", "error", "foreign")
"""Roles that a theme file must give, besides `dark`."""
DEFAULT = "basalt"
"""The theme of a person who chose none; its file is also what other dark themes are completed from."""

_TEXT_SHARES = {"raised": 0.05, "track": 0.16, "line": 0.21, "faint": 0.57, "muted": 0.71}
_LISTS = {"series": SERIES, "heat": HEAT}
_SWITCHES = ("dark", "ansi", "heat_glyphs")
_CHOICES = {"cursor": ("fill", "reverse"), "focus_border": ("round", "heavy")}
_KEYS = (*SINGLE, *_LISTS, *_SWITCHES, *_CHOICES, "bold", "dim", "extends")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_ANSI = re.compile(r"ansi_(default|(bright_)?(black|red|green|yellow|blue|magenta|cyan|white))")


@dataclass(frozen=True)
class Themes:
    """The palettes that can be chosen, and the files that could not be used."""

    palettes: Mapping[str, Palette]
    problems: tuple[FileError, ...] = ()


def load_themes(shipped: Path, own: Path | None = None, *, only: Collection[str] | None = None) -> Themes:
    """Every theme of both folders; a file in `own` replaces the shipped one of the same name.

    `own` need not exist. With `only`, just the themes of these names and the default are read.
    A file that cannot be used becomes a problem and does not hide the others.

    Raises:
        FileError: the default theme itself is missing or broken.
    """
    palettes = {DEFAULT: read_palette(shipped / f"{DEFAULT}.toml", shipped)}
    problems: list[FileError] = []
    for folder in (shipped, own):
        for path in sorted(folder.glob("*.toml")) if folder is not None else ():
            if only is not None and path.stem not in only:
                continue
            try:
                palettes[path.stem] = read_palette(path, shipped)
            except FileError as problem:
                problems.append(problem)
    return Themes(palettes, tuple(problems))


def read_palette(path: Path, shipped: Path) -> Palette:
    """The palette of one theme file, named after it.

    Args:
        shipped: The folder of the themes that missing keys are taken from.

    Raises:
        FileError: names file, key and remedy.
    """
    own = _read(path)
    base = own.pop("extends", None)
    if base is not None:
        own = {**_read_base(path, shipped, base), **own}
    for key in ("dark", *REQUIRED):
        if key not in own:
            raise _fault(
                path, key, "is missing", f'a theme needs {", ".join(("dark", *REQUIRED))}, or extends = "NAME"'
            )
    _refuse_mixture(path, own)
    colours = _complete(own, _roles_of(_read(shipped / ("basalt.toml" if own["dark"] else "chalk.toml"))))
    return Palette(
        path.stem,
        own["dark"],
        {role: colours[role] for role in ROLES},
        ansi=own.get("ansi", False),
        bold=frozenset(own.get("bold", ())),
        dim=frozenset(own.get("dim", ())),
        focus_border=own.get("focus_border", "round"),
        flat_cursor=own.get("cursor") == "reverse",
        heat_glyphs=own.get("heat_glyphs", False),
    )


def without_colour() -> Palette:
    """What NO_COLOR asks for: bold, dim, reverse and glyphs on the terminal's own two colours.

    The application must be made with `ansi_color=True`: only then does Textual drop colours instead of greying them.
    """
    return Palette(
        "no-colour",
        True,
        dict.fromkeys(ROLES, "ansi_default"),
        ansi=True,
        bold=frozenset({"strong", "accent", "warn", "error", "on_accent"}),
        dim=frozenset({"faint", "line", "track"}),
        focus_border="heavy",
        flat_cursor=True,
        heat_glyphs=True,
    )


def fitting(palettes: Mapping[str, Palette], wanted: str, environment: Mapping[str, str]) -> Palette:
    """The palette to start with: the wanted one, unless the environment forbids or cannot show its colours.

    NO_COLOR (not empty) wins; a terminal of sixteen colours gets `sixteen`; an unknown name gives the default.
    """
    if environment.get("NO_COLOR"):
        return without_colour()
    palette = palettes.get(wanted, palettes[DEFAULT])
    if not palette.ansi and _sixteen_only(environment):
        return palettes.get("sixteen", palette)
    return palette


def _sixteen_only(environment: Mapping[str, str]) -> bool:
    """As Rich decides it: true colour and 256 colours are announced, everything else has sixteen."""
    if environment.get("TEXTUAL_COLOR_SYSTEM", "auto") != "auto":
        return environment["TEXTUAL_COLOR_SYSTEM"] == "standard"
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return False
    return not environment.get("TERM", "").endswith(("256color", "kitty"))


def _read(path: Path) -> dict[str, Any]:
    document = read_toml(path)
    for key, value in document.items():
        _check(path, key, value, ansi=document.get("ansi") is True)
    return document


def _read_base(path: Path, shipped: Path, name: object) -> dict[str, Any]:
    places = {place.stem: place for place in sorted(shipped.glob("*.toml"))}
    if not isinstance(name, str) or name not in places:
        raise _fault(path, "extends", f"names no shipped theme: {name!r}", f"one of {', '.join(places)}")
    base = _read(places[name])
    if "extends" in base:
        raise _fault(path, "extends", f"{name} extends {base['extends']} itself", f'extend "{base["extends"]}" instead')
    return base


def _check(path: Path, key: str, value: object, *, ansi: bool) -> None:
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, 1)
        raise _fault(path, key, "is unknown", f"did you mean {near[0]}?" if near else f"known: {', '.join(_KEYS)}")
    if key in SINGLE:
        _check_colour(path, key, value, ansi)
    elif key in _LISTS:
        names = _LISTS[key]
        if not isinstance(value, list) or len(value) != len(names):
            raise _fault(path, key, f"must be a list of {len(names)} colours", f"give {len(names)} values")
        for number, colour in enumerate(value):
            _check_colour(path, f"{key}[{number}]", colour, ansi)
    elif key in _SWITCHES and not isinstance(value, bool):
        raise _fault(path, key, "must be true or false", f"write {key} = true or {key} = false")
    elif key in _CHOICES and value not in _CHOICES[key]:
        raise _fault(path, key, f"cannot be {value!r}", f"one of {', '.join(_CHOICES[key])}")
    elif key in ("bold", "dim") and not (isinstance(value, list) and all(role in ROLES for role in value)):
        raise _fault(path, key, "must be a list of roles", f'for example {key} = ["warn", "error"]')


def _check_colour(path: Path, key: str, value: object, ansi: bool) -> None:
    if ansi:
        if not isinstance(value, str) or not _ANSI.fullmatch(value):
            raise _fault(path, key, f"is no colour of the sixteen: {value!r}", 'for example "ansi_bright_blue"')
    elif not isinstance(value, str) or not _HEX.fullmatch(value):
        raise _fault(path, key, f"is no colour: {value!r}", 'six hexadecimal digits, for example "#ecc667"')


def _refuse_mixture(path: Path, keys: Mapping[str, Any]) -> None:
    """A file with `ansi` cannot build on colours that are given in hexadecimal, nor the other way round."""
    for key, value in keys.items():
        _check(path, key, value, ansi=keys.get("ansi") is True)


def _roles_of(keys: Mapping[str, Any]) -> dict[str, str]:
    """The colours among the keys of a file, lists spread over their roles."""
    roles = {key: value for key, value in keys.items() if key in SINGLE}
    for key, names in _LISTS.items():
        roles.update(zip(names, keys.get(key, ()), strict=False))
    return roles


def _complete(keys: Mapping[str, Any], base: Mapping[str, str]) -> dict[str, str]:
    """All roles: those given, then those derived from the given ones, then quantities and steps from `base`."""
    roles = _roles_of(keys)
    text, surface, accent = roles["text"], roles["bg"], roles["accent"]
    if keys.get("ansi"):
        derived = {**dict.fromkeys(("raised", "select"), surface), **dict.fromkeys(_TEXT_SHARES, text)}
        derived |= {"raised": surface, "hit": roles["warn"], "hit_now": roles["warn"], "on_accent": "ansi_black"}
        derived |= dict.fromkeys((*QUANTITIES, *SERIES, *HEAT), text)
    else:
        derived = {role: _mix(text, surface, share) for role, share in _TEXT_SHARES.items()}
        derived |= {"select": _mix(accent, surface, 0.17), "on_accent": surface}
    return {**base, **derived, "strong": text, **roles}


def _mix(colour: str, surface: str, share: float) -> str:
    return Color.parse(surface).blend(Color.parse(colour), share).hex.lower()


def _fault(path: Path, key: str, message: str, remedy: str) -> FileError:
    return FileError(f"{path}: {key} {message}", remedy=remedy)
