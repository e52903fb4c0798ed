"""The event stream."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from accel_tui.protocol.messages import dump
from accel_tui.protocol.paths import KEEPALIVE_SECONDS
from accel_tui.supervisor.book import RECENT_SECONDS
from accel_tui.supervisor.replies import HEADERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.supervisor.service import Service


async def events(service: Service, _: Request) -> Response:
    await service.book.ready_since(time.time() - RECENT_SECONDS)
    await service.sampler.inventory()
    headers = {**HEADERS, "Cache-Control": "no-store"}
    return StreamingResponse(_stream(service), media_type="text/event-stream", headers=headers)


async def _stream(service: Service) -> AsyncIterator[bytes]:
    def snapshot() -> str:
        live = service.book.live_documents(None, None)
        runs = "".join(service.book.listing(live, everything=False, state=None, name=None, limit=1000))
        inventory = dump(service.picture().to_json())
        return f'{{"schema":1,"inventory":{inventory},{runs[len(_HEAD) :]}'

    with service.sampler.watching():
        async for block in service.hub.stream(snapshot, KEEPALIVE_SECONDS):
            yield block


_HEAD = '{"schema":1,'
