"""Whatever stands in an answer of a probe: it is read, or refused with one kind of error."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accel_tui.devices.provider import decode
from accel_tui.model.devices import READING_NAMES, ReadingStatus

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
packed = st.lists(scalars | st.sampled_from([status.value for status in ReadingStatus]), max_size=6)


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no finding


@unhurried
@given(st.dictionaries(st.sampled_from(["devices", "problems", "readings", "holders", "x"]), anything))
def test_nonsense_is_refused_as_such(document: dict[str, Any]) -> None:
    with contextlib.suppress(ValueError):
        decode(document)


@unhurried
@given(st.dictionaries(st.text(), st.dictionaries(st.sampled_from(READING_NAMES), packed)))
def test_what_is_accepted_can_be_shown(readings: dict[str, dict[str, list[Any]]]) -> None:
    try:
        answer = decode({"readings": readings})
    except ValueError:
        return
    for named in answer.readings.values():
        for reading in named.values():
            assert (reading.value is not None) == (reading.status is ReadingStatus.OK)
            assert not isinstance(reading.value, float) or math.isfinite(reading.value)
            json.dumps(reading.to_json(), allow_nan=False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "12", True, None, [1]])
def test_only_numbers_are_numbers(value: object) -> None:
    reading = decode({"readings": {"cpu": {"power_watts": ["ok", value, "x"]}}}).readings["cpu"]["power_watts"]
    assert reading.status is ReadingStatus.FAILED
