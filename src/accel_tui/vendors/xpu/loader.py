"""The one place that finds the Level Zero loader and imports pyzes over it.

pyzes opens one absolute path at its import, which many hosts do not have; where the loader lies elsewhere the name is
swapped for the moment of the import. Versions before 0.1.2 have wrong structure layouts and are refused: they answer
success with nonsense (measured against the C headers).
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOWEST = (0, 1, 2)
LIBRARY = "libze_loader.so.1"
_PLACES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/opt/intel/lib",
)
_PROCESS_STATE_BYTES = 48
"""Of `zes_process_state_t` in the C headers; 96 in pyzes 0.1.1."""


class Unavailable(Exception):  # noqa: N818 - says what is so
    """Sysman cannot be asked in this process; `code`, what is so, and the way out."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy = code, message, remedy


def load(setting: str | None) -> Any:
    """The module pyzes over the loader that `setting` names, or over the one that is found.

    Raises:
        Unavailable: pyzes is absent or too old, or the loader is absent, broken or too old.
    """
    check_version(_version())
    place, library = _opened(setting)
    if not hasattr(library, "zesInit"):
        raise Unavailable(
            "loader-too-old",
            f"the Level Zero loader {place} has no zesInit: it is older than 1.9.4",
            "Install a newer Level Zero loader (package libze1 or level-zero), 1.20 or later.",
        )
    module = _imported(place)
    if ctypes.sizeof(module.zes_process_state_t) != _PROCESS_STATE_BYTES:
        raise _too_old("of unknown version")
    return module


def check_version(version: str | None) -> None:
    """Refuse what is absent or known to answer nonsense.

    Raises:
        Unavailable: with the way to a version that works.
    """
    if version is None:
        message = "the Python package pyzes, which asks Level Zero Sysman, is not installed"
        raise Unavailable("pyzes-missing", message, "Install it beside accel-tui: pip install 'accel-tui[xpu]'")
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if found is None or tuple(int(part or 0) for part in found.groups()) < LOWEST:
        raise _too_old(version)


def _too_old(version: str) -> Unavailable:
    message = f"pyzes {version} has wrong structure layouts and would answer nonsense; 0.1.2 is the first that fits"
    return Unavailable("pyzes-too-old", message, "Upgrade it: pip install --upgrade 'pyzes>=0.1.2'")


def _version() -> str | None:
    try:
        return importlib.metadata.version("pyzes")
    except importlib.metadata.PackageNotFoundError:
        return None


def _opened(setting: str | None) -> tuple[str, ctypes.CDLL]:
    """The first loader that opens, and its name.

    Raises:
        Unavailable: none does.
    """
    faults: list[str] = []
    for place in [setting] if setting else _candidates():
        try:
            return place, ctypes.CDLL(place)
        except OSError as error:
            faults.append(str(error))
    if setting:
        message = (
            f"the Level Zero loader {setting}, which the setting level_zero_loader names, does not open: {faults[0]}"
        )
        raise Unavailable("loader-missing", message, "Correct the setting, or remove it to have the loader looked for.")
    there = [fault for fault in faults if "cannot open shared object file" not in fault]
    message = "the Level Zero loader (libze_loader.so.1) is not installed" + (f": {there[0]}" if there else "")
    remedy = "Install the package libze1 or level-zero, or name the file in the setting level_zero_loader."
    raise Unavailable("loader-missing", message, remedy)


def _candidates() -> Iterator[str]:
    """By its soname first, which the dynamic linker knows; then where distributions and environments put it."""
    yield LIBRARY
    for folder in (*_PLACES, f"{sys.prefix}/lib"):
        if (Path(folder) / LIBRARY).exists():
            yield f"{folder}/{LIBRARY}"


def _imported(place: str) -> Any:
    """pyzes, which finds `place` whatever it asks for.

    Raises:
        Unavailable: it cannot be imported.
    """
    original = ctypes.CDLL

    class Swapped(original):  # type: ignore[misc,valid-type] # the base is what ctypes has at this moment
        """Opens the loader under the name that was found."""

        def __init__(self, name: str | None, *rest: Any, **named: Any) -> None:
            super().__init__(place if name and "ze_loader" in name else name, *rest, **named)

    ctypes.CDLL = Swapped  # type: ignore[misc]
    try:
        return importlib.import_module("pyzes")
    except Exception as error:  # whatever a foreign module raises at its import
        message = f"pyzes cannot be imported: {type(error).__name__}: {error}"
        raise Unavailable("pyzes-broken", message, "Install it anew: pip install --force-reinstall pyzes") from error
    finally:
        ctypes.CDLL = original  # type: ignore[misc]
