"""Starting a supervisor when runs wait and none is there to start them."""

from __future__ import annotations

import os

from accel_tui.keeper import files, locks
from accel_tui.keeper.detach import start_daemon

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from accel_tui.keeper.order import Order


def revive(order: Order) -> None:
    """Start a supervisor when queued runs wait and nobody holds the supervisor's lock."""
    if not (order.revive and order.runs and order.supervisor_lock):
        return
    if locks.held(order.supervisor_lock) or not _queued(order.runs):
        return
    log = os.path.join(os.path.dirname(order.supervisor_lock), "supervisor.log")
    _, fault = start_daemon(order.revive, order.revive_environment, log)
    if fault:
        files.remark(f"no supervisor could be started for the queued runs: {fault}")


def _queued(runs: str) -> bool:
    """Whether a run waits that nobody holds back."""
    try:
        names = os.listdir(runs)
    except OSError:
        return False
    for name in sorted(names, reverse=True):  # queued ones are among the newest
        try:
            state = files.read_json(os.path.join(runs, name, "state.json"))
            waits = state["state"] in ("queued", "preparing") and not state.get("held")
            if waits and files.read_record(os.path.join(runs, name, "exit.json")) is None:
                return True
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return False
