"""The queue's promises, for any queue: no card twice, first come first served, no run without a reason to wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accel_tui.supervisor.queue import Decision, Limits, Occupying, Waiting, decide, order

CARDS = frozenset("abcd")
cards = st.frozensets(st.sampled_from(sorted(CARDS)), max_size=4)


def _auto(count: int) -> Waiting:
    def choose(free: frozenset[str]) -> tuple[str, ...] | None:
        return tuple(sorted(free)[:count]) if len(free) >= count else None

    return Waiting("", "", 0, 0.0, pool=CARDS, choose=choose)


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[Waiting], list[Occupying], Limits, dict[str, str]]:
    waiting = []
    for number in range(draw(st.integers(0, 7))):
        auto = draw(st.integers(0, 3))
        shape = _auto(auto) if auto else Waiting("", "", 0, 0.0, pool=draw(cards), slots=draw(st.integers(0, 2)))
        waiting.append(
            Waiting(
                id=f"w{number}",
                name=f"job{number}",
                priority=draw(st.integers(-1, 1)),
                position=float(draw(st.integers(0, 3))),
                pool=shape.pool,
                choose=shape.choose,
                slots=shape.slots,
                held=draw(st.sampled_from([None, None, None, "by hand"])),
                after=draw(st.sampled_from([None, None, None, "run other to finish"])),
            )
        )
    occupied = draw(cards)
    occupying = [Occupying(f"o{card}", f"old{card}", frozenset(card)) for card in occupied]
    occupying += [Occupying(f"s{n}", "slot", slots=1) for n in range(draw(st.integers(0, 2)))]
    limits = Limits(draw(st.integers(1, 6)), draw(st.integers(1, 3)))
    foreign = dict.fromkeys(draw(cards), "ana")
    return waiting, occupying, limits, foreign


def _decide(queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]]) -> Decision:
    waiting, occupying, limits, foreign = queue
    return decide(waiting, occupying, limits=limits, usable=CARDS, foreign=foreign)


@given(queues())
def test_no_card_is_given_twice_and_none_that_is_taken(
    queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]],
) -> None:
    decision = _decide(queue)
    given_out = [card for choice in decision.start.values() for card in choice]
    assert len(given_out) == len(set(given_out))
    assert not set(given_out) & {card for run in queue[1] for card in run.cards}
    assert not set(given_out) & set(queue[3])


@given(queues())
def test_every_run_starts_or_has_a_reason_to_wait(
    queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]],
) -> None:
    decision = _decide(queue)
    assert decision.start.keys() | decision.waits.keys() == {run.id for run in queue[0]}
    assert not decision.start.keys() & decision.waits.keys()
    assert all(decision.waits.values())


@given(queues())
def test_nothing_wanted_by_an_earlier_run_is_given_to_a_later_one(
    queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]],
) -> None:
    decision = _decide(queue)
    wanted: set[str] = set()
    slots_wanted = False
    for run in order(queue[0]):
        if run.id in decision.start:
            assert not wanted & set(decision.start[run.id])
            assert not (slots_wanted and run.slots)
        elif run.held is None and run.after is None:
            wanted |= run.pool
            slots_wanted = slots_wanted or run.slots > 0


@given(queues())
def test_the_limits_are_kept(queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]]) -> None:
    waiting, occupying, limits, _ = queue
    decision = _decide(queue)
    started = [run for run in waiting if run.id in decision.start]
    assert not started or len(started) + len(occupying) <= limits.max_running
    assert not any(run.held or run.after for run in started)
    slots = sum(min(run.slots, limits.cpu_slots) for run in started if run.choose is None)
    assert not slots or slots + sum(run.slots for run in occupying) <= limits.cpu_slots


@given(queues())
def test_the_first_that_may_run_does_run_when_nothing_is_in_its_way(
    queue: tuple[list[Waiting], list[Occupying], Limits, dict[str, str]],
) -> None:
    waiting, _, limits, _ = queue
    able = [run for run in order(waiting) if run.held is None and run.after is None]
    decision = decide(waiting, [], limits=limits, usable=CARDS, foreign={})
    assert not able or able[0].id in decision.start


def test_a_free_card_is_not_given_past_an_earlier_run_that_wants_it() -> None:
    waiting = [
        Waiting("1", "big", 0, 1.0, pool=frozenset("ab")),
        Waiting("2", "small", 0, 2.0, pool=frozenset("b")),
        Waiting("3", "other", 0, 3.0, pool=frozenset("c")),
    ]
    busy = [Occupying("0", "now", frozenset("a"))]
    decision = decide(waiting, busy, limits=Limits(), usable=CARDS, foreign={})
    assert decision.start == {"3": ("c",)}
    assert decision.waits["1"] == "its devices: a is held by run now (0)"
    assert decision.waits["2"] == "its devices: b is wanted by the earlier run big (1)"


def test_a_run_that_waits_for_another_does_not_keep_cards_from_it() -> None:
    waiting = [
        Waiting("1", "second", 5, 1.0, pool=frozenset("a"), after="run first (2) to finish"),
        Waiting("2", "first", 0, 2.0, pool=frozenset("a")),
    ]
    assert decide(waiting, [], limits=Limits(), usable=CARDS, foreign={}).start == {"2": ("a",)}


def test_priority_goes_before_position() -> None:
    waiting = [Waiting("1", "early", 0, 1.0, pool=frozenset("a")), Waiting("2", "urgent", 1, 2.0, pool=frozenset("a"))]
    assert decide(waiting, [], limits=Limits(), usable=CARDS, foreign={}).start == {"2": ("a",)}
