"""The inventory."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import TYPE_CHECKING

from accel_tui.model.devices import Problem
from accel_tui.protocol.messages import read_seconds
from accel_tui.protocol.version import SETTINGS_HEADER
from accel_tui.supervisor.replies import reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
    """What was recorded of every device in the last `seconds` (at most a day): time and value, oldest first."""
    seconds = read_seconds(request.query_params.get("seconds"), HISTORY_LIMIT_SECONDS)
    since = time.time() - seconds
    devices = {}
    for view in service.sampler.snapshot().devices:
        found = await asyncio.to_thread(service.history.samples, view.device.key, since)
        devices[view.device.key] = {name: [[point[0], point[1]] for point in points] for name, points in found.items()}
    return reply({"schema": 1, "devices": devices})
