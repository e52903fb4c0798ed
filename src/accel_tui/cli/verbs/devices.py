"""`devices`: inventory with readings, holders and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.seen import seen_here

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context
    from accel_tui.model.devices import Inventory

EXAMPLE = "accel-tui devices --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document; with --watch one per line")
    parser.add_argument("--watch", action="store_true", help="print again at each change, until interrupted")


def run(context: Context) -> int:
    """Print the inventory, once or for as long as nobody interrupts."""
    output = context.output
    watch = context.arguments.watch

    def show(inventory: Inventory) -> None:
        if context.arguments.json:
            output.document(inventory.to_json(), indent=None if watch else 2)
            return
        from accel_tui.cli.picture import device_table

        device_table(output, inventory)

    show(seen_here(context, context.client.devices()))
    if not watch:
        return 0
    from accel_tui.model.devices import Inventory

    for event in context.client.events():
        if event.name != "devices":
            continue
        fresh = seen_here(context, Inventory.from_json(event.data.get("inventory", event.data)))
        if not context.arguments.json:
            output.line("")
        show(fresh)
        output.flush()
    return 0
