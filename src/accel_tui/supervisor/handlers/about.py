"""Who the supervisor is, its figures, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.supervisor import openmetrics
from accel_tui.supervisor.replies import peer, reply, text_reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.supervisor.service import Service


async def hello(service: Service, _: Request) -> Response:
    await service.book.ready()  # before the folders were read it would tell of an empty queue
    return reply({**service.hello(), "logout": (await service.survival()).to_json()})


async def metrics(service: Service, _: Request) -> Response:
    inventory = await service.sampler.inventory(0.5)
    text = openmetrics.render(inventory, [entry.picture() for entry in service.book.live.values()])
    return text_reply(text, media=openmetrics.MEDIA_TYPE)


async def shutdown(service: Service, request: Request) -> Response:
    await service.book.ready()
    service.audit.write("shutdown", None, peer(request))
    service.end()
    return reply({"schema": 1, "queued": len(service.book.queued()), "running": len(service.book.occupying())})
