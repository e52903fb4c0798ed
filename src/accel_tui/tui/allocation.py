"""The devices as they are for the person's own environment: what lies outside an allocation is not theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from accel_tui.model.devices import ALLOCATIONS, DeviceState, Inventory


def seen_by(environment: Mapping[str, str]) -> Callable[[Inventory], Inventory]:
    """What makes of an inventory the one that a process with this environment has; the same outside allocations."""
    limited = any(environment.get(name) for name in ALLOCATIONS)

    def seen(inventory: Inventory) -> Inventory:
        if not limited and all(view.device.state is not DeviceState.NOT_YOURS for view in inventory.devices):
            return inventory
        from accel_tui.jobs.environment import as_seen  # late: few need it, and the first paint would wait for it

        return as_seen(inventory, environment)

    return seen
