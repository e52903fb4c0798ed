"""Where the parts of the Gaudi software are, unless settings say otherwise."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

HLML_LIBRARY = "/usr/lib/habanalabs/libhlml.so"
"""The binding's own fixed default."""
HL_SMI_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/habanalabs/bin")
"""Looked through after PATH."""

CONTAINER_VARIABLE = "HABANA_RUNTIME_ERROR"
"""The Gaudi container runtime leaves it in every container that it made."""


def log_folder() -> str:
    """A private folder for the logs that the vendor's parts insist on writing, the same for every probe of a user.

    Raises:
        OSError: none can be made.
    """
    folder = Path(tempfile.gettempdir()) / f"accel-tui-habana-logs-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        return tempfile.mkdtemp(prefix="accel-tui-habana-logs-")  # somebody else was there first
    return str(folder)
