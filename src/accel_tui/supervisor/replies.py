"""Requests in, replies out: bodies within their limits, faults as our error document, never a traceback."""

from __future__ import annotations

import errno
import functools
import logging
import os
import time
import traceback
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from accel_tui.model.errors import AccelError, StateFolderError, SupervisorError, UsageError
from accel_tui.protocol import paths, version
from accel_tui.protocol.messages import dump, read_object
from accel_tui.protocol.paths import BODY_LIMIT
from accel_tui.supervisor.audit import Peer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from starlette.requests import Request

    from accel_tui.supervisor.service import Service

log = logging.getLogger(__name__)

HEADERS = {version.PROTOCOL_HEADER: version.protocol_text(), version.VERSION_HEADER: version.VERSION}

STATUS = {
    "usage": 400,
    "file": 422,
    "device-absent": 422,
    "check-refused": 409,
    "no-such-run": 404,
    "not-possible": 409,
    "supervisor": 503,
    "state-folder": 503,
}
"""HTTP status of each code in `model.errors`; others are 500."""

FREE_SPACE = "free space on that disk; `accel-tui doctor` shows how much there is"

_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})
_LIMITS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def reply(document: object, status: int = 200) -> Response:
    """A JSON reply."""
    return text_reply(dump(document), status)


def text_reply(text: str, status: int = 200, media: str = "application/json") -> Response:
    """A reply whose text is ready."""
    return Response(text.encode("utf-8", "surrogateescape"), status, HEADERS, media)


def fault(error: AccelError, status: int | None = None) -> Response:
    """The error document of an exception."""
    return reply({"schema": 1, "error": error.to_json()}, status or STATUS.get(error.code, 500))


def peer(request: Request) -> Peer:
    """Who asks; the server put it there from the kernel's word."""
    client = request.client
    return Peer(-1, -1) if client is None else Peer(int(client.host), client.port)


async def body(request: Request) -> dict[str, Any]:
    """The request's JSON object.

    Raises:
        UsageError: it is larger than the limit, or no JSON object.
    """
    return read_object(await _read(request))


async def _read(request: Request) -> bytes:
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated) > BODY_LIMIT:
        raise UsageError(f"the body is larger than {BODY_LIMIT} bytes")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_LIMIT:
            raise UsageError(f"the body is larger than {BODY_LIMIT} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def answering(
    service: Service, handler: Callable[[Service, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """`handler` as an endpoint. This is the border where every fault becomes a reply."""

    @functools.wraps(handler)
    async def endpoint(request: Request) -> Response:
        try:
            _understood(request)
            return await handler(service, request)
        except AccelError as error:
            return fault(error)
        except ClientDisconnect:
            return Response(status_code=499)
        except OSError as error:
            return fault(_of_the_host(service.state, error) or _internal(service, request, error))
        except Exception as error:  # the border of the process: one request must not cost the others
            return fault(_internal(service, request, error), 500)

    return endpoint


def _understood(request: Request) -> None:
    """Refuse who speaks another major number, except for the first exchange and the request to end.

    Raises:
        SupervisorError: both sides would misunderstand each other.
    """
    told = request.headers.get(version.PROTOCOL_HEADER)
    if told is None or request.url.path in (paths.HELLO, paths.SHUTDOWN):
        return
    theirs = version.parse_protocol(told)
    if theirs is None or not version.understands(theirs):
        raise SupervisorError(
            f"the client speaks protocol {told[:40]!r}, this supervisor {version.protocol_text()}",
            remedy="use the same version of accel-tui on both sides, or: accel-tui supervisor stop",
            code="supervisor",
        )


def _of_the_host(state: Path, error: OSError) -> AccelError | None:
    """A full or failing disk and used-up limits are states of the host; None for what should not happen."""
    if error.errno in _DISK:
        return StateFolderError(f"{state} cannot be written: {error.strerror}", remedy=FREE_SPACE)
    if error.errno in _LIMITS:
        message = f"the supervisor has reached a limit of this host: {error.strerror}"
        return SupervisorError(message, remedy="raise the limit (`ulimit -a`), then: accel-tui supervisor stop")
    return None


def _internal(service: Service, request: Request, error: Exception) -> AccelError:
    path = write_report(service.state, error, f"{request.method} {request.url.path}")
    return AccelError(f"a fault of accel-tui: {type(error).__name__}", remedy=f"the report is {path}")


def write_report(state: Path, error: BaseException, what: str) -> Path:
    """Put the traceback of an unexpected exception into a file of its own, without values of variables."""
    folder = state / "reports"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path = folder / f"{stamp}-{os.getpid()}-{time.monotonic_ns() % 1_000_000:06d}.txt"
    text = f"accel-tui {version.VERSION}\nsupervisor, {what}\n\n" + "".join(traceback.format_exception(error))
    log.error("%s: %s", what, type(error).__name__)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        _keep_newest(folder)
    except OSError as problem:
        log.error("no report could be written: %s\n%s", problem, text)  # noqa: TRY400 - `text` is the traceback that counts
    return path


def _keep_newest(folder: Path, count: int = 50) -> None:
    for old in sorted(folder.iterdir())[:-count]:
        old.unlink(missing_ok=True)
