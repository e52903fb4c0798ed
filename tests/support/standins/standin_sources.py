"""Stand-in sources for real probe processes: one that works, and one for each way to fail.

`STANDIN_ONCE` names a file: a fault happens only as long as that file does not exist, and makes it first.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from accel_tui.model.devices import Device, DeviceState, Holder, Problem, Reading, ok
from accel_tui.model.places import Places


class Well:
    """One card that answers, and counts how often it was read."""

    name = "well"
    vendor = "test"
    fault: Callable[[], None] = staticmethod(lambda: None)
    keys: tuple[str, ...] = ("pci:0000:01:00.0",)

    def __init__(self) -> None:
        self._reads = 0

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        return [
            Device(key, "test", "cpu", "Card", pci_address=key.removeprefix("pci:"), serial="S1") for key in self.keys
        ], []

    def read(self) -> dict[str, dict[str, Reading]]:
        type(self).fault()
        self._reads += 1
        return {key: {"utilization_percent": ok(float(self._reads), self.name)} for key in self.keys}

    def holders(self) -> dict[str, list[Holder]]:
        return {self.keys[0]: [Holder(os.getpid(), None, "me")]}


def _once(fault: Callable[[], None]) -> Callable[[], None]:
    def happen() -> None:
        marker = os.environ.get("STANDIN_ONCE")
        if marker is not None:
            if Path(marker).exists():
                return
            Path(marker).touch()
        fault()

    return happen


def _faulty(fault: Callable[[], None]) -> Callable[[Places], Well]:
    return lambda _places: type("Faulty", (Well,), {"fault": staticmethod(_once(fault))})()


def _chatter() -> None:
    """What a vendor library does that prints, through Python and past it, with a child of its own."""
    print('{"id": 1, "devices": []}')
    os.write(1, b"loading\n" * 3)
    subprocess.run([sys.executable, "-I", "-c", "print(input() if False else 'child')"], check=True)


def _abort() -> None:
    os.write(2, b"driver: assertion failed\n")
    os.kill(os.getpid(), signal.SIGABRT)


def _raise() -> None:
    raise RuntimeError("the library answered 0x70010000")


def _answers_fd() -> int:
    """The descriptor of the pipe to the parent: the one writable pipe that is not standard error."""
    error = os.stat(2)
    for number in range(3, 64):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        if status.st_mode & 0o170000 == 0o010000 and status.st_ino != error.st_ino and _writable(number):
            return number
    raise AssertionError("no pipe to the parent")


def _writable(number: int) -> bool:
    flags = next(
        line.split()[1] for line in Path(f"/proc/self/fdinfo/{number}").read_text().splitlines() if line[:5] == "flags"
    )
    return bool(int(flags, 8) & os.O_WRONLY)


def _flood() -> None:
    chunk = b"x" * (1 << 20)
    while True:
        os.write(_answers_fd(), chunk)


def _nonsense() -> None:
    os.write(_answers_fd(), b"\x00\xff not json\n")


def _half() -> None:
    os.write(_answers_fd(), b'{"id": 2, "readings": {"pci:0000:0')
    os._exit(3)


class Odd(Well):
    """Answers that are JSON and wrong."""

    def read(self) -> dict[str, dict[str, Reading]]:
        return {
            self.keys[0]: {
                "utilization_percent": ok(float("nan"), "odd"),
                "power_watts": ok("many", "odd"),
                "no_such_reading": ok(1.0, "odd"),
                "clock_mhz": ok(5, "odd"),
            }
        }


class TwoCards(Well):
    """A layer that sees a second card and knows that the first needs a reset."""

    name = "two"
    keys = ("pci:0000:01:00.0", "pci:0000:02:00.0")

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        first, second = super().inventory()[0]
        return [
            Device(first.key, "test", "cpu", "Other name", pci_address=first.pci_address, uuid="U1",
                   state=DeviceState.NEEDS_RESET),
            second,
        ], []  # fmt: skip


def _unkillable() -> None:
    """Leave a tracer on this process: killed, it cannot be reaped until the tracer ends, as if stuck in a driver."""
    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # let any process trace this one
    code = (
        "import ctypes, os, sys, time\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]\n"
        "result = libc.ptrace(0x4206, int(sys.argv[1]), None, None)\n"  # PTRACE_SEIZE
        "print('traced' if result == 0 else 'refused', flush=True)\n"
        "while not os.path.exists(sys.argv[2]): time.sleep(0.02)\n"
    )
    release = os.environ["STANDIN_RELEASE"]
    tracer = subprocess.Popen(
        [sys.executable, "-I", "-c", code, str(os.getpid()), release],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert tracer.stdout is not None
    Path(os.environ["STANDIN_TRACED"]).write_bytes(tracer.stdout.readline())
    time.sleep(3600)


well = _faulty(lambda: None)
chatty = _faulty(_chatter)
raising = _faulty(_raise)
hanging = _faulty(lambda: time.sleep(3600))
slow = _faulty(lambda: time.sleep(0.4))
exiting = _faulty(lambda: os._exit(7))
aborting = _faulty(_abort)
flooding = _faulty(_flood)
nonsense = _faulty(_nonsense)
half = _faulty(_half)
unkillable = _faulty(_unkillable)


def odd(_places: Places) -> Well:
    return Odd()


def two_cards(_places: Places) -> Well:
    return TwoCards()


def refusing(_places: Places) -> Well:
    raise OSError("libze_loader.so.1: cannot open shared object file")
