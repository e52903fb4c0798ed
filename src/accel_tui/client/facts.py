"""What a supervisor tells, and how the link to it stands, as typed facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.model.devices import Inventory
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.protocol.sse import Event


@dataclass(frozen=True)
class Connected:
    """A supervisor answered; a snapshot follows."""

    greeting: Mapping[str, Any]


@dataclass(frozen=True)
class Heard:
    """A sign of life without news."""


@dataclass(frozen=True)
class Lost:
    """Nobody answers."""

    message: str
    remedy: str | None
    again_seconds: float
    """When it is tried again."""


@dataclass(frozen=True)
class Snapshot:
    """Everything, at the beginning of a link."""

    inventory: Inventory
    runs: tuple[Run, ...]
    """Live ones and those of the last days, newest first."""


@dataclass(frozen=True)
class DevicesRead:
    """A new picture of the devices."""

    inventory: Inventory


@dataclass(frozen=True)
class RunTold:
    """A run is new or has changed."""

    run: Run


@dataclass(frozen=True)
class RunRemoved:
    """The record of a run was removed."""

    id: str


@dataclass(frozen=True)
class Noticed:
    """A remark of the supervisor."""

    message: str


Fact = Connected | Heard | Lost | Snapshot | DevicesRead | RunTold | RunRemoved | Noticed


def fact_of(event: Event) -> Fact:
    """The fact that an event tells; of an event that a newer supervisor sends and we do not know, that it lives.

    Raises:
        KeyError, TypeError, ValueError: the event does not hold what its name promises.
    """
    data = event.data
    if event.name == "snapshot":
        return Snapshot(Inventory.from_json(data["inventory"]), tuple(Run.from_json(run) for run in data["runs"]))
    if event.name == "devices":
        return DevicesRead(Inventory.from_json(data))
    if event.name == "run":
        return RunTold(Run.from_json(data))
    if event.name == "removed":
        return RunRemoved(str(data["id"]))
    if event.name == "notice":
        return Noticed(str(data["message"]))
    return Heard()
