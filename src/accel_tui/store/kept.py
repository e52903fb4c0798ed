"""What was found of a failure when its run ended, kept in the run folder, so that nobody has to look again."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper.files import write_json
from accel_tui.model.runs import Cause, Diagnosis
from accel_tui.store.documents import SCHEMA, DamagedError, optional, read_document

if TYPE_CHECKING:
    from accel_tui.model.runs import Run

NAME = "diagnosis.json"


def keep(run: Run) -> None:
    """Write the run's diagnosis down; what stands there already stays.

    Where it cannot be written, as on a full disk, the same is found once more by the next who looks.
    """
    path = Path(run.folder) / NAME
    if run.diagnosis is None or run.cause is Cause.RECORD_DAMAGED or path.exists():
        return
    with contextlib.suppress(OSError):
        write_json(path, {"schema": SCHEMA, **run.diagnosis.to_json(), "again": run.diagnosis.again}, sync=False)


def kept(folder: Path) -> Diagnosis | None:
    """What was written down; None where nobody looked yet, or the file is damaged."""
    try:
        document = read_document(folder / NAME)
    except (FileNotFoundError, DamagedError):
        return None
    name, summary = optional(document, "id", str), optional(document, "summary", str)
    if name is None or summary is None:
        return None
    return Diagnosis(
        name,
        summary,
        optional(document, "next_step", str),
        optional(document, "rank", int),
        optional(document, "line", int),
        again=document.get("again") is not False,
    )
