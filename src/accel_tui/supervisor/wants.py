"""What a queued run wants of the devices, in the queue's terms: lockable cards and CPU slots; pure.

A whole card that has tiles stands for itself and all of its tiles, so that card and tile exclude each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.jobs import environment, plan_checks, selectors
from accel_tui.supervisor.queue import OTHERS_WAIT, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from accel_tui.model.devices import Device, Inventory
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.queue import Choice

CPU = "cpu"


def lock_keys(keys: Iterable[str], inventory: Inventory) -> frozenset[str]:
    """The keys whose locks a run on these devices holds; the CPU has none."""
    tiles = {view.device.key: selectors.tile_count(view.device) for view in inventory.devices}
    found: set[str] = set()
    for key in keys:
        if key == CPU:
            continue
        found.add(key)
        if tiles.get(key, 1) > 1:
            found.update(f"{key}#{tile}" for tile in range(tiles[key]))
    return frozenset(found)


def usable(inventory: Inventory) -> frozenset[str]:
    """Every lockable key that this host has."""
    return lock_keys((view.device.key for view in inventory.devices), inventory)


def open_elsewhere(inventory: Inventory) -> dict[str, str]:
    """Cards that a program without a lock has open, and that nobody can share; with words of who."""
    return {
        key: plan_checks.holder_words(view)
        for view in inventory.devices
        if environment.taken(view) is not None and view.reserved_by is None
        for key in lock_keys([view.device.key], inventory)
    }


def devices_of(cards: Iterable[str], inventory: Inventory) -> frozenset[str]:
    """The devices that are covered as a whole by these locks: what `auto` may choose from at the start."""
    held = frozenset(cards)
    keys = (view.device.key for view in inventory.devices)
    return frozenset(key for key in keys if key != CPU and lock_keys([key], inventory) <= held)


def want(entry: Entry, inventory: Callable[[], Inventory], after: str | None) -> Waiting:
    """The entry as the queue sees it. `inventory` is asked again each time that `auto` chooses."""
    selector = selectors.parse(str(entry.spec["select"]))
    now = inventory()
    pool: frozenset[str] = frozenset()
    choose: Callable[[frozenset[str]], Choice | None] | None = None
    slots = 0
    if selector.auto:
        pool = _pool(selector, now, entry.limits)
        slots = 1 if selector.vendor in (None, CPU) else 0
        choose = _chooser(selector, inventory, entry.limits) if pool else None
    elif not selector.nothing:
        keys = selectors.resolve(selector, now).keys
        pool = lock_keys(keys, now)
        slots = 1 if CPU in keys else 0
    return Waiting(
        id=entry.id,
        name=entry.run.name,
        priority=entry.priority,
        position=entry.position,
        pool=pool,
        choose=choose,
        slots=slots,
        needs=selector.text,
        held=entry.held,
        after=after,
        insists=OTHERS_WAIT in entry.spec.get("overrides", ()),
    )


def _pool(selector: selectors.Selector, inventory: Inventory, limits: Mapping[str, str]) -> frozenset[str]:
    keys = {device.key for device in selectors.candidates(selector, inventory)}
    return lock_keys(keys - _outside(inventory, limits), inventory)


def _outside(inventory: Inventory, limits: Mapping[str, str]) -> frozenset[str]:
    return environment.outside([view.device for view in inventory.devices], limits)


def _chooser(
    selector: selectors.Selector, inventory: Callable[[], Inventory], limits: Mapping[str, str]
) -> Callable[[frozenset[str]], Choice | None]:
    def choose(free: frozenset[str]) -> Choice | None:
        now = inventory()
        # What is held without a lock is held all the same: `auto` leaves it alone.
        busy = {view.device.key for view in now.devices if any(holder.run is None for holder in view.holders)}

        def allowed(device: Device) -> bool:
            return device.key not in busy and lock_keys([device.key], now) <= free

        selection = selectors.resolve(selector, now, allowed, _outside(now, limits))
        if selection.waiting_for is not None:
            return None
        return tuple(sorted(lock_keys(selection.keys, now)))

    return choose
