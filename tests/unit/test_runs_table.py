"""The table of legal moves, pair by pair."""

from __future__ import annotations

import itertools

import pytest

from accel_tui.model.runs import MOVES, RunState

LEGAL = {
    ("queued", "preparing"),
    ("queued", "finished"),
    ("preparing", "queued"),
    ("preparing", "starting"),
    ("preparing", "finished"),
    ("starting", "queued"),
    ("starting", "running"),
    ("starting", "stopping"),
    ("starting", "finished"),
    ("running", "stopping"),
    ("running", "finished"),
    ("stopping", "finished"),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(RunState, RunState)))
def test_every_pair_of_states_is_decided_by_the_table(before: RunState, after: RunState) -> None:
    assert (after in MOVES[before]) == ((before.value, after.value) in LEGAL)
