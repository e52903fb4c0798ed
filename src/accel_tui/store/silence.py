"""A remark on a run that goes on and has written nothing for long, where the tables know what that may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.diagnosis.recognise import RUNNING, Ending, standstill
from accel_tui.store.reading import last_change, plan_facts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from accel_tui.diagnosis.table import Entry

BEGIN = "silent for "
LEAST_SECONDS = 60.0


def silence(folder: Path, kind: str, known: Sequence[Entry], now: float) -> str | None:
    """The remark, which begins with `BEGIN`; None where there is nothing to say.

    Silent means that neither log nor events grew; `now` is in seconds since the epoch.

    Raises:
        OSError: the folder is gone.
    """
    seconds = now - last_change(folder)
    if seconds < LEAST_SECONDS:
        return None
    _, processes, vendors = plan_facts(folder)
    said = standstill(Ending(RUNNING, None, kind, vendors, seconds, processes), known)
    return None if said is None else f"{BEGIN}{int(seconds // 60)} min: {said}"
