"""How the screen ends from outside: signals, a terminal that is gone, a terminal that nobody reads.

The event loop cannot be relied on for this: a terminal that does not read what is written stops it. So a thread watches
the terminal, and when the loop does not end in time it puts the terminal back itself and ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

PATIENCE_SECONDS = 3.0
"""How long an orderly end may take once it was asked for from outside."""
_POLL_MILLISECONDS = 1000
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_RESTORE = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l"  # paste brackets, line wrap, resize reports
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"  # keyboard protocol, alternate screen, cursor, focus reports
)
"""Undoes every mode that Textual's driver sets."""


class Endings:
    """Watches for the end from outside while an application runs; a context manager."""

    def __init__(self, terminal: int | None = None) -> None:
        """`terminal` is the descriptor of the terminal; by default that of standard input."""
        self._terminal = sys.__stdin__.fileno() if terminal is None and sys.__stdin__ is not None else terminal or 0
        self._leave: Callable[[int], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = threading.Event()
        self._over = threading.Event()
        self._code = 0
        self._before: dict[int, Any] = {}
        self._modes: list[Any] | None = None

    def __enter__(self) -> Endings:
        with contextlib.suppress(termios.error):
            self._modes = termios.tcgetattr(self._terminal)
        for number in _SIGNALS:
            # Whoever ignores SIGHUP (nohup) wants to outlive a terminal; a screen without one is of no use to anybody,
            # and the watch of the terminal ends it. The signal itself stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, name="accel-tui watches its terminal", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def attach(self, loop: asyncio.AbstractEventLoop, leave: Callable[[int], None]) -> None:
        """Have `leave(exit code)` called in `loop` when the end is asked for."""
        self._loop, self._leave = loop, leave
        if self._asked.is_set():
            self._pass_on()

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._ask(128 + number)

    def _ask(self, code: int) -> None:
        if not self._asked.is_set():
            self._code = code
            self._asked.set()
            self._pass_on()

    def _pass_on(self) -> None:
        if self._loop is not None and self._leave is not None:
            with contextlib.suppress(RuntimeError):  # it is closed: the end is already there
                self._loop.call_soon_threadsafe(self._leave, self._code)

    def _watch(self) -> None:
        terminal = select.poll()
        terminal.register(self._terminal, 0)  # only that it is gone
        while not self._over.is_set() and not self._asked.is_set():
            if terminal.poll(_POLL_MILLISECONDS):
                self._ask(128 + signal.SIGHUP)
        if self._asked.is_set() and not self._over.wait(PATIENCE_SECONDS):
            self._end_now()

    def _end_now(self) -> None:
        """The loop is stuck: put the terminal back without waiting for it, and end."""
        with contextlib.suppress(OSError):
            # A description of its own: the flag must not stay with the shell's.
            terminal = os.open(os.ttyname(self._terminal), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            os.write(terminal, _RESTORE)
        if self._modes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
        os._exit(self._code)
