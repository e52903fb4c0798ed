"""What is said of a live run's cards, looked at from outside: one that broke, or one that it was not given. Pure.

Only cards that one process alone can open prove anything: an open file there is a card in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.jobs.environment import VENDORS
from accel_tui.model.devices import DeviceState

if TYPE_CHECKING:
    from accel_tui.model.devices import Device, Inventory
    from accel_tui.model.runs import Run

WRONG, BROKEN = "wrong card: ", "broken card: "
BEGINNINGS = (WRONG, BROKEN)
"""How the remarks begin; a note of the run that begins so is replaced or taken back."""

_BROKEN = (DeviceState.LOST, DeviceState.NOT_DRIVEN, DeviceState.DISABLED, DeviceState.NEEDS_RESET)


def broken(run: Run, inventory: Inventory) -> str | None:
    """What is said of a run of which a card fell off or failed while it had it; None while all are there."""
    own = {key.partition("#")[0] for key in run.devices}
    states = [
        f"{_words(view.device)} is {view.device.state.value}"
        for view in inventory.devices
        if view.device.key in own and view.device.state in _BROKEN
    ]
    if not states:
        return None
    return f"{BROKEN}{', '.join(states)}; stop the run, and look at the kernel log (dmesg)"


def remark(run: Run, inventory: Inventory) -> str | None:
    """What is said of a run whose processes hold a card that it was not given; None without one.

    Silence is no proof that it holds its own: processes may be hidden, or may not have begun.
    """
    foreign = [
        view.device
        for view in inventory.devices
        if view.device.key not in run.devices
        and _exclusive(view.device)
        and any(holder.run == run.id for holder in view.holders)
    ]
    if not foreign:
        return None
    held = ", ".join(map(_words, foreign))
    given = ", ".join(key for key in run.devices if key != "cpu") or "none"
    return f"{WRONG}its processes hold {held}, and it was given {given}; stop it, others count on that card"


def _exclusive(device: Device) -> bool:
    vendor = VENDORS.get(device.vendor)
    return vendor is not None and vendor.EXCLUSIVE and not device.simulated


def _words(device: Device) -> str:
    return device.key if device.module_id is None else f"{device.key} (module {device.module_id})"
