"""Stopping, holding, releasing, moving and removing runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.errors import UsageError
from accel_tui.protocol.messages import Reader
from accel_tui.supervisor.replies import body, peer, reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.model.runs import Run
    from accel_tui.supervisor.service import Service


def _reply(outcome: tuple[Run, str | None]) -> Response:
    run, note = outcome
    return reply({"schema": 1, **run.to_json()} | ({} if note is None else {"note": note}))


async def stop(service: Service, request: Request) -> Response:
    now = Reader(await body(request)).typed("now", bool, default=False)
    await service.book.ready(request.path_params["ref"])
    return _reply(await service.changes.stop(request.path_params["ref"], now=now, by=peer(request)))


async def hold(service: Service, request: Request) -> Response:
    reason = Reader(await body(request)).typed("reason", str, "held by the user")
    await service.book.ready(request.path_params["ref"])
    return _reply(await service.changes.hold(request.path_params["ref"], reason[:200], by=peer(request)))


async def release(service: Service, request: Request) -> Response:
    secrets = Reader(await body(request)).texts("secrets", optional=True)
    await service.book.ready(request.path_params["ref"])
    return _reply(await service.changes.release(request.path_params["ref"], secrets, by=peer(request)))


async def move(service: Service, request: Request) -> Response:
    document = await body(request)
    before = Reader(document).text_or_none("before")
    if before is None and document.get("first") is not True:
        raise UsageError("`first` must be true, or `before` must name a run")
    await service.book.ready(request.path_params["ref"], *(() if before is None else (before,)))
    return _reply(await service.changes.move(request.path_params["ref"], before, by=peer(request)))


async def remove(service: Service, request: Request) -> Response:
    await service.book.ready(request.path_params["ref"])
    return _reply(await service.changes.remove(request.path_params["ref"], by=peer(request)))
