"""The sampler over real probe processes: union, ages, silence, pace."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.history import Sample
from accel_tui.devices.registry import SourceEntry
from accel_tui.devices.sampler import Sampler
from accel_tui.devices.survey import survey
from accel_tui.model.devices import DeviceState, DeviceView, Inventory, ReadingStatus, ReservedBy
from accel_tui.model.places import Places
from support.sources import standin

FIRST, SECOND = "pci:0000:01:00.0", "pci:0000:02:00.0"


def sampled(entries: Sequence[SourceEntry], body: Callable[[Sampler], Coroutine[Any, Any, None]], **named: Any) -> None:
    async def run() -> None:
        sampler = Sampler(Places(), entries=entries, environment={**os.environ, **named.pop("variables", {})}, **named)
        await sampler.start()
        try:
            await body(sampler)
        finally:
            await sampler.stop()
        assert set(sampler.probe_pids.values()) == {None}, "no probe process is left"

    asyncio.run(run())


async def until(sampler: Sampler, condition: Callable[[Inventory], bool]) -> Inventory:
    """Wait for an inventory of which `condition` holds; the test's time limit bounds it."""
    while True:
        inventory = sampler.snapshot()
        if condition(inventory):
            return inventory
        await asyncio.sleep(0.02)


def by_key(inventory: Inventory) -> dict[str, DeviceView]:
    return {view.device.key: view for view in inventory.devices}


def status(inventory: Inventory, key: str = FIRST, name: str = "utilization_percent") -> ReadingStatus:
    return by_key(inventory)[key].readings[name].status


def test_the_first_answer_has_two_reads_behind_it() -> None:
    async def body(sampler: Sampler) -> None:
        view = by_key(await sampler.inventory(wait=30))[FIRST]
        assert view.readings["utilization_percent"].value == 2.0
        assert view.readings["utilization_percent"].source == "well"
        assert view.readings["utilization_percent"].age_seconds is not None
        assert view.holders[0].command == "me"

    sampled([standin("well")], body)


def test_layers_are_joined_and_the_silent_one_is_named() -> None:
    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        views = by_key(inventory)
        first = views[FIRST].device
        assert (first.name, first.serial, first.uuid) == ("Card", "S1", "U1"), "the first layer, completed"
        assert first.state is DeviceState.NEEDS_RESET
        assert views[SECOND].readings["utilization_percent"].source == "two"
        assert [p.code for p in inventory.problems] == ["layer-silent"]
        assert "test.well" in inventory.problems[0].message
        assert SECOND in inventory.problems[0].message

    sampled([standin("well"), standin("two_cards")], body)


def test_inventory_does_not_wait_for_a_source_that_hangs() -> None:
    async def body(sampler: Sampler) -> None:
        subscription = sampler.subscribe()
        inventory = await sampler.inventory(wait=0.0)
        while FIRST not in by_key(inventory):
            assert await subscription.wait()
            inventory = sampler.snapshot()
        hanging = next(p for p in inventory.problems if "hanging" in p.message)
        assert hanging.code == "source-pending"
        assert sampler.probe_pids["test.hanging"] is not None

    listing, reading = frozenset({"inventory"}), frozenset({"readings"})
    entries = [standin("well", gives=listing), standin("hanging", gives=reading)]
    sampled(entries, body, deadlines=Deadlines(read=60))


def test_core_readings_are_pending_and_then_failed_when_no_source_answers() -> None:
    async def body(sampler: Sampler) -> None:
        inventory = await until(sampler, lambda i: bool(i.devices))
        assert status(inventory) is ReadingStatus.PENDING
        inventory = await until(sampler, lambda i: status(i) is ReadingStatus.FAILED)
        reason = by_key(inventory)[FIRST].readings["power_watts"].reason
        assert reason is not None
        assert "did not finish within" in reason

    entries = [
        standin("well", gives=frozenset({"inventory"})),
        standin("hanging", gives=frozenset({"readings"})),
    ]
    sampled(entries, body, deadlines=Deadlines(read=1.0))


def test_readings_become_stale_when_the_source_falls_silent_and_come_back(tmp_path: Path) -> None:
    async def body(sampler: Sampler) -> None:
        with sampler.watching():
            assert status(await sampler.inventory(wait=30)) is ReadingStatus.OK
            pid = sampler.probe_pids["test.well"]
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            inventory = await until(sampler, lambda i: status(i) is ReadingStatus.STALE)
            view = by_key(inventory)[FIRST]
            assert view.holders, "a card must not look free because nobody answers"
            assert "signal 9" in str(view.readings["utilization_percent"].reason)
            assert view.readings["utilization_percent"].age_seconds is not None
            assert [p.code for p in inventory.problems] == ["source-crashed"]
            sampler.retry()
            inventory = await until(sampler, lambda i: status(i) is ReadingStatus.OK)
            assert inventory.problems == ()

    sampled([standin("well")], body)


def test_a_hung_source_is_given_up_for_the_first_answer() -> None:
    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert {p.code for p in inventory.problems} == {"source-hung", "source-broken"}
        assert FIRST in by_key(inventory)

    entries = [standin("hanging"), standin("refusing"), standin("well")]
    sampled(entries, body, deadlines=Deadlines(start=30, inventory=30, read=1.5, holders=30))


def test_watching_samples_on_and_a_burst_collapses() -> None:
    recorded: list[Sample] = []

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        subscription = sampler.subscribe()
        for _ in range(50):
            sampler.changed()
        inventories = 0
        async for inventory in subscription:
            inventories += 1
            value = by_key(inventory)[FIRST].readings["utilization_percent"].value
            if isinstance(value, float) and value >= 4:
                break
        assert inventories < 20
        subscription.close()
        assert [sample for sample in recorded if sample[:2] == (FIRST, "utilization_percent")][:2]

    sampled([standin("well")], body, record=recorded.extend)


def test_an_unwatched_source_is_asked_again_for_an_answer() -> None:
    now = [100.0]

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        now[0] += 8
        view = by_key(await sampler.inventory(wait=30))[FIRST]
        assert view.readings["utilization_percent"].value == 3.0
        assert view.readings["utilization_percent"].age_seconds == 0

    sampled([standin("well")], body, clock=lambda: now[0])


def test_a_slow_source_is_asked_less_often() -> None:
    async def body(sampler: Sampler) -> None:
        with sampler.watching():
            await sampler.inventory(wait=30)
            while sampler.intervals["test.well"] != 1.0 or sampler.intervals["test.slow"] < 2.0:
                await asyncio.sleep(0.02)

    sampled([standin("well"), standin("slow")], body)


def test_claims_and_runs_come_from_the_supervisor() -> None:
    claim = ReservedBy("run-1", "ana", None)

    async def body(sampler: Sampler) -> None:
        view = by_key(await sampler.inventory(wait=30))[FIRST]
        assert view.reserved_by == claim
        assert view.holders[0].run == "run-1"

    sampled(
        [standin("well")], body, reserved_by=lambda key: claim if key == FIRST else None, run_of=lambda pid: "run-1"
    )


@pytest.mark.parametrize("attribute", ["hanging", "unopened"])
def test_a_survey_ends_in_time_and_names_who_did_not_answer(attribute: str) -> None:
    inventory = survey(object(), entries=[standin("well"), standin(attribute)], seconds=5)
    assert FIRST in by_key(inventory)
    assert any(attribute in problem.message for problem in inventory.problems)
