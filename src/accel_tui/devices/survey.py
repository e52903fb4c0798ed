"""One look at the devices without a supervisor, for `plan` and `doctor`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.sampler import Sampler
from accel_tui.model.places import Places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.devices.registry import SourceEntry
    from accel_tui.model.devices import Inventory

SURVEY_SECONDS = 2.5


def survey(
    settings: object,
    demo: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    entries: Sequence[SourceEntry] | None = None,
    seconds: float = SURVEY_SECONDS,
) -> Inventory:
    """The inventory with first readings, after at most `seconds`; what did not answer by then is a problem.

    Blocks; must not be called on an event loop. Starts the probe processes and ends them again.
    Reservations are not in it.

    Raises:
        UsageError: `demo` names no simulated server.
    """
    return asyncio.run(_survey(Places.of(settings, demo), environment, entries, seconds))


async def _survey(
    places: Places,
    environment: Mapping[str, str] | None,
    entries: Sequence[SourceEntry] | None,
    seconds: float,
) -> Inventory:
    end = time.monotonic() + seconds
    within = seconds * 0.9
    deadlines = Deadlines(start=within, inventory=within, read=within, holders=within)
    sampler = Sampler(places, entries=entries, environment=environment, deadlines=deadlines)
    await sampler.start()
    try:
        return await sampler.inventory(wait=max(0.1, end - time.monotonic() - seconds * 0.05))
    finally:
        await sampler.stop()
