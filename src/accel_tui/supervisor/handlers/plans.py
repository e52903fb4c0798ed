"""What would run, and what the checks say of it; nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.protocol.messages import Submission
from accel_tui.supervisor.replies import body, reply

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.supervisor.service import Service


async def plan(service: Service, request: Request) -> Response:
    submission = Submission.from_json(await body(request))
    prepared = await service.submitter.prepare(submission, execute=False)
    return reply(prepared.plan.to_json())


async def check(service: Service, request: Request) -> Response:
    submission = Submission.from_json(await body(request))
    prepared = await service.submitter.prepare(submission, execute=True)
    return reply({"schema": 1, "checks": [one.to_json() for one in prepared.plan.checks]})
