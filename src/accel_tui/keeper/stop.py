"""Ending a run: by request, by its time limit, or because its main process left others behind.

    SAVE       SIGTERM to the process that saves (rank 0's worker; for other kinds the main process)
    TERMINATE  SIGTERM to every process of the run
    KILL       SIGKILL to every process of the run, again and again until none is left

Each step is entered at most once and in this order; `--now` enters the last one directly.
"""

from __future__ import annotations

import os
import signal

from accel_tui.keeper import files, processes

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from accel_tui.keeper.launch import Main
    from accel_tui.keeper.order import Order

IDLE, SAVE, TERMINATE, KILL = range(4)

_FIRST_LINE_BYTES = 65536
_KILL_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Stop:
    """How far the ending of one run has come."""

    def __init__(self, order: Order, main: Main) -> None:
        self._order = order
        self._main = main
        self.step = IDLE
        self.cause: str | None = None
        """`stopped-by-user` or `time-limit` once a stop took effect while the main process lived."""
        self._deadline: float | None = None
        self._rounds = 0
        self._seen: tuple[int, int] | None = None

    def look(self, moment: float, *, main_alive: bool) -> bool:
        """Read `stop.json` when it is new; whether this began or hastened the stop."""
        path = self._order.path("stop.json")
        try:
            status = os.stat(path)
        except OSError:
            return False
        if self._seen == (status.st_ino, status.st_mtime_ns):
            return False
        self._seen = (status.st_ino, status.st_mtime_ns)
        try:
            document = files.read_json(path)
        except (OSError, ValueError):
            document = {}  # somebody asked; what exactly is lost
        if not isinstance(document, dict):
            document = {}
        cause = "time-limit" if document.get("cause") == "time-limit" else "stopped-by-user"
        return self.begin(moment, cause, now=bool(document.get("now")), main_alive=main_alive)

    def begin(self, moment: float, cause: str, *, now: bool, main_alive: bool) -> bool:
        """Begin the stop, or hasten one that is under way; False when it changes nothing."""
        wanted = KILL if now else SAVE
        if self.step >= wanted:
            return False
        if self.cause is None and main_alive:
            self.cause = cause
        self._enter(wanted, moment)
        return True

    def end_leftovers(self, moment: float) -> None:
        """End what the main process left behind."""
        if self.step < KILL:
            self._enter(KILL, moment)

    def main_ended(self, moment: float) -> None:
        """Go on from SAVE: nobody is left to pass the request on, a launcher's workers may be saving still."""
        if self.step == SAVE and self._deadline is not None:
            allowance = self._order.linger_seconds if self._order.worker else 0.0
            self._deadline = min(self._deadline, moment + allowance)

    def advance(self, moment: float) -> float | None:
        """Take the next step when its time has come; seconds until the next look, None when nothing is under way."""
        while self._deadline is not None and moment >= self._deadline:
            self._enter(min(self.step + 1, KILL), moment)
        return None if self._deadline is None else self._deadline - moment

    def _enter(self, step: int, moment: float) -> None:
        self.step = step
        if step == SAVE:
            self._deadline = moment + self._save()
        elif step == TERMINATE:
            self._signal_all(signal.SIGTERM, signal.SIGCONT)  # a halted process would not see the first
            self._deadline = moment + self._order.grace_seconds
        else:
            self._signal_all(signal.SIGKILL)
            self._deadline = moment + _KILL_PAUSES[min(self._rounds, len(_KILL_PAUSES) - 1)]
            self._rounds += 1

    def _save(self) -> float:
        """Ask the one process that saves; how many seconds it is given."""
        if not self._order.worker:
            sent = processes.signal_exact(self._main.pid, self._main.start, signal.SIGTERM)
            return self._order.grace_seconds if sent else 0.0
        worker = saving_worker(self._order.path("events"))
        sent = worker is not None and processes.signal_exact(*worker, signal.SIGTERM)
        return self._order.save_seconds if sent else 0.0  # no worker yet, or not any more: nothing to save

    def _signal_all(self, *signals: int) -> None:
        for pid, start in run_processes(self._order.tag):
            for signo in signals:
                processes.signal_exact(pid, start, signo)


def run_processes(tag: str) -> list[tuple[int, int]]:
    """Pid and start time of every process of the run: what descends from us, and what carries the tag."""
    below = processes.descendants(os.getpid(), tag)
    known = set(below)
    return below + [process for process in processes.tagged(tag) if process not in known]


def saving_worker(events: str) -> tuple[int, int] | None:
    """Pid and start time of rank 0's worker, from the first line of its events; None before it wrote one."""
    try:
        # The job writes here: not blocking, as a pipe in place of the file must not keep us from stopping it.
        descriptor = os.open(os.path.join(events, "rank-0.jsonl"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            line = file.readline(_FIRST_LINE_BYTES)
        event = files.decode(line)
        return int(event["pid"]), int(event["start_time"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
