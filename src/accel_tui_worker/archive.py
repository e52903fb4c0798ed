"""The worker as one file, `worker.pyz`, that any Python can run or put on its path.

Standard library only: `accel_tui` imports this to write the archive into a run folder.
"""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date that zip can hold: archives of the same sources are the same bytes

_MAIN = b"""import sys

from accel_tui_worker.__main__ import main

sys.exit(main())
"""


@functools.cache
def build() -> bytes:
    """The archive: this package's sources and a main module. The same sources give the same bytes.

    Raises:
        OSError: a source cannot be read.
    """
    folder = Path(__file__).parent
    members = {"__main__.py": _MAIN}
    for source in sorted(folder.glob("*.py")):
        members[f"{folder.name}/{source.name}"] = source.read_bytes()
    buffer = io.BytesIO()
    # Stored, not deflated: what zlib makes differs between its versions, and importing is quicker.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, so that the mode below is read
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
