"""A program on a terminal of its own, driven by keys, its output kept byte for byte."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType

# Runs in the new process: make the terminal its controlling one, then become the program. The environment travels as
# an argument, since a Python in a plain C locale adds to its own.
BECOME = (
    "import fcntl, json, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execvpe(sys.argv[2], sys.argv[2:], json.loads(sys.argv[1]))\n"
)


class Terminal:
    """A session leader on a pseudo terminal."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BECOME, json.dumps(environment), *argv],
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = b""
        """Everything that reached the terminal so far."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def press(self, keys: bytes) -> None:
        """Type `keys`."""
        os.write(self._master, keys)

    def read_until(self, expected: bytes, seconds: float = 30) -> bytes:
        """What arrived up to and including `expected`, counted from the last call; an error when it does not come."""
        start = getattr(self, "_position", 0)
        end = time.monotonic() + seconds
        while expected not in self.seen[start:]:
            assert time.monotonic() < end, f"{expected!r} did not appear in {self.seen[start:]!r}"
            assert self._read(), f"the terminal closed before {expected!r}: {self.seen[start:]!r}"
        self._position = self.seen.index(expected, start) + len(expected)
        return self.seen[start : self._position]

    def wait(self, seconds: float = 30) -> int:
        """Read until the program ends; its return code as subprocess gives it."""
        end = time.monotonic() + seconds
        while self._read() and time.monotonic() < end:
            continue
        return self.process.wait(timeout=max(0.1, end - time.monotonic()))

    def foreground(self) -> int:
        """The process group that the terminal's keys go to."""
        return os.tcgetpgrp(self._master)

    def hang_up(self) -> None:
        """Take the terminal away."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return True
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # the last process closed its side
            return False
        self.seen += chunk
        return bool(chunk)
