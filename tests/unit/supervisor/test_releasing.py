"""How long a card that a run gave back is kept from the next one."""

from __future__ import annotations

import dataclasses
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from accel_tui.devices.sampler import Sampler
from accel_tui.model.devices import DeviceState, DeviceView
from accel_tui.model.places import Places
from accel_tui.supervisor.releasing import RESET_SECONDS, SILENT_SECONDS, Releasing, _Left
from support import hosts


@pytest.mark.parametrize(
    ("state", "seconds", "held"),
    [
        (DeviceState.OPERATIONAL, 0.0, False),
        (DeviceState.RELEASING, 0.0, True),
        (DeviceState.RELEASING, SILENT_SECONDS + 5, True),
        (DeviceState.RESETTING, SILENT_SECONDS + 5, True),
        (DeviceState.RELEASING, RESET_SECONDS + 5, False),
        (DeviceState.DISABLED, 0.0, False),
    ],
)
def test_the_drivers_word_that_it_resets_a_card_is_believed_for_a_minute(
    state: DeviceState, seconds: float, *, held: bool
) -> None:
    releasing = Releasing(cast("Any", SimpleNamespace(sampler=Sampler(Places(), entries=()))))
    view = DeviceView(dataclasses.replace(hosts.gaudi(2), state=state))
    left = _Left("20261130-184736-v42m", "one", time.monotonic() - seconds, None)
    assert (releasing._held(view, left) is not None) == held
