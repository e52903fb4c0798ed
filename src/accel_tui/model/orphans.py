"""Processes that hold a device, or are left of a run, and that nobody looks after any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Orphan:
    """One such process, as every face shows it."""

    pid: int
    start_time: int
    """Field 22 of `/proc/PID/stat`: which process of this pid is meant."""
    user: str | None
    """None where its owner is hidden from us."""
    age_seconds: float
    command: str | None
    """Foreign text."""
    devices: tuple[str, ...]
    """Keys of the devices that it has open."""
    run: str | None
    """The finished run that it is left of."""
    reason: str
    """Why it is taken for an orphan, in words."""
    mine: bool
    """Whether it is a process of this account, which alone can be ended."""

    def to_json(self) -> dict[str, Any]:
        return {
            "pid": self.pid,
            "start_time": self.start_time,
            "user": self.user,
            "age_seconds": round(self.age_seconds, 1),
            "command": self.command,
            "devices": list(self.devices),
            "run": self.run,
            "reason": self.reason,
            "mine": self.mine,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Orphan:
        return cls(
            pid=int(document["pid"]),
            start_time=int(document["start_time"]),
            user=document["user"],
            age_seconds=float(document["age_seconds"]),
            command=document["command"],
            devices=tuple(document["devices"]),
            run=document["run"],
            reason=str(document["reason"]),
            mine=bool(document["mine"]),
        )
