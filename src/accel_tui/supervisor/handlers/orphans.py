"""Processes that nobody looks after, their end; which runs are old enough to go; slots of sessions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accel_tui.model.errors import UsageError
from accel_tui.protocol.messages import Reader
from accel_tui.supervisor.replies import body, peer, reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.supervisor.service import Service


async def listing(service: Service, _: Request) -> Response:
    await service.book.ready()
    found = await service.leftovers.find()
    return reply({"schema": 1, "orphans": [orphan.to_json() for orphan in found]})


async def end(service: Service, request: Request) -> Response:
    document = await body(request)
    start = document.get("start_time")
    if start is not None and (isinstance(start, bool) or not isinstance(start, int)):
        raise UsageError("`start_time` must be a whole number")
    now = Reader(document).typed("now", bool, default=False)
    pid = request.path_params["pid"]
    if not re.fullmatch(r"[1-9]\d{0,9}", pid):
        raise UsageError(f"{pid[:40]!r} is no process")
    await service.book.ready()
    orphan = await service.leftovers.end(int(pid), start, now=now, by=peer(request))
    return reply({"schema": 1, **orphan.to_json()})


async def session(service: Service, request: Request) -> Response:
    """A CPU slot for a program that runs on somebody's terminal."""
    name = Reader(await body(request)).typed("name", str)
    await service.book.ready()
    service.sessions.begin(name, by=peer(request))
    return reply({"schema": 1, "name": name})


async def prunable(service: Service, request: Request) -> Response:
    """Finished runs that ended before `older_than` seconds ago, without those that something still needs."""
    query = request.query_params
    older, keep = query.get("older_than"), query.get("keep", "0")
    try:
        seconds = float(older or "")
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e12:
        raise UsageError("`older_than` must be a number of seconds")
    if not re.fullmatch(r"\d{1,9}", keep):
        raise UsageError("`keep` must be a whole number")
    await service.book.ready_since(None)
    going, kept = await service.leftovers.prunable(seconds, int(keep))
    return reply(
        {
            "schema": 1,
            "runs": [run.to_json() for run in going],
            "kept": [{"id": run.id, "name": run.name, "reason": reason} for run, reason in kept],
        }
    )
