"""The supervisor's process: one per state folder, started on demand, ends when idle."""

from __future__ import annotations

import argparse
import asyncio
import logging
import logging.handlers
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.config.settings import load_settings
from accel_tui.config.state import demo_folder, open_state_folder, state_folder
from accel_tui.keeper.limits import raise_open_files
from accel_tui.model.errors import AccelError, SupervisorError
from accel_tui.protocol.paths import LOG_NAME, SAYS
from accel_tui.protocol.version import VERSION
from accel_tui.supervisor.listener import listen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accel_tui.model.devices import Problem
    from accel_tui.supervisor.listener import Listener
    from accel_tui.supervisor.server import Server
    from accel_tui.supervisor.service import Service

log = logging.getLogger(__name__)

_LOG_BYTES = 1024 * 1024
_IDLE_POLL_SECONDS = 0.5
_GUARD_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Serve one state folder until idle, asked to end, or SIGTERM; the exit code.

    A second supervisor for the same folder ends at once with 0: the first one serves.
    """
    arguments = _parser().parse_args(argv)
    environment = dict(os.environ)
    raise_open_files()  # a run has its submitter's limits
    os.umask(0o077)  # for what we write; a run has its submitter's
    try:
        settings = load_settings({"state_dir": arguments.state_dir}, environment)
        problems: list[Problem] = []
        base = open_state_folder(state_folder(settings, socket.gethostname(), environment), problems)
        state = base if arguments.demo is None else open_state_folder(demo_folder(base, arguments.demo), problems)
        listener = listen(state)
    except AccelError as error:
        return _give_up(error)
    if listener is None:
        return 0
    _open_log(state, foreground=arguments.foreground)
    log.info("accel-tui %s, pid %d", VERSION, os.getpid())
    # Imported only by the one that serves: the loser of a race ends without having cost anything.
    from accel_tui.supervisor.service import Service

    try:
        service = Service(state, base, settings, environment, demo=arguments.demo, problems=problems)
        asyncio.run(_serve(service, listener, settings.idle_seconds))
    except AccelError as error:
        return _give_up(error)
    except OSError as error:  # such as no descriptor left
        return _give_up(SupervisorError(f"it cannot serve: {error}", remedy="`accel-tui doctor` examines this host"))
    finally:
        listener.close()
        log.info("ended")
    return 0


def _give_up(error: AccelError) -> int:
    """Say why nobody is served, for the log that a client quotes."""
    sys.stderr.write(f"{SAYS}{error.message}\n" + (f"{error.remedy}\n" if error.remedy else ""))
    sys.stderr.flush()
    return int(error.exit_code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="accel-tui supervisor", description="Serves one state folder.")
    parser.add_argument("--state-dir", help="the state folder; default as for accel-tui")
    parser.add_argument("--demo", help="name of an invented host")
    parser.add_argument("--foreground", action="store_true", help="keep this terminal and log to it")
    return parser


def _open_log(state: Path, *, foreground: bool) -> None:
    """Log to `supervisor.log`, which is kept small; without a terminal, stray output goes there too."""
    path = state / LOG_NAME
    handlers: list[logging.Handler] = []
    try:
        handlers.append(logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, delay=False))
    except OSError:  # a full disk: serving matters more
        handlers.append(logging.NullHandler())
    if foreground:
        handlers.append(logging.StreamHandler())
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.raiseExceptions = False
    if not foreground:
        _detach_output(path)


def _detach_output(path: Path) -> None:
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    except OSError:
        out = os.dup(nothing)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    os.close(nothing)


async def _serve(service: Service, listener: Listener, idle_seconds: float) -> None:
    from accel_tui.supervisor.app import make_app
    from accel_tui.supervisor.server import Server

    server = Server(make_app(service))

    def end() -> None:
        service.scheduler.paused = True
        service.hub.close()
        server.end()

    service.end = end
    server.on_signal = end
    await service.start()
    watching = asyncio.get_running_loop().create_task(_end_when_idle(service, server, idle_seconds))
    guarding = asyncio.get_running_loop().create_task(_guard(service, server, listener))
    try:
        await server.run_on(listener.socket)
    finally:
        watching.cancel()
        guarding.cancel()
        await service.close()


async def _guard(service: Service, server: Server, listener: Listener) -> None:
    """Stay the one that is found in this folder: listen anew where the socket was taken away, end without the lock."""
    told = ""
    while True:
        await asyncio.sleep(_GUARD_SECONDS)
        if not listener.has_lock():
            log.error("the lock in %s is gone, and with it the right to serve", service.state)
            service.end()
            return
        if listener.is_found():
            continue
        try:
            await server.listen_also(listener.bind_anew())
            log.warning("the socket in %s was taken away; it is there again", service.state)
        except OSError as error:  # a full disk, or a folder in its place: tried again
            if str(error) != told:
                log.error("the socket was taken away and cannot be made anew: %s", error)  # noqa: TRY400 - in words
            told = str(error)


async def _end_when_idle(service: Service, server: Server, idle_seconds: float) -> None:
    """Nothing queued, running or connected for `idle_seconds`."""
    since = time.monotonic()
    while True:
        await asyncio.sleep(min(_IDLE_POLL_SECONDS, max(idle_seconds / 4, 0.05)))
        if not service.idle or server.connections:
            since = time.monotonic()
        elif time.monotonic() - since >= idle_seconds:
            log.info("idle for %.0f s", idle_seconds)
            service.end()
            return


if __name__ == "__main__":
    sys.exit(main())
