"""The parent side of a probe: starts it, asks with a deadline, replaces it when it fails.

    absent ──ask──▶ alive ──deadline missed, crash, garbage──▶ ending ──reaped──▶ absent
                                                                 └─ still in the kernel: no new one is started

A process that hangs in a driver call does not die when killed. As long as it is not reaped a second one would only hang
as well and pile up; until then every question is refused at once. Failures in a row back off.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.presence import is_there
from accel_tui.devices.provider import Answer, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.devices.registry import SourceEntry
    from accel_tui.model.places import Places

_SOURCE_FOLDER = str(Path(__file__).resolve().parents[2])
_BOOT = "import sys; sys.path.insert(0, {path!r}); from accel_tui.devices.probe import main; main()"
_ANSWER_LIMIT = 8 << 20
_REAP_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_LONGEST_REST = 15.0
"""Of a source whose process is well: a question costs less than a new process."""


class ProbeError(Exception):
    """A question that got no answer; `code` is `broken`, `hung`, `stuck`, `crashed`, `garbage` or `raised`, or the
    source's own.
    """

    def __init__(self, code: str, message: str, *, remedy: str | None = None, longest: float = _LONGEST_PAUSE) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.longest = longest
        """Seconds that the growing pauses may reach; 0: the source is asked again at the usual pace."""


class Probe:
    """One source's probe process, started at the first question and again after a failure.

    Used from one event loop. Questions are put one at a time.
    """

    def __init__(
        self,
        entry: SourceEntry,
        places: Places,
        *,
        environment: Mapping[str, str] | None = None,
        deadlines: Deadlines | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.entry = entry
        self._places = places
        self._environment = environment
        self._deadlines = deadlines or entry.deadlines or Deadlines()
        self._clock = clock
        self._process: _Process | None = None
        self._ending: _Process | None = None
        self._failure: ProbeError | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._listed = Answer()

    def is_wanted(self) -> bool:
        """Whether the host has anything for this source to see; looks at files alone."""
        presence, environment = self.entry.presence, self._environment
        return presence is None or is_there(presence, self._places, environment)

    @property
    def pid(self) -> int | None:
        """The living process, None between two."""
        return None if self._process is None else self._process.popen.pid

    @property
    def failure(self) -> ProbeError | None:
        """Why the last question got no answer; None after a good one."""
        return self._failure

    @property
    def retry_in(self) -> float:
        """Seconds until a question is tried again after failures; 0 when at once."""
        return max(0.0, self._retry_at - self._clock())

    def retry_now(self) -> None:
        """Forget the back-off: a person asked."""
        self._retry_at = 0.0

    async def ask(self, question: str) -> Answer:
        """Put one question (`inventory`, `read`, `holders`) within its deadline.

        Raises:
            ProbeError: there is no answer; the process has been replaced or will be.
        """
        if self._failure is not None and self.retry_in > 0:
            raise self._failure
        try:
            process = await self._alive()
            answer = await self._exchange(process, question)
        except ProbeError as error:
            self._failed(error)
            raise
        self._failure, self._failures = None, 0
        return answer

    async def close(self) -> None:
        """End the process; one that is stuck in the kernel is left to die."""
        if self._process is not None:
            await self._end()
        elif self._ending is not None:
            await self._let_go(self._ending)

    async def _alive(self) -> _Process:
        if self._ending is not None:
            if not self._ending.gone():
                raise ProbeError("stuck", self._stuck_words(self._ending))
            self._ending = None
        if self._process is None:
            process = self._process = _Process(self.entry, self._environment)
            hello = {
                "module": self.entry.module,
                "attribute": self.entry.attribute,
                "paths": [self.entry.path] if self.entry.path else [],
                "places": self._places.to_json(),
            }
            reply = await self._line(process, hello, self._deadlines.start, "starting")
            if not reply.get("ready"):
                await self._end()
                raise ProbeError("broken", str(reply.get("broken") or reply)[:2000])
        return self._process

    async def _exchange(self, process: _Process, question: str) -> Answer:
        process.number += 1
        request = {"id": process.number, "ask": question}
        reply = await self._line(process, request, getattr(self._deadlines, question), question)
        if reply.get("id") != process.number:
            await self._end()
            raise ProbeError("garbage", f"answered something else than was asked: {str(reply)[:200]}")
        if "error" in reply:
            remedy = None if reply.get("remedy") is None else str(reply["remedy"])[:2000]
            code, longest = str(reply.get("code", "raised")), _LONGEST_REST if reply.get("rests") else 0.0
            raise ProbeError(code, str(reply["error"])[:2000], remedy=remedy, longest=longest)
        if reply.get("same"):
            return self._listed
        try:
            answer = decode(reply)
        except ValueError as error:
            raise ProbeError("garbage", str(error)[:2000]) from error
        if question == "inventory":
            self._listed = answer
        return answer

    async def _line(self, process: _Process, request: dict[str, Any], deadline: float, what: str) -> dict[str, Any]:
        try:
            line = await process.exchange(json.dumps(request), deadline)
            reply = _object(line)
        except asyncio.TimeoutError:
            stuck = await self._end()
            words = f"{what} did not finish within {deadline:g} s"
            if stuck is not None:
                raise ProbeError("stuck", f"{words}; {self._stuck_words(stuck)}") from None
            raise ProbeError("hung", f"{words}; its process was replaced") from None
        except EOFError:
            await self._end()
            words = f"its process ended while {what} ({process.exit_words()})"
            raise ProbeError("crashed", ": ".join([words, *process.last_words()])) from None
        except (ValueError, RecursionError) as error:
            await self._end()
            raise ProbeError("garbage", f"its answer to {what} cannot be read: {error}"[:500]) from None
        except asyncio.CancelledError:
            process.kill()  # an answer that nobody waits for would be taken for the next one
            self._process, self._ending = None, process
            raise
        return reply

    async def _end(self) -> _Process | None:
        """Kill the process and wait for it a moment; returns it when the kernel does not let it go."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        self._ending = process  # also when we are cancelled while we wait
        if not await self._let_go(process):
            return process
        self._ending = None
        return None

    @staticmethod
    async def _let_go(process: _Process) -> bool:
        """Wait a moment for a killed process; whether the kernel let it go."""
        end = time.monotonic() + _REAP_SECONDS
        while not process.gone() and time.monotonic() < end:
            await asyncio.sleep(0.01)
        return process.gone()

    def _failed(self, error: ProbeError) -> None:
        self._failure = error
        if not error.longest:
            return
        pause = min(error.longest, _FIRST_PAUSE * 2**self._failures)
        self._failures = min(self._failures + 1, 10)
        self._retry_at = self._clock() + pause

    @staticmethod
    def _stuck_words(process: _Process) -> str:
        return f"its process {process.popen.pid} was killed and is still in the kernel ({process.kernel_state()})"


def _present(*streams: IO[bytes] | None) -> tuple[IO[bytes], ...]:
    return tuple(stream for stream in streams if stream is not None)


def _object(line: bytes) -> dict[str, Any]:
    reply = json.loads(line)
    if not isinstance(reply, dict):
        raise ValueError("not an object")  # noqa: TRY004 - one kind of error for everything that cannot be read
    return reply


def _session(leader: int) -> list[int]:
    """The other processes of a session, as the real /proc shows them now."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        try:
            fields = Path(f"/proc/{entry.name}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended while we looked
            continue
        if fields[3:4] == [str(leader)] and int(entry.name) != leader:
            found.append(int(entry.name))
    return found


class _Process:
    """A started probe process with its pipes, read on the event loop.

    Not `asyncio.subprocess`: its child watchers wait in a blocking call for a process that may never be reaped.
    """

    def __init__(self, entry: SourceEntry, environment: Mapping[str, str] | None) -> None:
        self.number = 0
        self._errors = b""
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._waiting: asyncio.Future[bytes] | None = None
        try:
            self.popen = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT.format(path=_SOURCE_FOLDER), entry.label],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if environment is None else dict(environment),
                bufsize=0,
                cwd="/",
                start_new_session=True,  # so that a vendor tool it started is killed with it
            )
        except OSError as error:
            raise ProbeError("broken", f"its process cannot be started: {error}") from error
        self._stdin, self._stdout, self._stderr = _present(self.popen.stdin, self.popen.stdout, self.popen.stderr)
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._loop.add_reader(self._stdout.fileno(), self._on_output)
        self._loop.add_reader(self._stderr.fileno(), self._on_error_output)

    async def exchange(self, request: str, deadline: float) -> bytes:
        """Send one line and wait for one.

        Raises:
            asyncio.TimeoutError: none came within `deadline` seconds.
            EOFError: the process ended.
            ValueError: the answer is longer than any answer, or came unasked.
        """
        if self._buffer:
            raise ValueError(f"output that nobody asked for: {bytes(self._buffer[:100])!r}")
        if self._ended:
            raise EOFError
        try:
            os.write(self._stdin.fileno(), request.encode() + b"\n")  # far below the size of a pipe
        except OSError:
            raise EOFError from None
        waiting: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting = waiting
        # Not `wait_for`: before Python 3.12 it can swallow a cancellation.
        timer = self._loop.call_later(deadline, self._expire)
        try:
            return await waiting
        finally:
            timer.cancel()

    def kill(self) -> None:
        """SIGKILL to the process and what it started, and close our ends of the pipes."""
        if not self._stderr.closed:
            self._on_error_output()  # the words of a crash may come after the end of its output
            self._loop.remove_reader(self._stdout.fileno())
            self._loop.remove_reader(self._stderr.fileno())
        if self.popen.returncode is None:
            tools = _session(self.popen.pid)  # before it dies: a tool of it may have a group of its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
            for pid in tools:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()

    def gone(self) -> bool:
        """Whether the kernel has let go of it; reaps it."""
        return self.popen.poll() is not None

    def exit_words(self) -> str:
        code = self.popen.poll()
        if code is None:
            return "closed its pipe"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def last_words(self) -> list[str]:
        """The last line of its standard error, if any."""
        return [line.strip()[:500] for line in self._errors.decode("utf-8", "replace").strip().splitlines()[-1:]]

    def kernel_state(self) -> str:
        """Such as `state D`, from the real /proc: it is our own child."""
        try:
            stat = Path(f"/proc/{self.popen.pid}/stat").read_text()
        except OSError:
            return "state unknown"
        return f"state {stat.rpartition(')')[2].split()[0]}"

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(asyncio.TimeoutError())

    def _on_output(self) -> None:
        chunk = self._read(self._stdout)
        if chunk is None:
            return
        self._buffer += chunk
        self._ended = not chunk
        waiting = self._waiting
        if waiting is None or waiting.done():
            if len(self._buffer) > _ANSWER_LIMIT or not chunk:  # told at the next question
                self._loop.remove_reader(self._stdout.fileno())
            return
        end = self._buffer.find(b"\n", max(0, len(self._buffer) - len(chunk)))
        if end >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            waiting.set_result(line)
        elif not chunk:
            self._loop.remove_reader(self._stdout.fileno())
            waiting.set_exception(EOFError())
        elif len(self._buffer) > _ANSWER_LIMIT:
            waiting.set_exception(ValueError(f"more than {_ANSWER_LIMIT >> 20} MiB without an end"))

    def _on_error_output(self) -> None:
        chunk = self._read(self._stderr)
        if chunk is None:
            return
        if not chunk:
            self._loop.remove_reader(self._stderr.fileno())
            return
        self._errors = (self._errors + chunk)[-2000:]

    @staticmethod
    def _read(stream: IO[bytes]) -> bytes | None:
        try:
            return os.read(stream.fileno(), 1 << 16)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""
