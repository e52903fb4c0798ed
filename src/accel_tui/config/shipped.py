"""Finding the themes and sessions that come with the product, in a wheel and in a checkout alike."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from accel_tui.model.errors import FileError

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder(name: Literal["themes", "sessions"]) -> Path:
    """The folder of shipped files.

    A wheel carries it inside the package; an editable install and a plain checkout have it beside `src`.

    Raises:
        FileError: neither place has it, so the install is incomplete.
    """
    places = (_PACKAGE / "shipped" / name, _PACKAGE.parent.parent / name)
    for place in places:
        if place.is_dir():
            return place
    raise FileError(f"the shipped {name} are missing: {places[0]} and {places[1]}", remedy="install accel-tui again")
