"""What is said of a run whose processes hold cards that it was not given."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from accel_tui.model.devices import DeviceView, Holder, Inventory
from accel_tui.model.runs import Run, RunState
from accel_tui.supervisor.cards import remark
from support import hosts

RUN = Run("20260131-124107-abcd", "x", "command", RunState.RUNNING, str(Path("/runs/x")), "2026-01-31T12:41:07.250Z",
          devices=(hosts.gaudi(5).key,))  # fmt: skip


def held(module: int, run: str | None, *, simulated: bool = False) -> Inventory:
    card = dataclasses.replace(hosts.gaudi(module), simulated=simulated)
    view = DeviceView(card, holders=(Holder(7, "me", "python", run),))
    others = [DeviceView(hosts.gaudi(other)) for other in range(8) if other != module]
    return Inventory("h", "t", (view, *others, DeviceView(hosts.xpu(0), holders=(Holder(7, "me", "x", RUN.id),))))


def test_only_a_card_that_nobody_can_share_and_that_was_not_given() -> None:
    said = remark(RUN, held(7, RUN.id))
    assert said is not None
    assert f"{hosts.gaudi(7).key} (module 7), and it was given {hosts.gaudi(5).key}" in said
    assert remark(RUN, held(5, RUN.id)) is None, "its own; and a shared GPU proves nothing"
    assert remark(RUN, held(7, None)) is None, "a stranger's"
    assert remark(RUN, held(7, "another")) is None
    assert remark(RUN, held(7, RUN.id, simulated=True)) is None
