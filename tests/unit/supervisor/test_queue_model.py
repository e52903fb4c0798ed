"""The queue as it lives: runs come, wait, start and end, others take cards and give them back, in any order."""

from __future__ import annotations

import itertools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from accel_tui.supervisor.queue import Decision, Limits, Occupying, Waiting, decide, order

CARDS = ("a", "b", "c", "d")
LIMITS = Limits(max_running=4, cpu_slots=2)


def _auto(count: int, free: frozenset[str]) -> tuple[str, ...] | None:
    return tuple(sorted(free)[:count]) if len(free) >= count else None


class Life(RuleBasedStateMachine):
    """What a supervisor does with the decisions of the queue."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()
        self.waiting: dict[str, Waiting] = {}
        self.running: dict[str, Occupying] = {}
        self.foreign: dict[str, str] = {}
        self.awaited: dict[str, str] = {}
        self.last: Decision = Decision()

    def _put(self, **fields: object) -> None:
        number = next(self.numbers)
        identifier = f"r{number:04d}"
        shaped = {"priority": 0, "position": float(number), **fields}
        self.waiting[identifier] = Waiting(identifier, "job", **shaped)  # type: ignore[arg-type] # drawn by name

    @rule(cards=st.sets(st.sampled_from(CARDS), min_size=1), insists=st.booleans(), priority=st.integers(-1, 1))
    def submit_for_cards(self, cards: set[str], insists: bool, priority: int) -> None:
        self._put(pool=frozenset(cards), insists=insists, priority=priority)

    @rule(count=st.integers(1, 4))
    def submit_auto(self, count: int) -> None:
        self._put(pool=frozenset(CARDS), choose=lambda free: _auto(count, free))

    @rule(slots=st.integers(0, 3))
    def submit_for_the_cpu(self, slots: int) -> None:
        self._put(slots=slots)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), held=st.sampled_from([None, "by hand"]))
    def hold_or_release(self, data: st.DataObject, held: str | None) -> None:
        run = self.waiting[data.draw(st.sampled_from(sorted(self.waiting)))]
        self.waiting[run.id] = Waiting(**{**run.__dict__, "held": held})

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def move_first(self, data: st.DataObject) -> None:
        run = self.waiting[data.draw(st.sampled_from(sorted(self.waiting)))]
        first = order(list(self.waiting.values()))[0]
        self.waiting[run.id] = Waiting(**{**run.__dict__, "priority": first.priority, "position": first.position - 1.0})

    @rule(cards=st.sets(st.sampled_from(CARDS)), who=st.sampled_from(["ana", "a program"]))
    def others_take(self, cards: set[str], who: str) -> None:
        ours = {card for run in self.running.values() for card in run.cards}
        self.foreign = dict.fromkeys(cards - ours, who)

    @rule(cards=st.sets(st.sampled_from(CARDS)))
    def others_wait(self, cards: set[str]) -> None:
        self.awaited = dict.fromkeys(cards, "ana")

    @rule()
    def look(self) -> None:
        """One pass, and the start of what it says."""
        decision = decide(
            list(self.waiting.values()), list(self.running.values()), limits=LIMITS, usable=frozenset(CARDS),
            foreign=self.foreign, awaited=self.awaited,
        )  # fmt: skip
        for identifier, cards in decision.start.items():
            run = self.waiting.pop(identifier)
            assert not set(cards) & self.foreign.keys()
            assert run.insists or not set(cards) & self.awaited.keys()
            assert run.held is None
            assert run.choose is not None or frozenset(cards) == run.pool, "all cards of a run, or none"
            slots = 0 if run.choose is not None and cards else min(run.slots, LIMITS.cpu_slots)
            self.running[identifier] = Occupying(identifier, "job", frozenset(cards), slots)
        self.last = decision
        assert decision.waits.keys() == self.waiting.keys(), "every run that does not start has a reason"
        assert all(decision.waits.values())
        for card, claimant in decision.claims.items():
            assert card in self.waiting[claimant].pool

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        del self.running[data.draw(st.sampled_from(sorted(self.running)))]

    @invariant()
    def nothing_is_had_twice(self) -> None:
        cards = [card for run in self.running.values() for card in run.cards]
        assert len(cards) == len(set(cards))
        assert sum(run.slots for run in self.running.values()) <= LIMITS.cpu_slots
        assert len(self.running) <= LIMITS.max_running

    def teardown(self) -> None:
        """Nobody starves: once others are gone and nothing new comes, every run that is not held gets its turn."""
        self.foreign, self.awaited = {}, {}
        self.waiting = {key: Waiting(**{**run.__dict__, "held": None}) for key, run in self.waiting.items()}
        while self.waiting:
            before = len(self.waiting)
            self.running.clear()
            self.look()
            assert len(self.waiting) < before


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
