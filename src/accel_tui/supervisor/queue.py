"""Who may start next, and what everyone else waits for; pure, decided from what is given alone.

The order is by falling priority, then by position. A run may overtake another only on cards and slots that no earlier
run wants. Runs that are held, or that wait for another run, want nothing: they could not use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Choice = tuple[str, ...]

OTHERS_WAIT = "others-wait"
"""Overridden, a run takes a card that another user has waited for longer."""


@dataclass(frozen=True)
class Waiting:
    """A queued run, as the queue sees it."""

    id: str
    name: str
    priority: int
    position: float
    pool: frozenset[str] = frozenset()
    """Every lockable card that it could come to use: its own cards, or all candidates of `auto`."""
    choose: Callable[[frozenset[str]], Choice | None] | None = None
    """The cards that it takes, given the free ones, or None when they do not do. None: it needs all of `pool`."""
    slots: int = 0
    """CPU slots; where `choose` decides, only when it takes no card."""
    needs: str = ""
    """The selection in words, such as `gaudi:0,1`."""
    held: str | None = None
    after: str | None = None
    """What it waits for by its own wish, in words; None when nothing."""
    insists: bool = False
    """Whether it takes cards that another user has waited for longer."""

    def take(self, free: frozenset[str]) -> Choice | None:
        """The cards that it would start on, or None when `free` does not do."""
        if self.choose is not None:
            return self.choose(free)
        return tuple(sorted(self.pool)) if self.pool <= free else None


@dataclass(frozen=True)
class Occupying:
    """A run that is being started or runs."""

    id: str
    name: str
    cards: frozenset[str] = frozenset()
    slots: int = 0
    counts: bool = True
    """Whether it is one of the runs whose number is limited."""


@dataclass(frozen=True)
class Limits:
    """How much may run at a time."""

    max_running: int = 16
    cpu_slots: int = 1


@dataclass(frozen=True)
class Decision:
    """What the queue says: who starts on which cards, and why each of the others waits."""

    start: Mapping[str, Choice] = field(default_factory=dict)
    """Run id to cards, in the order of starting."""
    waits: Mapping[str, str] = field(default_factory=dict)
    """Run id to the reason; every run that does not start has one."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """Card to the first run that waits for it: what other users are told."""


def order(waiting: Sequence[Waiting]) -> list[Waiting]:
    """First in, first out within a priority; the id settles equal positions."""
    return sorted(waiting, key=lambda run: (-run.priority, run.position, run.id))


def decide(
    waiting: Sequence[Waiting],
    occupying: Sequence[Occupying],
    *,
    limits: Limits,
    usable: frozenset[str],
    foreign: Mapping[str, str],
    awaited: Mapping[str, str] | None = None,
) -> Decision:
    """Go through the queue once.

    Args:
        usable: Cards that are here and in order; those occupied and foreign ones are subtracted.
        foreign: Cards that someone else has, with words of who.
        awaited: Cards that another user has waited for longer than anybody here, with words of who.
    """
    owner = {card: f"run {run.name} ({run.id})" for run in occupying for card in run.cards}
    owner.update({card: who for card, who in foreign.items() if card not in owner})
    free = usable - owner.keys()
    slots = limits.cpu_slots - sum(run.slots for run in occupying)
    places = limits.max_running - sum(run.counts for run in occupying)
    start: dict[str, Choice] = {}
    waits: dict[str, str] = {}
    wanted: dict[str, str] = {}
    claims: dict[str, str] = {}
    awaited = awaited or {}
    slots_wanted_by: str | None = None
    for run in order(waiting):
        if run.held is not None or run.after is not None:
            waits[run.id] = f"held: {run.held}" if run.held is not None else str(run.after)
            continue
        theirs = frozenset() if run.insists else awaited.keys()
        choice = run.take(free - wanted.keys() - theirs)
        # A run that asks for more slots than there are gets them all.
        asked = 0 if run.choose is not None and choice else min(run.slots, limits.cpu_slots)
        slots_fit = asked == 0 or (slots_wanted_by is None and asked <= slots)
        if choice is not None and slots_fit and places > 0:
            start[run.id] = choice
            mine = f"run {run.name} ({run.id})"
            owner.update(dict.fromkeys(choice, mine))
            free -= set(choice)
            slots -= asked
            places -= 1
            continue
        if choice is None:
            claims.update({card: run.id for card in run.pool if card not in claims})
            claimed = sorted(run.pool & wanted.keys()) if run.take(free) is not None else []
            waits[run.id] = (
                f"{run.needs or 'its devices'}: {claimed[0]} is wanted by the earlier {wanted[claimed[0]]}"
                if claimed
                else _awaited_reason(run, awaited)
                if run.take(free - wanted.keys()) is not None
                else _cards_reason(run, usable, owner)
            )
        elif not slots_fit:
            waits[run.id] = _slots_reason(limits, slots_wanted_by, occupying)
        else:
            waits[run.id] = f"{limits.max_running} runs at a time are allowed (queue.max_running)"
        for card in run.pool:
            wanted.setdefault(card, f"run {run.name} ({run.id})")
        if run.slots and slots_wanted_by is None:
            slots_wanted_by = f"run {run.name} ({run.id})"
    return Decision(start, waits, claims)


def _awaited_reason(run: Waiting, awaited: Mapping[str, str]) -> str:
    card = min(run.pool & awaited.keys())
    return f"{run.needs or 'its devices'}: {card} is left to {awaited[card]} (`--override {OTHERS_WAIT}` takes it)"


def _cards_reason(run: Waiting, usable: frozenset[str], owner: Mapping[str, str]) -> str:
    what = run.needs or "its devices"
    taken = sorted(run.pool & owner.keys())
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        return f"{what}: {taken[0]} is held by {owner[taken[0]]}{more}"
    missing = sorted(run.pool - usable)
    if missing:
        return f"{what}: {missing[0]} is not usable now"
    return f"{what}: not enough free devices that form a group"


def _slots_reason(limits: Limits, wanted_by: str | None, occupying: Sequence[Occupying]) -> str:
    if wanted_by is not None:
        return f"a CPU slot, wanted by the earlier {wanted_by}"
    holder = next((f", held by run {run.name} ({run.id})" for run in occupying if run.slots), "")
    return f"a CPU slot: {limits.cpu_slots} in all (queue.cpu_slots){holder}"
