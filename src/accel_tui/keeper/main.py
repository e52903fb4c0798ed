"""The keeper's process: told what to run, it starts it, watches it, and records its end.

    ready ── instruction ── lock, device locks, ports ── exec ── answer ── watch ── exit.json ── revive

Everything is imported before `ready`: an upgrade, or the removal of the package, does not touch a live keeper.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sys
import time

from accel_tui.keeper import detach, files, launch, locks, memory, processes, record, revival
from accel_tui.keeper.order import Order, OrderError
from accel_tui.keeper.watch import Wakeup, Watch

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    import socket
    from typing import Any, NoReturn

    from accel_tui.keeper.launch import Main


class _RefusedError(Exception):
    """The run does not start; carries the answer."""

    def __init__(self, reason: str, message: str, lock: str | None = None, holder: str | None = None) -> None:
        super().__init__(message)
        self.answer = {"started": False, "reason": reason, "message": message, "lock": lock, "holder": holder}


def main() -> None:
    """Be a keeper in an interpreter of its own: leave whoever started it first."""
    detach.detach()
    ignore_terminal()
    keep_to_the_end()


def ignore_terminal() -> None:
    """Let no hang-up and no key end us."""
    for signo in (signal.SIGHUP, signal.SIGINT):
        signal.signal(signo, signal.SIG_IGN)


def keep_to_the_end() -> NoReturn:
    """Keep one run, and end the process at once: taking an interpreter down properly would cost more than the rest."""
    try:
        _keep_one()
    except BaseException:  # the border of the process
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _keep_one() -> None:
    """Report ready, wait for one instruction, and keep that run until its end."""
    answer = {"ready": True, "pid": os.getpid()}
    try:
        os.write(1, files.encode(answer))
        line = detach.read_line(0)
    except OSError:  # whoever started us is gone
        return
    if line is not None:
        _keep(line)


def _keep(line: bytes) -> None:
    try:
        instruction = files.decode(line)
        _open_own_log(instruction)
        # Before anything is read: what a supervisor decides about the folder it decides under this lock, too.
        _own_lock(os.path.join(instruction["folder"], "lock"))
        run = _Run(Order(instruction))
        run.start()
    except _RefusedError as refused:
        _answer(refused.answer)
        return
    except (OrderError, ValueError, TypeError, KeyError) as error:
        _answer(_RefusedError("damaged", str(error)).answer)
        return
    except Exception as error:
        sys.excepthook(*sys.exc_info())  # the border of the process: whoever asked gets an answer in any case
        _answer(_RefusedError("damaged", f"the keeper failed: {error!r}").answer)
        return
    main = [run.main.pid, run.main.start]
    started_at = record.time_text(run.main.started_at)
    _answer({"started": True, "keeper": run.keeper, "main": main, "started_at": started_at})
    del instruction, line
    run.settle()
    run.finish()


class _Run:
    """What a keeper owns of its run, from the locks to the record."""

    main: Main
    _record: int

    def __init__(self, order: Order) -> None:
        self._order = order
        self.keeper = [os.getpid(), processes.start_time(os.getpid())]
        self._claim = {"run": order.tag, "user": str(os.geteuid()), "since": record.time_text(time.time())}
        self._held: list[int] = []
        self._ports: list[socket.socket] = []
        self._kills = memory.Kills()
        self._wakeup = Wakeup()

    def start(self) -> None:
        """Everything up to the exec of the main process.

        Raises:
            _RefusedError: busy, damaged or not launched; with busy the folder is as it was.
        """
        order = self._order
        detach.become_subreaper()
        unsafe = self._reserve()
        boot = processes.boot_id()
        try:
            self._record = files.reserve(order.path("exit.json"), sync=unsafe is not None)
            if unsafe is None:  # seen by everybody at once; the disk has it when `settle` is done
                times = {**(order.state.get("times") or {}), "starting": record.time_text(time.time())}
                order.write_state(
                    state="starting", boot_id=boot, keeper=self.keeper, main=None, locks=order.locks, times=times,
                    sync=False,
                )  # fmt: skip
        except OSError as error:
            raise _unwritable(order.folder, error) from None
        if unsafe is not None:
            self._not_launched(str(unsafe), record.not_launched(str(unsafe)))
        if os.path.exists(order.path("stop.json")):
            self._not_launched("stopped before it was started", record.stopped_before())
        try:
            self.main = launch.launch(
                order.argv, order.environment, order.cwd, log=order.path("log"), tag=order.tag, locks=self._held,
                umask=order.umask, resources=order.limits,
            )  # fmt: skip
        except launch.LaunchError as error:
            self._not_launched(str(error), record.not_launched(str(error)))
        self.watch = Watch(order, self.main, self._held, self._claim)
        order.forget()
        started = record.time_text(self.main.started_at)
        main = [self.main.pid, self.main.start]
        self.watch.report("state.json", order.write_state, state="running", main=main, started=started, sync=False)

    def settle(self) -> None:
        """Have on the disk that the run began, and the room for its record; the run does not wait for it."""
        order = self._order
        self.watch.report("state.json", files.sync_paths, [order.path("state.json"), order.folder], self._record)

    def finish(self) -> None:
        """Watch until the run is over, record its end, and see to the queue."""
        self.watch.run(self._wakeup)
        for keep in self._ports:
            keep.close()
        for descriptor in self._held:
            os.close(descriptor)  # before the record: who sees the end may want the devices at once
        ended = record.ended(self.main, self.watch, self._kills)
        self.watch.report("exit.json", files.overwrite, self._record, ended)
        revival.revive(self._order)

    def _reserve(self) -> locks.LockFolderError | None:
        """Take device locks and ports; an unsafe lock folder is the caller's to record."""
        try:
            self._held = locks.take(self._order.locks, self._claim)
            self._ports = launch.hold_ports(self._order.ports)
        except locks.Busy as busy:
            holder = None if busy.holder is None else str(busy.holder)
            raise _RefusedError("busy", str(busy), busy.path, holder) from None
        except launch.PortTaken as error:
            raise _RefusedError("busy", str(error)) from None
        except locks.LockFolderError as error:
            return error
        return None

    def _not_launched(self, message: str, ended: dict[str, Any]) -> NoReturn:
        files.overwrite(self._record, ended)
        raise _RefusedError("launch-failed", message) from None


def _unwritable(path: str, error: OSError) -> _RefusedError:
    """A full disk is a state of the host, as a busy device is; everything else is damage."""
    reason = "busy" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "damaged"
    return _RefusedError(reason, f"{path} cannot be written: {error.strerror}")


def _own_lock(path: str) -> None:
    """Hold the run's lock for the rest of our life.

    Raises:
        _RefusedError: another keeper has this run, or the file cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from None
    for _ in range(20):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.005)  # a probe holds it for a moment; a keeper would for good
        else:
            return
    raise _RefusedError("damaged", f"{path} is held: another keeper has this run")


def _open_own_log(instruction: dict[str, Any]) -> None:
    """Let our own standard error go to keeper.log from here on."""
    path = os.path.join(instruction["folder"], "keeper.log")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # what is wrong with the folder shows at the first file that matters
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _answer(document: dict[str, Any]) -> None:
    """Tell whoever asked, who may be gone, and let go of their pipes."""
    try:
        os.write(1, files.encode(document))
    except OSError:
        files.remark("nobody took the answer")
    detach.let_go()
