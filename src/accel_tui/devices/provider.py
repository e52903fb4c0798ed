"""The contract of a device source, and the JSON that crosses the pipe of its probe process.

A vendor may have several sources, such as sysfs and a library: each lives in a probe process of its own, so that one
that hangs costs its readings and never the inventory. The parts of a vendor are joined afterwards (`devices.merge`).

A source module needs nothing of ours but `accel_tui.model`: the contract is structural. It offers a function

    def open_source(places: Places) -> Source: ...

that the probe process calls once. It may raise: the message then becomes a problem of the inventory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from accel_tui.model.devices import READING_NAMES, Device, Holder, Problem, Reading, ReadingStatus, failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = frozenset(READING_NAMES)
_TEXT_READINGS = frozenset({"throttle_reasons"})

Readings = dict[str, dict[str, Reading]]
"""Device key → reading name → reading."""


class Source(Protocol):
    """One layer that knows devices. Called in its probe process alone, from one thread, one call at a time.

    Every call may block or take long: the parent gives it a deadline and replaces the process when it is missed.
    Any exception may be raised; it is reported as a failure of this call alone. Nothing printed reaches the parent.
    Expected faults are values, not exceptions: one card or reading that fails must not cost the others.
    """

    name: str
    """Such as `sysfs`, `hlml` or `hl-smi`: what readings state as their source."""
    vendor: str

    def inventory(self) -> tuple[Sequence[Device], Sequence[Problem]]:
        """The devices that this layer sees now, and what keeps it from seeing more. Keys are stable between calls."""

    def read(self) -> Mapping[str, Mapping[str, Reading]]:
        """Readings by device key and name (`model.devices.READING_NAMES`); names never offered are left out.

        Rates are over the time since the last call; the first call answers them with `pending`. A reading that was
        taken earlier than now states its `age_seconds`.
        """

    def holders(self) -> Mapping[str, Sequence[Holder]]:
        """Processes that have a device open, by device key; devices without any may be left out."""


@dataclass(frozen=True)
class Answer:
    """What one request to a probe brought; the parts that were not asked for are empty."""

    devices: tuple[Device, ...] = ()
    problems: tuple[Problem, ...] = ()
    readings: Readings = field(default_factory=dict)
    holders: dict[str, tuple[Holder, ...]] = field(default_factory=dict)


def ask(source: Source, question: str) -> dict[str, Any]:
    """Put one question (`inventory`, `read` or `holders`) to a source and encode the answer for the pipe.

    Raises:
        ValueError: there is no such question.
        Exception: whatever the source raises.
    """
    if question == "inventory":
        devices, problems = source.inventory()
        return {
            "devices": [device.to_json() for device in devices],
            "problems": [problem.to_json() for problem in problems],
        }
    if question == "read":
        readings = source.read()
        return {"readings": {key: {n: _pack(r) for n, r in named.items()} for key, named in readings.items()}}
    if question == "holders":
        return {"holders": {key: [h.to_json() for h in held] for key, held in source.holders().items()}}
    raise ValueError(f"no such question: {question!r}")


def decode(document: Mapping[str, Any]) -> Answer:
    """The inverse of `ask`. Unknown reading names are dropped; values that are no finite numbers become `failed`.

    Raises:
        ValueError: the document is not what a probe sends.
    """
    try:
        return Answer(
            devices=tuple(_device(item) for item in document.get("devices", ())),
            problems=tuple(Problem.from_json(item) for item in document.get("problems", ())),
            readings={
                key: {name: _unpack(name, packed) for name, packed in named.items() if name in _NAMES}
                for key, named in document.get("readings", {}).items()
            },
            holders={key: tuple(_holder(item) for item in held) for key, held in document.get("holders", {}).items()},
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"not an answer of a source: {type(error).__name__}: {error}") from error


def _pack(reading: Reading) -> list[Any]:
    """A reading as a short list: at 1 Hz and eight cards the pipe carries hundreds a second."""
    packed = [reading.status.value, reading.value, reading.source, reading.reason, reading.age_seconds]
    while packed[-1] is None and len(packed) > 3:
        packed.pop()
    return packed


def _unpack(name: str, packed: Sequence[Any]) -> Reading:
    raw, value, source, reason, age = (*packed, None, None)[:5]
    status, source = ReadingStatus(raw), None if source is None else str(source)
    age = float(age) if isinstance(age, int | float) and math.isfinite(age) else None
    if status is not ReadingStatus.OK:
        reason = None if reason is None else str(reason)
        return Reading(status, reason=reason, source=source, age_seconds=age)
    if name in _TEXT_READINGS:
        return Reading(status, value=str(value), source=source, age_seconds=age)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return failed(f"the source answered {value!r}, which is not a number", source)
    return Reading(status, value=value, source=source, age_seconds=age)


def _device(item: Mapping[str, Any]) -> Device:
    device = Device.from_json(item)
    if not isinstance(device.key, str) or not device.key or not isinstance(device.name, str):
        raise TypeError("a device without a key or a name")
    return device


def _holder(item: Mapping[str, Any]) -> Holder:
    return Holder(int(item["pid"]), item.get("user"), item.get("command"), item.get("run"))
