"""The queue with cards: simulated ones, but with real locks, real keepers and real waiting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.keeper import locks
from accel_tui.model.errors import DeviceAbsentError, StateFolderError, UsageError
from accel_tui.model.runs import RunState
from support.supervising import Site, site
from support.waiting import wait_for


@pytest.fixture
def demo(own_world: Path) -> Iterator[Site]:
    """Eight invented cards."""
    with site(own_world / "state", "gaudi3") as opened:
        yield opened


def _reserved(demo: Site) -> dict[int, str | None]:
    return {
        int(view.device.module_id): None if view.reserved_by is None else view.reserved_by.run
        for view in demo.client.devices().devices
        if view.device.module_id is not None
    }


def test_two_runs_never_share_a_card_and_others_do_not_wait(demo: Site) -> None:
    first = demo.submit(["sleep", "600"], "gaudi:0,1", yes=True)
    second = demo.submit(["sleep", "600"], "gaudi:1", yes=True)
    third = demo.submit(["sleep", "600"], "gaudi:2", yes=True)
    demo.reach(first, RunState.RUNNING)
    demo.reach(third, RunState.RUNNING)
    waiting = demo.when(second, lambda run: run.waiting_for)
    assert waiting.state is RunState.QUEUED
    assert first in str(waiting.waiting_for)
    reserved = _reserved(demo)
    assert (reserved[0], reserved[1], reserved[2], reserved[3]) == (first, first, third, None)
    demo.client.stop(first, now=True)
    assert demo.reach(second, RunState.RUNNING).simulated


def test_auto_takes_a_free_group_and_else_waits(demo: Site) -> None:
    demo.reach(demo.submit(["sleep", "600"], "gaudi:0", yes=True), RunState.RUNNING)
    four = demo.reach(demo.submit(["sleep", "600"], "auto:gaudi:4", yes=True), RunState.RUNNING)
    assert len(four.devices) == 4
    again = demo.submit(["sleep", "600"], "auto:gaudi:4", yes=True)
    later = demo.submit(["true"], "auto:gaudi:1", yes=True)
    assert wait_for(lambda: demo.client.run(again).waiting_for)
    assert wait_for(lambda: "wanted by the earlier" in str(demo.client.run(later).waiting_for))
    demo.client.stop(four.id, now=True)
    assert set(demo.reach(again, RunState.RUNNING).devices) == set(four.devices)
    demo.finished(later)


def test_a_card_that_somebody_else_holds_is_waited_for(demo: Site) -> None:
    demo.client.connect()
    view = next(view for view in demo.client.devices().devices if view.device.module_id == 3)
    folder = str(locks.lock_folder(str(demo.state / "locks")))
    held = locks.take([str(locks.lock_path(folder, view.device.key))], {"run": "theirs", "user": "ana", "since": "now"})
    try:
        waiting = demo.submit(["true"], "gaudi:3", yes=True)
        run = demo.when(waiting, lambda run: run.waiting_for)
        assert run.state is RunState.QUEUED
        other = demo.submit(["true"], "auto:gaudi:8", yes=True)
        assert demo.client.run(other).state is RunState.QUEUED
    finally:
        for descriptor in held:
            os.close(descriptor)
    demo.finished(waiting)
    demo.finished(other)


def test_a_device_that_is_not_here_is_refused(demo: Site) -> None:
    for select in ("gaudi:77", "pci:0000:ff:1f.0", "auto:gaudi:64", "gaudi:0,99"):
        with pytest.raises(DeviceAbsentError):
            demo.client.submit(demo.submission(["true"], select, yes=True))


def test_cards_of_a_killed_supervisors_run_stay_taken(demo: Site) -> None:
    first = demo.submit(["sleep", "600"], "gaudi:4", yes=True)
    demo.reach(first, RunState.RUNNING)
    demo.kill()
    second = demo.submit(["true"], "gaudi:4", yes=True)
    assert wait_for(lambda: demo.client.run(second).waiting_for)
    demo.client.stop(first, now=True)
    demo.finished(second)


def test_an_unsafe_lock_folder_refuses_runs_that_need_cards(demo: Site, own_world: Path) -> None:
    demo.client.connect()
    (demo.state / "locks").symlink_to(own_world)
    with pytest.raises(StateFolderError, match="lock"):
        demo.submit(["true"], "gaudi:0", yes=True)
    demo.finished(demo.submit(["true"], "none"))


def test_history_of_some_devices_and_readings_in_few_points(demo: Site) -> None:
    keys = [view.device.key for view in demo.client.devices().devices][:2]
    names = ["utilization_percent", "power_watts"]

    def chosen() -> bool:
        found = demo.client.devices_history(60, devices=keys[:1], readings=names[:1])
        return list(found) == keys[:1] and len(found[keys[0]].get(names[0], [])) > 2

    wait_for(chosen)
    everything = demo.client.devices_history(60)
    assert set(keys) < set(everything)
    assert set(names) < set(everything[keys[0]])
    few = demo.client.devices_history(60, devices=keys, readings=names, points=2)
    assert set(few) == set(keys)
    assert all(set(series) == set(names) for series in few.values())
    assert all(0 < len(points) <= 2 for series in few.values() for points in series.values())
    with pytest.raises(UsageError):
        demo.client.devices_history(60, points=-1)
