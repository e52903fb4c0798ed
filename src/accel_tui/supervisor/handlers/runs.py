"""Submitting runs, listing them, showing one, its log and its metrics."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from accel_tui.logs.packed import open_log, standing
from accel_tui.model.errors import FileError, RunNotFoundError, UsageError
from accel_tui.model.runs import Cause, RunResult, RunState
from accel_tui.protocol.messages import Submission, read_points, read_seconds
from accel_tui.protocol.paths import WAIT_LIMIT_SECONDS
from accel_tui.supervisor.book import RECENT_SECONDS, Entry
from accel_tui.supervisor.index import compile_name
from accel_tui.supervisor.replies import HEADERS, body, fault, peer, reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request

    from accel_tui.model.runs import Run
    from accel_tui.supervisor.service import Service

_STATES = frozenset([state.value for state in RunState] + [result.value for result in RunResult])
_CHUNK = 1 << 18


async def submit(service: Service, request: Request) -> Response:
    received = time.time()
    submission = Submission.from_json(await body(request))
    await service.book.ready()
    run, warnings = await service.submitter.submit(submission, received, peer(request))
    told = [warning.to_json() for warning in warnings]
    return reply({"schema": 1, "id": run.id, "name": run.name, "state": run.state.value, "warnings": told}, 201)


async def listing(service: Service, request: Request) -> Response:
    query = request.query_params
    state, limit = query.get("state"), query.get("limit")
    if state is not None and state not in _STATES:
        raise UsageError(f"no state {state[:80]!r}", remedy=f"states and results: {', '.join(sorted(_STATES))}")
    if limit is not None and not re.fullmatch(r"\d{1,9}", limit):
        raise UsageError("`limit` must be a whole number")
    name = compile_name(query.get("name"))
    everything = query.get("all") == "1"
    await service.book.ready_since(None if everything else time.time() - RECENT_SECONDS)
    parts = service.book.listing(
        service.book.live_documents(state, name),
        everything=everything,
        state=state,
        name=name,
        limit=None if limit is None else int(limit),
    )
    return StreamingResponse(_encoded(parts), 200, HEADERS, "application/json")


async def _encoded(parts: Iterator[str]) -> AsyncIterator[bytes]:
    """The parts, each made off the event loop."""
    while part := await asyncio.to_thread(next, parts, ""):
        yield part.encode()


async def show(service: Service, request: Request) -> Response:
    await service.book.ready(request.path_params["ref"])
    wait = read_seconds(request.query_params.get("wait"), WAIT_LIMIT_SECONDS)
    run = service.book.run(request.path_params["ref"])
    if wait:
        run = await _wait(service, run, wait)
    return reply({"schema": 1, **(await _as_it_lies(service, run)).to_json()})


async def _as_it_lies(service: Service, run: Run) -> Run:
    """A finished run, with a word where its folder does not say any more what was recorded of it."""
    if run.state is not RunState.FINISHED or run.cause is Cause.RECORD_DAMAGED:
        return run
    try:
        now = await asyncio.to_thread(service.folders.read_run, run.id)
    except RunNotFoundError:
        service.book.forget(run.id)
        raise
    if now.cause is not Cause.RECORD_DAMAGED:
        return run
    note = f"its folder was damaged since ({'; '.join(now.notes) or 'record-damaged'}); this was recorded before"
    return dataclasses.replace(run, notes=(*run.notes, note))


async def _wait(service: Service, run: Run, seconds: float) -> Run:
    """The run when it is finished, or what retries it by itself; the newest picture when the time is over."""
    end = time.monotonic() + seconds
    while True:
        successor = service.book.succeeded_by.get(run.id)
        if successor is not None:
            run = service.book.run(successor)
            continue
        entry = service.book.live.get(run.id)
        left = end - time.monotonic()
        if entry is None:
            return run
        try:
            await asyncio.wait_for(entry.finished.wait(), max(left, 0))
        except asyncio.TimeoutError:
            return entry.picture()
        run = entry.run


async def log(service: Service, request: Request) -> Response:
    """The bytes of the log, or the range that is asked for; a log that is not there yet is empty."""
    await service.book.ready(request.path_params["ref"])
    path = Path(service.book.run(request.path_params["ref"]).folder) / "log"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return await _packed_log(path, request.headers.get("range"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    size = os.fstat(descriptor).st_size
    wanted = request.headers.get("range")
    try:
        span = (0, size) if wanted is None else read_range(wanted, size)
    except UsageError as error:
        os.close(descriptor)
        answer = fault(error, 416)
        answer.headers["Content-Range"] = f"bytes */{size}"
        return answer
    headers = {**HEADERS, "Accept-Ranges": "bytes", "Content-Length": str(span[1] - span[0])}
    if wanted is not None:
        headers["Content-Range"] = f"bytes {span[0]}-{span[1] - 1}/{size}"
    status = 200 if wanted is None else 206
    return StreamingResponse(_bytes(descriptor, *span), status, headers, "application/octet-stream")


async def _packed_log(path: Path, wanted: str | None) -> Response:
    """The same of a log that was compressed since; nothing where there is none."""
    if standing(path) == path:
        return Response(b"", 200, {**HEADERS, "Accept-Ranges": "bytes"}, "application/octet-stream")
    source = await asyncio.to_thread(open_log, path)
    size = source.size()
    try:
        begin, end = (0, size) if wanted is None else read_range(wanted, size)
    except UsageError as error:
        source.close()
        answer = fault(error, 416)
        answer.headers["Content-Range"] = f"bytes */{size}"
        return answer

    async def pieces() -> AsyncIterator[bytes]:
        place = begin
        try:
            while place < end and (data := await asyncio.to_thread(source.read, place, min(1 << 20, end - place))):
                place += len(data)
                yield data
        finally:
            source.close()

    headers = {**HEADERS, "Accept-Ranges": "bytes", "Content-Length": str(end - begin)}
    if wanted is not None:
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    return StreamingResponse(pieces(), 200 if wanted is None else 206, headers, "application/octet-stream")


def read_range(text: str, size: int) -> tuple[int, int]:
    """Start and end (exclusive) of a single range of bytes.

    Raises:
        UsageError: it is none, or lies outside of `size` bytes.
    """
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", text.strip())
    if match is None or not (match[1] or match[2]):
        raise UsageError(f"no range of bytes: {text[:80]!r}")
    if not match[1]:
        start, end = max(0, size - int(match[2])), size
    else:
        start, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
    if start >= end:
        raise UsageError(f"the range lies outside of {size} bytes")
    return start, end


async def _bytes(descriptor: int, start: int, end: int) -> AsyncIterator[bytes]:
    try:
        while start < end:
            chunk = await asyncio.to_thread(os.pread, descriptor, min(_CHUNK, end - start), start)
            if not chunk:  # cut short meanwhile: the promised length is kept
                chunk = bytes(min(_CHUNK, end - start))
            start += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


async def metrics(service: Service, request: Request) -> Response:
    """The curves; `devices=0` leaves the devices' readings out, `points` is the most of one curve."""
    query = request.query_params
    devices, most = query.get("devices") != "0", read_points(query.get("points"))
    await service.book.ready(request.path_params["ref"])
    found = service.book.get(request.path_params["ref"])
    run = found.picture() if isinstance(found, Entry) else found
    return reply(await service.run_metrics(run, devices=devices, most=most))
