"""Living beside a run: reaping, the times of its log, its time limit, requests to stop, and its end."""

from __future__ import annotations

import os
import resource  # noqa: F401 - what `os.wait4` would import at the first end, when Python may be gone
import select
import signal
import time

from accel_tui.keeper import files, locks
from accel_tui.keeper.record import time_text
from accel_tui.keeper.stop import IDLE, Stop, run_processes

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.keeper.launch import Main
    from accel_tui.keeper.order import Order

LOOK_SECONDS = 1.0
"""How often the log's size and `stop.json` are looked at."""


class Wakeup:
    """The signals that concern a watch: each wakes it, SIGTERM is remembered."""

    def __init__(self) -> None:
        self.descriptor, sender = os.pipe()
        """Becomes readable with every signal."""
        self.terminated = False
        """SIGTERM came: the keeper itself was asked to end."""
        self.hurried = False
        """SIGUSR2 came: the run is to end at once, and there was no room to write that down."""
        os.set_blocking(sender, False)
        os.set_blocking(self.descriptor, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        for signo in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            signal.signal(signo, self._note)

    def drain(self) -> None:
        """Forget what woke us."""
        try:
            while os.read(self.descriptor, 512):
                pass
        except BlockingIOError:
            return

    def _note(self, signo: int, _frame: object) -> None:
        self.terminated |= signo == signal.SIGTERM
        self.hurried |= signo == signal.SIGUSR2


class Watch:
    """From the exec of the main process until nothing of the run is left."""

    def __init__(self, order: Order, main: Main, held: list[int], claim: dict[str, str]) -> None:
        self._order = order
        self._main = main
        self._held = held
        self._claim = claim
        self.stop = Stop(order, main)
        self.status: int | None = None
        """Wait status of the main process; None while it lives."""
        self.cpu_seconds = 0.0
        self.max_rss_bytes = 0
        self.leftovers = 0
        """How many processes the main process left behind that had to be ended."""
        begun = time.monotonic()
        self._time_limit = None if order.time_limit is None else begun + order.time_limit
        self._linger: float | None = None
        self._refresh = begun + locks.REFRESH_SECONDS
        self._log_size = 0
        self._next_note = begun

    def run(self, wakeup: Wakeup) -> None:
        """Watch until nothing of the run is left."""
        poll = select.poll()
        poll.register(wakeup.descriptor, select.POLLIN)
        pause: float | None = 0.0
        while pause is not None:
            if poll.poll(pause * 1000):
                wakeup.drain()
            try:
                pause = self._turn(time.monotonic(), wakeup)
            except OSError as error:  # such as no descriptor left for a walk of /proc: better late than never
                files.remark(f"watching: {error!r}")
                pause = LOOK_SECONDS
        self._note_log_growth()

    def _turn(self, moment: float, wakeup: Wakeup) -> float | None:
        """Do what is due; seconds until the next turn, None when the run is over."""
        children = self._reap(moment)
        if moment >= self._next_note:
            self._next_note = moment + LOOK_SECONDS
            self._note_log_growth()
        self._look_for_stop(moment, wakeup)
        if self.status is not None and self._over(children):
            return None
        if self._linger is not None and moment >= self._linger:
            self._linger = None
            self._end_leftovers(moment)
        if moment >= self._refresh:
            self._refresh_locks(moment)
        waits = [LOOK_SECONDS, self.stop.advance(moment)]
        waits += [one - moment for one in (self._linger, self._time_limit) if one is not None]
        return max(0.0, min(wait for wait in waits if wait is not None))

    def _reap(self, moment: float) -> bool:
        """Take in every child that ended, adopted ones too; whether any is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * 1024)
            if pid == self._main.pid:
                self.status = status
                self._time_limit = None
                self._linger = moment + self._order.linger_seconds
                self.stop.main_ended(moment)

    def _over(self, children: bool) -> bool:
        """Whether nothing of the run is left; what has a life of its own does not count."""
        return (not children and self.stop.step == IDLE) or not run_processes(self._order.tag)

    def _end_leftovers(self, moment: float) -> None:
        if self.stop.step == IDLE:
            self.leftovers = len(run_processes(self._order.tag))
            self.stop.end_leftovers(moment)

    def _look_for_stop(self, moment: float, wakeup: Wakeup) -> None:
        alive = self.status is None
        began = self.stop.look(moment, main_alive=alive)
        if wakeup.hurried:
            wakeup.hurried = False
            began |= self._ask(moment, "stopped-by-user", "signal SIGUSR2 to the keeper", now=True)
        if alive and wakeup.terminated:
            wakeup.terminated = False
            began |= self._ask(moment, "stopped-by-user", "signal SIGTERM to the keeper")
        if self._time_limit is not None and moment >= self._time_limit:
            self._time_limit = None
            began |= self._ask(moment, "time-limit", "keeper")
        if began:
            self.report("state.json", self._order.write_state, state="stopping")

    def _ask(self, moment: float, cause: str, who: str, *, now: bool = False) -> bool:
        """Stop by our own decision: written down first, so that it completes even without us."""
        path = self._order.path("stop.json")
        if not os.path.exists(path):
            request = {"schema": 1, "now": now, "cause": cause, "requested": time_text(time.time()), "by": who}
            self.report("stop.json", files.write_json, path, request)
        return self.stop.begin(moment, cause, now=now, main_alive=self.status is None)

    def _note_log_growth(self) -> None:
        """Append time and size to `log.times` when the log has grown."""
        try:
            size = os.stat(self._order.path("log")).st_size
            if size == self._log_size:
                return
            self._log_size = size
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._order.path("log.times"), flags, 0o600)
            try:
                os.write(descriptor, f"{time.time():.3f} {size}\n".encode())
            finally:
                os.close(descriptor)
        except OSError:  # a convenience of readers; a full disk must not end the watch
            return

    def _refresh_locks(self, moment: float) -> None:
        self._refresh = moment + locks.REFRESH_SECONDS
        for remark in locks.refresh(self._order.locks, self._held, self._claim):
            files.remark(remark)

    def report(self, what: str, write: Callable[..., None], *arguments: object, **fields: object) -> None:
        """Write something that the end of the run does not depend on; a failure goes to keeper.log."""
        try:
            write(*arguments, **fields)
        except OSError as error:
            files.remark(f"{what} cannot be written: {error.strerror}")
