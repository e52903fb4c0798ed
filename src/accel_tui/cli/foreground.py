"""One program in the foreground of this terminal, as a shell would run it, with inherited descriptors.

The program stays in our process group, so the terminal's own signals (Ctrl+C, Ctrl+\\, Ctrl+Z, hang-up) reach it from
the kernel and job control of the calling shell works on both of us. Signals that another process sends to us alone are
passed on. We stop when the program stops, and go on with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_WATCHED = frozenset({*_PASSED_ON, signal.SIGCHLD, signal.SIGTSTP, signal.SIGCONT})
_PR_SET_PDEATHSIG = 1
_SI_KERNEL = 128


def run_here(argv: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]) -> int:
    """Run `argv` until it ends; its exit code, or 128 and the number of the signal that ended it.

    The program inherits `descriptors`. When we are killed it gets a hang-up, as if its terminal had gone.

    Raises:
        UsageError: the program cannot be executed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    libc = ctypes.CDLL(None, use_errno=True)  # loaded before the fork: the child does as little as it can
    reading, writing = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGHUP), 0, 0, 0)
        if os.getppid() != parent:  # killed before the line above took effect
            os._exit(129)
        _become(argv, environment, descriptors, writing, before)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            fault = pipe.read()
        if fault:
            os.waitpid(pid, 0)
            raise UsageError(f"{argv[0]}: cannot be executed: {os.strerror(int(fault))}")
        return _attend(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _become(
    argv: Sequence[str],
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    report: int,
    mask: set[signal.Signals] | set[int],
) -> NoReturn:
    """The child: become the program, or report why not and end."""
    try:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, True)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606 - an argument list, as it must be
    except BaseException as error:  # the child must never return into the caller's code
        number = error.errno if isinstance(error, OSError) and error.errno else 5
        os.write(report, str(number).encode())
        os._exit(127)


def _attend(pid: int) -> int:
    """Wait for the program, pass signals on, stop and continue with it."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if ended and os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)  # until the shell continues us
            os.kill(pid, signal.SIGCONT)
            continue
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        info = signal.sigwaitinfo(_WATCHED)
        # What the kernel sends (the terminal's keys, its hang-up) goes to the whole group, the program included.
        if info.si_signo in _PASSED_ON and info.si_code != _SI_KERNEL:
            os.kill(pid, info.si_signo)
