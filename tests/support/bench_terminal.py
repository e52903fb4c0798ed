"""A real terminal for benchmarks: how much is written, how long a key takes, what the program costs."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence

import psutil


class Terminal:
    """A pseudo terminal of 200x50 with a program in it; all that it writes is read at once."""

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
        variables.pop("NO_COLOR", None)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=variables)
        os.close(slave)
        self.usage = psutil.Process(self.process.pid)
        self.bytes = 0
        self.tail = b""
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._ended:
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            with self._news:
                self.bytes += len(data)
                self.tail = (self.tail + data)[-400_000:]
                self._news.notify_all()

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def wait_for(self, text: bytes, seconds: float = 60.0) -> None:
        with self._news:
            if not self._news.wait_for(lambda: text in self.tail, seconds):
                raise TimeoutError(f"{text!r} was not shown in {seconds} s")

    def forget(self) -> None:
        with self._news:
            self.tail = b""

    def cpu(self) -> float:
        times = self.usage.cpu_times()
        return times.user + times.system

    def close(self) -> None:
        self._ended = True
        self.process.terminate()
        self.process.wait()
        self._reader.join()
        os.close(self.master)
