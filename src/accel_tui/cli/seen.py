"""The inventory as it is for the shell that asks: cards outside its allocation are not its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.devices import ALLOCATIONS

if TYPE_CHECKING:
    from accel_tui.cli.context import Context
    from accel_tui.model.devices import Inventory


def seen_here(context: Context, inventory: Inventory) -> Inventory:
    """`inventory` for the environment of this process; outside an allocation nothing is loaded for it."""
    if not any(context.environment.get(variable) for variable in ALLOCATIONS):
        return inventory
    from accel_tui.jobs.environment import as_seen

    return as_seen(inventory, context.environment)
