"""Starting the main process of a run, and holding the ports that its launcher was promised."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time

from accel_tui.keeper import limits, processes
from accel_tui.keeper.detach import default_signals, encode_environment, to_bytes

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

_LOWEST_INHERITED = 64  # out of the way of shell scripts, which like to use 3 to 9
_OOM_SCORE = b"500"  # ends before us and before the user's shell when memory runs out


class LaunchError(Exception):
    """The main process could not be started; the message names the file and the reason."""


class PortTaken(Exception):  # noqa: N818 - a state of the host, not a fault
    """Another process has a port of the plan; another plan gets other ports."""


class Main:
    """The main process of a run."""

    def __init__(self, pid: int, start: int, started_at: float) -> None:
        self.pid = pid
        self.start = start
        """Field 22 of its stat file."""
        self.started_at = started_at
        """Seconds since the epoch, taken when the exec was known to have succeeded."""


def hold_ports(ports: Iterable[int]) -> list[socket.socket]:
    """Bind loopback ports without listening.

    With SO_REUSEADDR on both sides a launcher can still bind and listen; whoever asks for any free port never gets
    one of these.

    Raises:
        PortTaken: another process listens on one of them.
    """
    held = []
    for port in ports:
        keep = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        held.append(keep)
        keep.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            keep.bind(("127.0.0.1", port))
        except OSError as error:
            for other in held:
                other.close()
            raise PortTaken(f"port {port} cannot be held: {error.strerror}") from None
    return held


def launch(
    argv: Sequence[str],
    environment: dict[str, str],
    cwd: str,
    *,
    log: str,
    tag: str,
    locks: Sequence[int],
    umask: int = 0o077,
    resources: dict[str, tuple[int, int]] | None = None,
) -> Main:
    """Start the main process in a session of its own; returns when it executes its program.

    `resources` are its limits, as `limits.parse` gives them; what cannot be had is told in our own log.

    It gets `/dev/null` as standard input, the log as output and error, and of our other descriptors only `locks`.

    Raises:
        LaunchError: the working folder, the program or the log cannot be used.
    """
    words = [to_bytes(word) for word in argv]
    if any(b"\0" in word for word in words):
        raise LaunchError("an argument holds a NUL byte, which no program can be given")
    variables = encode_environment({**environment, processes.TAG: tag})
    variables.pop(processes.OWN.encode(), None)
    try:
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LaunchError(f"{log}: {error.strerror}") from None
    receiver, sender = os.pipe()
    pid = os.fork()
    if not pid:
        os.umask(umask)
        _become(words, variables, to_bytes(cwd), output=output, locks=locks, sender=sender, resources=resources or {})
    os.close(sender)
    os.close(output)
    with open(receiver, "rb") as pipe:
        fault = pipe.read()  # ends at the exec, which closes the other side
    started_at = time.time()
    if fault:
        os.waitpid(pid, 0)
        raise LaunchError(fault.decode("utf-8", "replace"))
    return Main(pid, processes.start_time(pid) or 0, started_at)


def _become(
    words: list[bytes],
    variables: dict[bytes, bytes],
    cwd: bytes,
    *,
    output: int,
    locks: Sequence[int],
    sender: int,
    resources: dict[str, tuple[int, int]],
) -> NoReturn:
    """Turn the forked child into the main process; never returns."""
    try:
        os.setsid()
        default_signals()
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(_OOM_SCORE)
        lowest = min(_LOWEST_INHERITED, limits.open_files() // 2)
        own_log = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, lowest)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, descriptor in enumerate((nothing, output, output)):
            os.dup2(descriptor, target)
        kept = [fcntl.fcntl(lock, fcntl.F_DUPFD, lowest) for lock in locks]
        _close_all_but({*kept, sender, own_log})
        try:
            os.chdir(cwd)
        except OSError as error:
            _tell(sender, b"the working folder " + cwd, os.strerror(error.errno or 0))
        for missed in limits.apply(resources):  # last of all: they may be too tight for ourselves
            with contextlib.suppress(OSError):
                os.write(own_log, missed.encode() + b"\n")
        _execute(words, variables, sender)
    except Exception as error:  # the border of this process: the parent alone can report
        _tell(sender, words[0], repr(error))
    finally:
        os._exit(127)


def _execute(words: list[bytes], variables: dict[bytes, bytes], sender: int) -> None:
    """Execute the program, looked up in the PATH of the run; returns only to tell a failure."""
    program = words[0]
    if b"/" in program:
        candidates = [program]
    else:
        path = variables.get(b"PATH", os.defpath.encode())
        candidates = [os.path.join(folder or b".", program) for folder in path.split(b":")]
    refused: tuple[bytes, str] | None = None
    for candidate in candidates:
        try:
            os.execve(candidate, words, variables)
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            if missing and not os.path.exists(candidate):
                continue
            reason = "the interpreter in its first line is missing" if missing else os.strerror(error.errno or 0)
            refused = refused or (candidate, reason)
            if error.errno != errno.EACCES:
                break
    _tell(sender, *(refused or (program, "no such file" if b"/" in program else "no program of that name in PATH")))


def _tell(sender: int, subject: bytes, reason: str) -> NoReturn:
    os.write(sender, b"cannot start: " + subject[:1024] + b": " + reason.encode())
    os._exit(127)


def _close_all_but(kept: set[int]) -> None:
    # By what is open, not by the limit: that may be a thousand million.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor
                os.close(int(name))
