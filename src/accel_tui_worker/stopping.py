"""Being asked to stop: signals, and the death of the launcher.

Signals are read by a thread of their own. The main thread may sit for minutes in a C call (an import, a
rendezvous that waits for a dead peer), where Python runs no handler.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui_worker.events import EventLog

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Handled even when they were inherited as ignored, as a background start from a shell script leaves them."""


class Stop:
    """Whether this rank was asked to stop, and what happens when it is.

    Until `defer` a signal ends the process at once with a `result` that says so and exit code 128 + signal. After it
    the signal only sets `requested`: the training saves and ends in its own time.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._deferred = False
        self.requested = False
        """Asked to stop after `defer`."""

    def install(self) -> None:
        """Take over the signals. Main thread only, once per process."""
        receiver, sender = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(receiver, True)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=_forget)
        for number in STOP_SIGNALS:
            signal.signal(number, _leave_to_the_thread)
            signal.siginterrupt(number, False)
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # torchrun passes a hang-up on; nohup ignores it
            signal.signal(signal.SIGHUP, _leave_to_the_thread)
        threading.Thread(target=self._listen, args=(receiver,), name="signals", daemon=True).start()

    def defer(self) -> None:
        """From now on a signal only sets `requested`."""
        self._deferred = True

    def _listen(self, receiver: int) -> None:
        while True:
            for number in os.read(receiver, 64):
                self.receive(number)

    def receive(self, number: int) -> None:
        """Act on one signal; called by the listening thread."""
        self._events.emit("signal", signal=signal.Signals(number).name)
        impatient = self.requested and number == signal.SIGINT
        if self._deferred and not impatient:
            self.requested = True
            return
        if self._events.finish(ok=False, stopped=True):
            leave(128 + number)


def _leave_to_the_thread(_number: int, _frame: object) -> None:
    """The handler itself does nothing: the wakeup descriptor has told the thread already."""


def _forget() -> None:
    """In a forked child, such as a reader of data: its signals are not those of this rank."""
    signal.set_wakeup_fd(-1)
    for number in (*STOP_SIGNALS, signal.SIGHUP):
        if signal.getsignal(number) is _leave_to_the_thread:
            signal.signal(number, signal.SIG_DFL)


def leave(code: int) -> None:
    """End the process from any thread, with what was printed so far."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # the main thread may be inside a write
            stream.flush()
    os._exit(code)


def leave_well(code: int) -> None:
    """End the process as the interpreter would, but for the taking down of C libraries.

    There torch's threads can abort a rank that is done, and the launcher would then end the others before they are.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # such as those of trackers that send what is left; there is no public way
    leave(code)


def under_launcher(launcher: str) -> bool:
    """Whether a launcher stands between the keeper and this rank.

    A direct child of the keeper must outlive the keeper, so it may not watch its parent.
    """
    return launcher in ("torchrun", "accelerate") or "TORCHELASTIC_RUN_ID" in os.environ


def watch_launcher(events: EventLog) -> None:
    """End this rank when its parent ends.

    PR_SET_PDEATHSIG follows the thread that forked, and a launcher may fork from one that ends early.
    """
    parent = os.getppid()
    threading.Thread(target=_watch, args=(events, parent), name="launcher", daemon=True).start()


def _watch(events: EventLog, parent: int) -> None:
    _wait_for_end(parent)
    message = f"the launcher (process {parent}) is gone; a rank does not go on without it"
    events.emit("error", type="LauncherDied", message=message, traceback=None)
    if events.finish(ok=False, stopped=False):
        leave(1)


def _wait_for_end(parent: int) -> None:
    try:
        descriptor = os.pidfd_open(parent)
    except OSError:  # no such call in this kernel or sandbox, or the parent ended already
        descriptor = -1
    while os.getppid() == parent:
        if descriptor < 0:
            time.sleep(1)
        else:
            select.select([descriptor], [], [], 5)
