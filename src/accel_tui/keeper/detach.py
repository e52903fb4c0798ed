"""Leaving whoever started us: out of its process tree, its session and its terminal."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from accel_tui.keeper.files import decode, encode

_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = tuple(int(signo) for signo in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_LIBC = ctypes.CDLL(None, use_errno=True)


def detach() -> None:
    """Go on as an orphan in a session of our own; the process that was started ends with 0."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")  # keeps no file system busy


def let_go() -> None:
    """Close the standard input and output that whoever started us gave."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def become_subreaper() -> None:
    """Become the parent of every descendant that loses its own."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot become subreaper: {os.strerror(code)}")


def default_signals() -> None:
    """Give every signal its default again and block none, as a program expects to find them."""
    for signo in _SIGNALS:
        signal.signal(signo, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def encode_environment(environment: dict[str, str]) -> dict[bytes, bytes]:
    """The environment as bytes; a name or value with a NUL or a name with `=` cannot exist and is left out."""
    pairs = ((to_bytes(name), to_bytes(value)) for name, value in environment.items())
    return {name: value for name, value in pairs if name and b"=" not in name and b"\0" not in name + value}


def to_bytes(text: str) -> bytes:
    """UTF-8, with lone surrogates standing for bytes that are none, whatever the locale says."""
    return text.encode("utf-8", "surrogateescape")


def read_line(descriptor: int) -> bytes | None:
    """One line from a pipe; None when it ends before the line does."""
    data = bytearray()
    while not data.endswith(b"\n"):
        part = os.read(descriptor, 65536)
        if not part:
            return None
        data += part
    return bytes(data)


def start_daemon(argv: list[str], environment: dict[str, str], log: str) -> tuple[int, str | None]:
    """Start a program in a session of its own, its output appended to `log`; its pid, and what went wrong or None.

    To be called from a process with one thread that is itself detached.
    """
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid:
        os.close(sender)
        with open(receiver, "rb") as pipe:
            return pid, pipe.read().decode("utf-8", "replace") or None
    subject = argv[0]
    try:
        os.setsid()
        default_signals()
        subject = log
        nothing = os.open(os.devnull, os.O_RDWR)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        for target, descriptor in enumerate((nothing, output, output)):
            os.dup2(descriptor, target)
        subject = argv[0]
        os.execve(to_bytes(argv[0]), [to_bytes(word) for word in argv], encode_environment(environment))
    except Exception as error:  # the border of this process: the parent alone can report
        os.write(sender, f"{subject}: {error}".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(127)


def main() -> None:
    """Start what one line on standard input names, detached, and say how that went.

    The line is `{"argv", "environment", "log"}`; the environment comes this way because an argument list or a unit
    file could be read by others. Prints `{"ready": true}` before it reads and `{"started", "message", "pid"}` after.
    """
    os.write(1, encode({"ready": True}))
    line = read_line(0)
    if line is None:
        sys.exit(1)
    order = decode(line)
    detach()
    pid, message = start_daemon(order["argv"], order["environment"], order["log"])
    os.write(1, encode({"started": message is None, "message": message, "pid": pid}))
