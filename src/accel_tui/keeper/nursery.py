"""A process that forks keepers: it has imported everything, so that a start costs a fork and no new interpreter.

    ready ── a socket comes ── fork ── fork ── a keeper that is told over that socket what to run
                 └──────────── until whoever asks is gone ────────────┘

It is never told what is run: an instruction, with its secrets, goes to the keeper alone. A keeper is no child of it,
so the death of the nursery reaches no run; the next nursery, or a new interpreter, starts the next keeper.
"""

from __future__ import annotations

import array  # noqa: F401 - what `socket.recv_fds` would import at the first start, when the package may be gone
import contextlib
import gc
import os
import socket

from accel_tui.keeper import detach, files
from accel_tui.keeper.main import ignore_terminal, keep_to_the_end

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Report ready on standard input, which is a socket, and fork a keeper for every descriptor that comes over it."""
    detach.detach()
    ignore_terminal()
    link = socket.socket(fileno=os.dup(0))
    detach.let_go()
    gc.freeze()  # what is here by now is never collected, so a keeper does not copy it by looking at it
    with contextlib.suppress(OSError):  # whoever started us is gone
        link.sendall(files.encode({"ready": True, "pid": os.getpid()}))
        while descriptor := _next(link):
            _fork_keeper(link, descriptor)


def _next(link: socket.socket) -> int | None:
    """The socket of the next keeper; None when nobody can ask any more."""
    data, descriptors, _, _ = socket.recv_fds(link, 1, 1)
    while data and not descriptors:  # the kernel had no room for the descriptor: whoever asked sees its end closed
        data, descriptors, _, _ = socket.recv_fds(link, 1, 1)
    return descriptors[0] if descriptors else None


def _fork_keeper(link: socket.socket, descriptor: int) -> None:
    """Fork twice, so that the keeper is an orphan; where that fails, whoever asked sees its socket closed."""
    with contextlib.suppress(OSError):
        child = os.fork()
        if not child:
            _become_keeper(link, descriptor)
        os.waitpid(child, 0)
    os.close(descriptor)


def _become_keeper(link: socket.socket, descriptor: int) -> NoReturn:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        link.close()
        os.dup2(descriptor, 0)
        os.dup2(descriptor, 1)
        os.close(descriptor)
    except OSError:
        os._exit(1)
    keep_to_the_end()
