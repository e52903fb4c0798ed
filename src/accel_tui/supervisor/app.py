"""Which request goes to which handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from accel_tui.model.errors import UsageError
from accel_tui.protocol import paths
from accel_tui.supervisor.handlers import about, changes, devices, events, orphans, plans, runs
from accel_tui.supervisor.replies import answering, fault

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from accel_tui.supervisor.service import Service

_RUN = paths.RUNS + "/{ref}"

_ROUTES = (
    ("GET", paths.HELLO, about.hello),
    ("GET", paths.DEVICES, devices.devices),
    ("GET", paths.HISTORY, devices.history),
    ("POST", paths.PLAN, plans.plan),
    ("POST", paths.CHECK, plans.check),
    ("POST", paths.RUNS, runs.submit),
    ("GET", paths.RUNS, runs.listing),
    ("GET", _RUN, runs.show),
    ("GET", _RUN + "/log", runs.log),
    ("GET", _RUN + "/metrics", runs.metrics),
    ("POST", _RUN + "/stop", changes.stop),
    ("POST", _RUN + "/hold", changes.hold),
    ("POST", _RUN + "/release", changes.release),
    ("POST", _RUN + "/move", changes.move),
    ("DELETE", _RUN, changes.remove),
    ("GET", paths.ORPHANS, orphans.listing),
    ("POST", paths.ORPHANS + "/{pid}/end", orphans.end),
    ("GET", paths.PRUNABLE, orphans.prunable),
    ("POST", paths.SESSIONS, orphans.session),
    ("GET", paths.EVENTS, events.events),
    ("GET", paths.METRICS, about.metrics),
    ("POST", paths.SHUTDOWN, about.shutdown),
)


def make_app(service: Service) -> Starlette:
    """The application over one service."""
    routes = [Route(path, answering(service, handler), methods=[method]) for method, path, handler in _ROUTES]

    async def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 400
        return fault(UsageError(f"no such request: {request.method} {request.url.path[:200]}"), status)

    app = Starlette(routes=routes, exception_handlers={HTTPException: unknown})
    app.router.redirect_slashes = False
    return app
