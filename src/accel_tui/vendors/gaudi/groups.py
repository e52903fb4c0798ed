"""Which Gaudi cards may run one distributed job together: the one place of that rule. Pure.

By the vendor's page "Multiple Workloads on a Single Docker" a part of a server may be two or four cards, in the groups
0,1 2,3 4,5 6,7 and 0-3 4-7 by module ID; 3, 5, 6 and 7 cards are not supported. All cards of the machine are always
fine. In a virtual machine the module IDs are any subset of those of the server, such as 1,2,4,5 (seen), and nothing is
documented below all of them: there it is one card, or all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import DeviceState, ReadingStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accel_tui.model.devices import Device, DeviceView

SERVER_CARDS = 8
_SIZES = (2, 4)
# States that a card is in while it works, or leaves by itself.
_HEALTHY = (DeviceState.OPERATIONAL, DeviceState.RELEASING, DeviceState.RESETTING, DeviceState.UNKNOWN)


@dataclass(frozen=True)
class Fault:
    """Why cards are no supported group."""

    brief: str
    """A few words for one line of the screen."""
    words: str
    """A whole sentence."""


def groups(machine: Sequence[Device]) -> list[tuple[Device, ...]]:
    """Every supported group of more than one card, small ones first; `machine` is every Gaudi card of the host."""
    by_module = {card.module_id: card for card in machine if card.module_id is not None}
    found: list[tuple[Device, ...]] = []
    for size in _SIZES if _has_slots_of_a_server(machine) else ():
        for start in range(0, SERVER_CARDS, size):
            modules = range(start, start + size)
            if all(module in by_module for module in modules):
                found.append(tuple(by_module[module] for module in modules))
    everything = tuple(card for _, card in sorted(by_module.items()))
    if len(everything) == len(machine) > 1 and everything not in found:
        found.append(everything)
    return found


def fault(cards: Sequence[Device], machine: Sequence[Device]) -> Fault | None:
    """Why these cards are no supported group; None when they are one."""
    keys = {card.key for card in cards}
    if len(keys) <= 1 or keys == {card.key for card in machine}:
        return None
    if any(card.module_id is None for card in cards):
        return Fault("a module ID is not known", "the module ID of a card is not known, so its group cannot be judged")
    if any({card.key for card in group} == keys for group in groups(machine)):
        return None
    modules, count = label(cards), len(keys)
    if not _has_slots_of_a_server(machine):
        words = (
            f"modules {modules} are a part of this machine's {label(machine)}; below all of them no group is documented"
        )
        return Fault("one card or all of this machine", words)
    if count not in _SIZES:
        words = f"{count} cards are not supported for one distributed job, only 1, 2, 4 or all of the machine"
        return Fault("1, 2, 4 or all go together", words)
    begin = "an even module" if count == 2 else "module 0 or 4"
    words = f"modules {modules} are no group that is supported for one distributed job: {count} begin at {begin}"
    return Fault(f"{count} begin at {begin}", words)


def remedy(cards: Sequence[Device], machine: Sequence[Device]) -> str:
    """Which groups there are of that size, or what else is supported here."""
    same = [group for group in groups(machine) if len(group) == len(cards)]
    if same:
        return "take modules " + " or ".join(label(group) for group in same)
    larger = [group for group in groups(machine) if len(group) > len(cards)]
    others = f", or modules {label(larger[0])}" if larger else ""
    return f"take one card{others}"


def never(count: int, machine: Sequence[Device]) -> str:
    """Why no group of `count` cards is ever to be had here, as the rest of a sentence about them."""
    have = len(machine)
    if count > have:
        return f"{have} card{' is' if have == 1 else 's are'} to be had here"
    if count < have and not _has_slots_of_a_server(machine):
        return f"below all of its modules {label(machine)} no group is documented, so it is one card or all {have}"
    if count < have and count not in _SIZES:
        return "1, 2, 4 or all cards go together in one job"
    return f"of its modules {label(machine)} no {count} form a supported group"


def label(cards: Sequence[Device]) -> str:
    """`0-3` or `4,5`, by module ID."""
    modules = sorted(card.module_id for card in cards if card.module_id is not None)
    if len(modules) > 2 and modules == list(range(modules[0], modules[-1] + 1)):
        return f"{modules[0]}-{modules[-1]}"
    return ",".join(map(str, modules))


def choose(
    count: int,
    free: Sequence[Device],
    machine: Sequence[Device],
    views: Sequence[DeviceView] = (),
    reach: Collection[str] | None = None,
) -> tuple[Device, ...] | None:
    """The group of `count` cards that `auto` takes: all of them in `free`; None when none is.

    A group with an internal port that is down is taken only where no other group of that size can be waited for: each
    has one, or a card that is broken or not in `reach` (keys of the cards that may be taken at all; None: every one).
    """
    keys = {card.key for card in free}
    if count == 1:
        return next(((card,) for card in sorted(free, key=_module)), None)
    fitting = [group for group in groups(machine) if len(group) == count]
    spoilt = {view.device.key for view in views if ports_down(view)}
    spoilt |= {
        card.key for card in machine if card.state not in _HEALTHY or (reach is not None and card.key not in reach)
    }
    sound = [group for group in fitting if not spoilt & {card.key for card in group}]
    return next((group for group in sound or fitting if keys.issuperset(card.key for card in group)), None)


def ports_down(view: DeviceView) -> int | None:
    """How many internal ports of the card are down; None where all are up or it is not known."""
    up, expected = (_figure(view, name) for name in ("links_up", "links_expected"))
    return int(expected - up) if up is not None and expected is not None and up < expected else None


def _figure(view: DeviceView, name: str) -> float | None:
    reading = view.readings.get(name)
    if reading is None or reading.status is not ReadingStatus.OK or not isinstance(reading.value, (int, float)):
        return None
    return float(reading.value)


def _module(card: Device) -> tuple[bool, int, str]:
    return (card.module_id is None, card.module_id or 0, card.key)


def _has_slots_of_a_server(machine: Sequence[Device]) -> bool:
    """Whether module IDs are the slots of a whole server, or of an aligned half or pair of it.

    A virtual machine has up to four cards of anywhere; more, with gaps, are a server some of whose cards failed.
    """
    if len(machine) > SERVER_CARDS // 2:
        return True
    modules = sorted(card.module_id for card in machine if card.module_id is not None)
    size = len(modules)
    return size in _SIZES and modules[0] % size == 0 and modules == list(range(modules[0], modules[0] + size))
