"""A program on a terminal that is read all the time, as an emulator does: for screens, which never stop writing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.terminal import BECOME
from support.waiting import wait_for


class LiveTerminal:
    """Runs one program in a session of its own whose terminal we hold. Everything that it writes is kept."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (120, 40), cwd: str = "/"
    ) -> None:
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.modes_before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BECOME, json.dumps(dict(environment)), *argv],
            stdin=slave, stdout=slave, stderr=slave, env=dict(environment), cwd=cwd, start_new_session=True,
        )  # fmt: skip
        self.output = b""
        self._reading = threading.Event()
        self._reading.set()
        self._closed = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def modes(self) -> list[Any]:
        """How the terminal is set now."""
        return termios.tcgetattr(self._slave)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def seen(self, text: str, *, seconds: float = 30.0) -> None:
        """Wait until `text` was written, in one piece."""
        wait_for(lambda: text.encode() in self.output, seconds=seconds, what=f"{text!r} on the terminal")

    def quiet(self, since: int, seconds: float = 0.12) -> None:
        """Wait until something was written after `since` and nothing more for a moment, or nothing at all is."""
        last, changed = since, time.monotonic()
        while time.monotonic() - changed < seconds:
            if len(self.output) != last:
                last, changed = len(self.output), time.monotonic()
            time.sleep(0.01)  # a poll interval: what is waited for is silence

    def stop_reading(self) -> None:
        """Leave what it writes unread, as a stalled link does."""
        self._reading.clear()

    def hang_up(self) -> None:
        """Take the terminal away."""
        self._closed = True
        self._reader.join(10)
        os.close(self._slave)
        os.close(self.master)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def ended(self, seconds: float = 20.0) -> int:
        """The exit code once it has ended."""
        return self.process.wait(seconds)

    def close(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGCONT)
                self.process.kill()
            self.process.wait(10)
        if not self._closed:
            self.hang_up()

    def _read(self) -> None:
        while not self._closed:
            if self._reading.wait(0.05) and select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.output += os.read(self.master, 1 << 16)
                except OSError:
                    return


@contextlib.contextmanager
def live_terminal(
    argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (120, 40), cwd: str = "/"
) -> Iterator[LiveTerminal]:
    """A program on a terminal, ended afterwards."""
    opened = LiveTerminal(argv, environment, size, cwd)
    try:
        yield opened
    finally:
        opened.close()
