"""The inventory."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import TYPE_CHECKING

from accel_tui.model.devices import Problem
from accel_tui.protocol.messages import read_points, read_seconds
from accel_tui.protocol.version import SETTINGS_HEADER
from accel_tui.supervisor.replies import reply
from accel_tui.supervisor.thinning import thinned

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.devices.history import History
    from accel_tui.supervisor.service import Service

WAIT_LIMIT = 2.5
HISTORY_LIMIT_SECONDS = 86_400.0

_DIFFER = Problem(
    None,
    "supervisor-settings-differ",
    "the supervisor was started with other settings than yours; its settings are in force",
    "end it with `accel-tui supervisor stop`: runs go on, and the next verb starts one with your settings",
)


async def devices(service: Service, request: Request) -> Response:
    wait = request.query_params.get("wait")
    inventory = await service.inventory(WAIT_LIMIT if wait is None else read_seconds(wait, WAIT_LIMIT))
    theirs = request.headers.get(SETTINGS_HEADER)
    if theirs is not None and theirs != service.digest:
        inventory = dataclasses.replace(inventory, problems=(*inventory.problems, _DIFFER))
    return reply(inventory.to_json())


async def history(service: Service, request: Request) -> Response:
    """What was recorded in the last `seconds` (at most a day): time and value, oldest first.

    `devices` and `readings` are names separated by commas, all without them; `points` is the most of one series.
    """
    query = request.query_params
    since = time.time() - read_seconds(query.get("seconds"), HISTORY_LIMIT_SECONDS)
    wanted, readings = _names(query.get("devices")), _names(query.get("readings"))
    points = read_points(query.get("points"))
    devices = {}
    for view in service.sampler.snapshot().devices:
        if wanted is None or view.device.key in wanted:
            devices[view.device.key] = await asyncio.to_thread(
                _series, service.history, view.device.key, since, readings, points
            )
    return reply({"schema": 1, "devices": devices})


def _series(
    history: History, key: str, since: float, readings: set[str] | None, points: int | None
) -> dict[str, list[list[float | None]]]:
    found = history.samples(key, since, readings=readings)
    return {name: thinned([(one[0], one[1]) for one in series], points) for name, series in found.items()}


def _names(text: str | None) -> set[str] | None:
    return None if text is None else set(text.split(","))
