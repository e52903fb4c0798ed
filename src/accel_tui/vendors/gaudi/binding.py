"""The real binding `pyhlml`, loaded only when it is the right one.

The abandoned distribution `pyhlml` installs the same import name with older structures: against a current library its
calls would write past their buffers. So the distribution is checked before the import, the structures after it, and
what the library answers before it is believed (`hlml`). The binding prints when it cannot load its library, so the
library is tried before, and what it prints is dropped.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.metadata
import io
import os
import re
import sys
import warnings
from typing import Any

from accel_tui.model.devices import SourceFault
from accel_tui.vendors.gaudi import places as usual

DISTRIBUTION, IMPORT_NAME = "habana-pyhlml", "pyhlml"
LOWEST = (1, 19)
"""The structures have been the same from this release on (measured up to 1.24.2)."""
_INSTALL = "pip install 'accel-tui[gaudi]' into the environment of accel-tui"
_SIZES = {"c_hlml_pci_info": 84, "c_hlml_utilization": 8, "c_hlml_memory": 24}
_RELEASE = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?=\.\d|[-\s]|$)")


class Hlml:
    """The initialised binding. Calls raise what the binding raises: exceptions with a code in `value`."""

    def __init__(self, module: Any, library: str, version: str) -> None:
        self.module, self.library, self.version = module, library, version

    def call(self, name: str, *arguments: object) -> Any:
        """A function of the binding by name; whatever it prints goes nowhere."""
        with contextlib.redirect_stdout(io.StringIO()):
            return getattr(self.module, name)(*arguments)

    def has(self, symbol: str) -> bool:
        """Whether the native library has a function: the binding reports a missing one as a bad argument."""
        library = getattr(sys.modules["pyhlml.main"]._hlmlOBJ, "lib", None)
        return library is not None and hasattr(library, symbol)


def release(text: str) -> tuple[int, int] | None:
    """Major and minor number in a version such as `1.24.2.481`, `1.23.0-0a1b2c3` or `hl-1.23.0-fw-62.0.0.1`."""
    match = _RELEASE.search(text)
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def load(configured: str | None) -> Hlml:
    """The binding over the library that settings name, else over the usual one, not initialised yet.

    Raises:
        SourceFault: distribution, structures or library are missing or not the right ones.
    """
    version = _distribution()
    library = configured or usual.HLML_LIBRARY
    with contextlib.suppress(OSError):
        os.environ["HABANA_LOGS"] = usual.log_folder()
    try:
        ctypes.CDLL(library)
    except OSError as error:
        named = "hlml_library in config.toml or ACCEL_TUI_HLML_LIBRARY" if configured else "hlml_library in config.toml"
        raise SourceFault(
            f"{library} cannot be loaded: {error}", f"correct {named}", code="library", rests=True
        ) from None
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # the package warns of its own parts
        try:
            module = importlib.import_module(IMPORT_NAME)
            types = importlib.import_module("pyhlml.hlml_types")
            loader = importlib.import_module("pyhlml.hlml_lib")
        except Exception as error:  # foreign code: whatever its import raises is told
            raise SourceFault(f"pyhlml cannot be imported: {error}", _INSTALL, code="binding", rests=True) from None
    for name, size in _SIZES.items():
        if ctypes.sizeof(getattr(types, name)) != size:
            message = f"pyhlml {version} has an unknown layout of {name}"
            raise SourceFault(message, "install another release of habana-pyhlml", code="binding", rests=True)
    loader.LibHLML.__init__.__defaults__ = (library,)
    return Hlml(module, library, version)


def _distribution() -> str:
    """The version of the right distribution.

    Raises:
        SourceFault: it is missing, too old, or the wrong one is installed.
    """
    wrong = _version("pyhlml")
    if wrong is not None:
        message = f"the old distribution pyhlml {wrong} is installed, which fits no current libhlml"
        remedy = f"pip uninstall pyhlml {DISTRIBUTION}, then {_INSTALL}"
        raise SourceFault(message, remedy, code="binding", rests=True)
    version = _version(DISTRIBUTION)
    if version is None:
        raise SourceFault(f"the package {DISTRIBUTION} is not installed", _INSTALL, code="binding", rests=True)
    if (release(version) or (0, 0)) < LOWEST:
        message = f"{DISTRIBUTION} {version} is too old: 1.19 is the least"
        raise SourceFault(message, _INSTALL, code="binding", rests=True)
    return version


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
