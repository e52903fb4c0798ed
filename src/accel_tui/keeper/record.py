"""The record of how a run ended."""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from typing import Any

    from accel_tui.keeper.launch import Main
    from accel_tui.keeper.memory import Kills
    from accel_tui.keeper.watch import Watch

SCHEMA = 1


def time_text(seconds: float) -> str:
    """`seconds` since the epoch as RFC 3339 in UTC with milliseconds."""
    milliseconds = int(seconds * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{whole}.{milliseconds % 1000:03d}Z"


def signal_name(signo: int) -> str:
    """Such as `SIGKILL`; real-time signals by distance from the first."""
    try:
        return signal.Signals(signo).name
    except ValueError:
        return f"SIGRTMIN+{signo - int(signal.SIGRTMIN)}" if signo >= int(signal.SIGRTMIN) else f"SIG{signo}"


def ended(main: Main, watch: Watch, kills: Kills) -> dict[str, Any]:
    """The record of a run whose main process was started and is gone."""
    code = os.waitstatus_to_exitcode(watch.status or 0)
    cause, message = watch.stop.cause, None
    if cause is None:
        cause, message = _own_cause(code, watch, kills)
    return {
        "schema": SCHEMA,
        "exit_code": code if code >= 0 else None,
        "signal": signal_name(-code) if code < 0 else None,
        "cause": cause,
        "stopped": watch.stop.cause is not None,
        "started": time_text(main.started_at),
        "ended": time_text(max(time.time(), main.started_at)),  # the clock may have been put back
        "cpu_seconds": round(watch.cpu_seconds, 3),
        "max_rss_bytes": watch.max_rss_bytes,
        "message": message,
    }


def not_launched(message: str) -> dict[str, Any]:
    """The record of a run whose main process could not be started."""
    return {
        "schema": SCHEMA,
        "exit_code": None,
        "signal": None,
        "cause": "launch-failed",
        "stopped": False,
        "started": None,
        "ended": time_text(time.time()),
        "cpu_seconds": 0.0,
        "max_rss_bytes": 0,
        "message": message,
    }


def stopped_before() -> dict[str, Any]:
    """The record of a run that somebody stopped before its main process was started."""
    return {**not_launched("stopped before it was started"), "cause": "stopped-by-user", "stopped": True}


def _own_cause(code: int, watch: Watch, kills: Kills) -> tuple[str, str | None]:
    """Cause and remark of an end that nobody asked for."""
    short_of_memory = kills.happened()
    if code == -signal.SIGKILL:
        if short_of_memory:
            return "out-of-memory", "the kernel killed the main process: the memory was used up"
        certain = "; the control group counts no such kill" if kills.readable else ""
        return "signal", f"killed by somebody else, or for lack of memory{certain}"
    remark = None
    if short_of_memory:
        remark = "the kernel killed a process of this control group: the memory was used up"
    elif watch.leftovers:
        remark = f"the main process left {watch.leftovers} others behind; they were ended"
    return ("signal" if code < 0 else "exit"), remark
