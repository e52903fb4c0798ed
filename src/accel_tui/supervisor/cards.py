"""Which cards a live run really holds, looked at from outside: for programs that are no worker of ours. Pure.

Only cards that one process alone can open prove anything: an open file there is a card in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.jobs.environment import VENDORS

if TYPE_CHECKING:
    from accel_tui.model.devices import Device, Inventory
    from accel_tui.model.runs import Run

BEGIN = "wrong card: "
"""How the remark begins; a note of the run that begins so is replaced or taken back."""


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
    return f"{BEGIN}its processes hold {held}, and it was given {given}; stop it, others count on that card"


def _exclusive(device: Device) -> bool:
    vendor = VENDORS.get(device.vendor)
    return vendor is not None and vendor.EXCLUSIVE and not device.simulated


def _words(device: Device) -> str:
    return device.key if device.module_id is None else f"{device.key} (module {device.module_id})"
