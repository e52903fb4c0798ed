"""A client of one supervisor: it starts one when needed, asks, waits and subscribes."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.client import starting
from accel_tui.client.transport import SocketConnection
from accel_tui.config.state import demo_folder
from accel_tui.model.devices import Inventory
from accel_tui.model.errors import SupervisorError, UsageError, error_from_json
from accel_tui.protocol import messages, paths, version
from accel_tui.store.identifiers import new_id

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from accel_tui.config.settings import Settings
    from accel_tui.model.orphans import Orphan
    from accel_tui.model.plans import Check, Plan
    from accel_tui.model.runs import Run
    from accel_tui.protocol import sse

_ABSENT = (ConnectionRefusedError, FileNotFoundError)
"""Nobody listens."""
_GONE = (ConnectionError, FileNotFoundError, http.client.BadStatusLine, http.client.IncompleteRead)
"""The supervisor ended, before or while it was asked."""


class UnansweredError(SupervisorError):
    """A supervisor that was asked to change something went away: whether it did is not known."""


class Client:
    """Asks the supervisor of one state folder; not to be shared between threads.

    Every method may raise SupervisorError (it does not answer, or not in 10 s), and the refusals that the supervisor
    gives, as the exceptions of `model.errors`.
    """

    def __init__(
        self,
        state_dir: str | Path,
        demo: str | None = None,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        may_start: bool = True,
    ) -> None:
        """`state_dir` is the state folder; with `demo` the demonstration's own folder below it is meant.

        `settings` is only compared with the supervisor's; a started supervisor gets `environment`.
        """
        self.demo = demo
        self.state_dir = str(state_dir) if demo is None else str(demo_folder(Path(state_dir), demo))
        """The folder in force, with socket and runs."""
        self.base_dir = str(state_dir)
        """The state folder itself, also for a demonstration."""
        self.greeting: dict[str, Any] | None = None
        """The supervisor's answer to the first exchange; None before it."""
        self._environment = dict(environment or {})
        self._headers = {version.PROTOCOL_HEADER: version.protocol_text(), version.VERSION_HEADER: version.VERSION}
        if settings is not None:
            self._headers[version.SETTINGS_HEADER] = version.settings_digest(settings.to_json())
        self._may_start = may_start
        self._link: SocketConnection | None = None
        self._ear: SocketConnection | None = None
        self.unread = 0
        """How many ended runs the last list of `runs` lacked, because the supervisor was still reading them."""

    def connect(self, start: bool | None = None) -> dict[str, Any]:
        """Reach the supervisor, start it when none listens, and compare versions; returns its greeting.

        An older supervisor is replaced; a newer one is talked to while the protocol's major number agrees.
        """
        start = self._may_start if start is None else start
        greeting = self._greet(start)
        if start and version.is_newer(version.VERSION, str(greeting.get("version", "0"))):
            greeting = self._replace()
        theirs = greeting.get("protocol")
        if not isinstance(theirs, list) or len(theirs) != 2 or not version.understands((theirs[0], theirs[1])):
            raise SupervisorError(
                f"the supervisor speaks protocol {theirs}, this accel-tui {version.protocol_text()}",
                remedy="use the newer accel-tui, or end the supervisor with `accel-tui supervisor stop`",
            )
        self.greeting = greeting
        return greeting

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One exchange; the reply's JSON object.

        A supervisor that was replaced meanwhile is reconnected to. A request that changes something is sent again only
        when the link broke before it can have been read.
        """
        status, raw, _ = self.exchange(method, path, body)
        return _document(status, raw)

    def exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """One exchange as it is: status, bytes and headers of the reply."""
        payload = None if body is None else messages.dump(body).encode()
        if payload is not None and len(payload) > paths.BODY_LIMIT:
            raise UsageError(f"the request has {len(payload)} bytes, more than {paths.BODY_LIMIT}")
        if self.greeting is None:
            self.connect()
        try:
            return self._send(method, path, payload, headers or {})
        except _GONE as error:
            # What changes something is sent again only when nobody can have read it.
            if method != "GET" and not isinstance(error, _ABSENT):
                raise UnansweredError(
                    f"the supervisor went away before it answered {method} {path}",
                    remedy="look with `accel-tui runs` whether it was done, before you ask again",
                ) from None
        self.connect()
        try:
            return self._send(method, path, payload, headers or {})
        except _GONE as error:
            raise self._silent(f"the link to the supervisor broke: {error}") from None

    def _send(
        self, method: str, path: str, payload: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, Mapping[str, str]]:
        link = self._link = self._usable_link()
        sent = {**self._headers, **headers}
        if payload is not None:
            sent["Content-Type"] = "application/json"
        try:
            link.request(method, path, body=payload, headers=sent)
            response = link.getresponse()
            raw = response.read()
        except _GONE:
            self.close()
            raise
        except TimeoutError:
            self.close()
            raise self._silent(f"the supervisor did not answer for {paths.SILENCE_SECONDS:.0f} s") from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._silent(f"the supervisor cannot be reached: {error!r}") from None
        return response.status, raw, {name.lower(): value for name, value in response.getheaders()}

    def _usable_link(self) -> SocketConnection:
        """The kept connection, or a new one where the other side has closed it meanwhile."""
        if self._link is not None and self._link.is_closed_by_peer():
            self.close()
        return self._link or SocketConnection(self.state_dir)

    def _greet(self, start: bool) -> dict[str, Any]:
        """The first exchange. Attempts are repeated, because a supervisor may be just about to end."""
        for last in (False, False, True):
            try:
                status, raw, _ = self._send("GET", paths.HELLO, None, {})
                return _document(status, raw)
            except _ABSENT:
                if not start:
                    raise self._nobody() from None
                self._start()
            except _GONE as error:
                if last:
                    raise self._silent(f"the supervisor went away: {error}") from None
        raise self._silent("the supervisor ends as soon as it is started")

    def _replace(self) -> dict[str, Any]:
        status, raw, _ = self._send("POST", paths.SHUTDOWN, b"{}", {})
        _document(status, raw)
        self.close()
        if not starting.wait_gone(self.state_dir):
            raise self._silent("the older supervisor does not end")
        return self._greet(start=True)

    def _start(self) -> None:
        starting.start_and_wait(self.state_dir, self.base_dir, self.demo, self._environment)

    def _nobody(self) -> SupervisorError:
        if starting.lock_held(self.state_dir):
            return self._silent("a supervisor runs and does not listen")
        return SupervisorError("no supervisor runs", remedy="any verb that needs one starts it", code="no-supervisor")

    def _silent(self, message: str) -> SupervisorError:
        return SupervisorError(message, remedy=starting.log_remedy(self.state_dir))

    # The requests, one method each.

    def hello(self) -> dict[str, Any]:
        """Version, protocol, pid, host, demo, settings, queued, running, started."""
        return self.request("GET", paths.HELLO)

    def devices(self, wait: float = 2.5) -> Inventory:
        """The inventory; waits up to `wait` seconds for the first complete sample of every source."""
        return Inventory.from_json(self.request("GET", paths.with_query(paths.DEVICES, {"wait": wait})))

    def devices_history(
        self,
        seconds: float,
        *,
        devices: Sequence[str] | None = None,
        readings: Sequence[str] | None = None,
        points: int | None = None,
    ) -> dict[str, dict[str, list[list[float | None]]]]:
        """What was recorded in the last `seconds`: by key and reading, `[time, value]` oldest first.

        Args:
            devices: Keys; None for all.
            readings: Names; None for all.
            points: The most of one series; each then stands for an equal span of time.
        """
        chosen = {
            name: None if of is None else ",".join(of) for name, of in (("devices", devices), ("readings", readings))
        }
        query = paths.with_query(paths.HISTORY, {"seconds": seconds, **chosen, "points": points})
        found: dict[str, dict[str, list[list[float | None]]]] = self.request("GET", query)["devices"]
        return found

    def plan(self, submission: messages.Submission) -> Plan:
        from accel_tui.model.plans import Plan

        return Plan.from_json(self.request("POST", paths.PLAN, submission.to_json()))

    def check(self, submission: messages.Submission) -> tuple[Check, ...]:
        from accel_tui.model.plans import Check

        checks = self.request("POST", paths.CHECK, submission.to_json())["checks"]
        return tuple(Check.from_json(check) for check in checks)

    def submit(self, submission: messages.Submission) -> dict[str, Any]:
        """Queue a run; `{"schema", "id", "name", "state"}` once its folder is on disk.

        Where the supervisor goes away before it answered, the next one is asked again: it knows whether it has the run.

        Raises CheckRefusedError, DeviceAbsentError, FileError, UsageError as the supervisor judges.
        """
        body = {**submission.to_json(), "id": submission.id or new_id()}
        try:
            return self.request("POST", paths.RUNS, body)
        except UnansweredError:
            return self.request("POST", paths.RUNS, body)

    def runs(
        self, *, everything: bool = False, state: str | None = None, name: str | None = None, limit: int | None = None
    ) -> list[Run]:
        """Runs, newest first: live ones and those of the last 7 days, or all; `name` is a regular expression."""
        from accel_tui.model.runs import Run

        query = {"all": everything, "state": state, "name": name, "limit": limit}
        document = self.request("GET", paths.with_query(paths.RUNS, query))
        self.unread = int(document.get("unread", 0))
        return [Run.from_json(run) for run in document["runs"]]

    def run(self, ref: str, wait: float | None = 0.0) -> Run:
        """The run; with `wait` (seconds, None without end) the answer comes when it and its retries are finished."""
        from accel_tui.model.runs import Run, RunState

        end = None if wait is None else time.monotonic() + wait
        while True:
            left = paths.WAIT_LIMIT_SECONDS if end is None else min(paths.WAIT_LIMIT_SECONDS, end - time.monotonic())
            query = {"wait": round(left, 3) if left > 0 else None}
            run = Run.from_json(self.request("GET", paths.with_query(paths.run(ref), query)))
            if run.state is RunState.FINISHED or left < paths.WAIT_LIMIT_SECONDS:
                return run
            ref = run.id

    def stop(self, ref: str, *, now: bool = False) -> dict[str, Any]:
        """Ask the run to end; the run, and `note` where nothing was to be done."""
        return self.request("POST", paths.run(ref, "stop"), {"now": now})

    def hold(self, ref: str, reason: str = "held by the user") -> dict[str, Any]:
        return self.request("POST", paths.run(ref, "hold"), {"reason": reason})

    def release(self, ref: str, secrets: Mapping[str, str] | None = None) -> dict[str, Any]:
        return self.request("POST", paths.run(ref, "release"), {"secrets": dict(secrets or {})})

    def move(self, ref: str, *, before: str | None = None) -> dict[str, Any]:
        """Put a queued run first, or right before another one."""
        return self.request("POST", paths.run(ref, "move"), {"first": True} if before is None else {"before": before})

    def remove(self, ref: str) -> dict[str, Any]:
        return self.request("DELETE", paths.run(ref))

    def orphans(self) -> tuple[Orphan, ...]:
        """Processes that hold a device, or are left of a run, and that nobody looks after."""
        from accel_tui.model.orphans import Orphan

        return tuple(Orphan.from_json(one) for one in self.request("GET", paths.ORPHANS)["orphans"])

    def end_orphan(self, orphan: Orphan, *, now: bool = False) -> dict[str, Any]:
        """Ask one of our own orphans to end; it is killed after the grace time. `orphans` tells when it is gone."""
        body = {"start_time": orphan.start_time, "now": now}
        return self.request("POST", f"{paths.ORPHANS}/{orphan.pid}/end", body)

    def prunable(self, older_than: float, keep: int = 0) -> tuple[list[Run], list[dict[str, str]]]:
        """Finished runs that ended that many seconds ago, oldest first, and those of them that are still needed.

        The latter are `{"id", "name", "reason"}`. The `keep` newest are in neither. `remove` deletes one.
        """
        from accel_tui.model.runs import Run

        query = paths.with_query(paths.PRUNABLE, {"older_than": str(older_than), "keep": keep or None})
        document = self.request("GET", query)
        return [Run.from_json(run) for run in document["runs"]], document["kept"]

    def take_slot(self, name: str) -> None:
        """Have a CPU slot for the session that holds the lock `name`; NotPossibleError says what it waits for."""
        self.request("POST", paths.SESSIONS, {"name": name})

    def run_metrics(self, ref: str, *, devices: bool = True, points: int | None = None) -> dict[str, Any]:
        """The `metrics` document of a run; with `points`, that many of a curve at most."""
        query = {"devices": None if devices else "0", "points": points}
        return self.request("GET", paths.with_query(paths.run(ref, "metrics"), query))

    def log(self, ref: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes `start` to `end` (exclusive; None is the end) of a run's log; empty past its end."""
        if end is not None and end <= start:
            return b""
        wanted = f"bytes={start}-" + ("" if end is None else str(end - 1))
        status, raw, _ = self.exchange("GET", paths.run(ref, "log"), headers={"Range": wanted})
        if status == 416:
            return b""
        if status not in (200, 206):
            _document(status, raw)
        return raw

    def metrics(self) -> str:
        """The supervisor's figures in OpenMetrics text."""
        status, raw, _ = self.exchange("GET", paths.METRICS)
        if status != 200:
            _document(status, raw)
        return raw.decode()

    def shutdown(self) -> None:
        """End the supervisor alone and return when it is gone; runs go on, queued ones wait."""
        self.request("POST", paths.SHUTDOWN, {})
        self.close()
        if not starting.wait_gone(self.state_dir):
            raise self._silent("the supervisor was asked to end and is still there")

    def events(self) -> Generator[sse.Event, None, None]:
        """Events, beginning with `snapshot`; after a lost link it reconnects and a `snapshot` comes again.

        Raises:
            SupervisorError: the link was lost and no supervisor can be reached or started any more.
        """
        pause = 0.05
        while True:
            self.connect()
            for event in self.listen():
                pause = 0.05
                if event is not None:
                    yield event
            time.sleep(pause)
            pause = min(pause * 2, 5.0)

    def listen(self) -> Iterator[sse.Event | None]:
        """The events of one link, None for a sign of life between them.

        Ends when the link breaks, falls silent or is hung up: what follows tells whether anyone answers.
        """
        from accel_tui.protocol import sse

        link = self._ear = SocketConnection(self.state_dir)
        decoder = sse.Decoder()
        with contextlib.closing(link), contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            link.request("GET", paths.EVENTS, headers=self._headers)
            response = link.getresponse()
            if response.status != 200:
                _document(response.status, response.read())
            while chunk := response.read1(1 << 16):
                yield from decoder.feed(chunk)

    def hang_up(self) -> None:
        """End `listen`; the one method that another thread may call."""
        ear = self._ear
        if ear is not None and ear.sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                ear.sock.shutdown(socket.SHUT_RDWR)


def _document(status: int, raw: bytes) -> dict[str, Any]:
    """The reply's object, or the exception that it stands for."""
    try:
        document = messages.read_object(raw)
    except UsageError as error:
        raise SupervisorError(f"the supervisor's answer is broken: {error.message}") from None
    if status >= 300:
        fault = document.get("error")
        raise error_from_json(fault if isinstance(fault, dict) else {"message": f"the supervisor answered {status}"})
    return document
