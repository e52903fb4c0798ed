"""What would run: a plan, its environment changes, and the checks made of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class CheckLevel(str, enum.Enum):
    """How much a finding weighs."""

    PASS = "pass"  # noqa: S105 - a level, not a password
    WARNING = "warning"
    """Told; the run goes on."""
    ASK = "ask"
    """A question: `--yes` answers it on the command line."""
    REFUSAL = "refusal"
    """The run is refused unless overridden by id; the override is recorded."""
    UNKNOWN = "unknown"
    """The check could not be made; it says why."""


@dataclass(frozen=True)
class Check:
    """One examined fact about a plan or about the host."""

    id: str
    """Stable name in kebab case, as `--override` takes it."""
    level: CheckLevel
    message: str
    remedy: str | None = None
    seconds: float = 0.0
    """How long the examination took."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "level": self.level.value,
            "message": self.message,
            "remedy": self.remedy,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Check:
        return cls(
            id=str(document["id"]),
            level=CheckLevel(document["level"]),
            message=str(document["message"]),
            remedy=document.get("remedy"),
            seconds=float(document.get("seconds", 0.0)),
        )


class EnvironmentAction(str, enum.Enum):
    """What a plan does to one variable of the base environment."""

    SET = "set"
    UNSET = "unset"
    KEEP = "keep"
    """Inherited and important enough to be named."""


@dataclass(frozen=True)
class EnvironmentChange:
    """One variable that the run gets, loses or is known to keep, and why."""

    name: str
    value: str | None
    """None when unset, and for a secret, whose value is never held here."""
    action: EnvironmentAction
    reason: str
    secret: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "action": self.action.value, "reason": self.reason}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EnvironmentChange:
        from accel_tui.model.secrets import is_secret_name

        name = str(document["name"])
        return cls(name, document["value"], EnvironmentAction(document["action"]), str(document["reason"]),
                   secret=document["value"] is None and is_secret_name(name))  # fmt: skip


@dataclass(frozen=True)
class PlanWarning:
    """A remark on a plan that stops nothing."""

    code: str
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True)
class Plan:
    """All that a start of this job would do, decided from specification, inventory and base environment alone."""

    job: str
    """The job's name."""
    kind: str
    argv: tuple[str, ...]
    """The exact argument list; secret arguments are masked, see `secret_arguments`."""
    cwd: str
    folder: str
    """The run folder, absolute."""
    environment: tuple[EnvironmentChange, ...] = ()
    devices: tuple[str, ...] = ()
    """Device keys, in the order that the job sees them."""
    verified: bool = True
    """False when a selected device is not on this host."""
    waiting_for: str | None = None
    """What the selection waits for when `auto` finds nothing free now; None when it is decided."""
    slots: int = 0
    """CPU slots that the run occupies."""
    processes: int = 1
    """Worker processes that are expected to report."""
    ports: tuple[int, ...] = ()
    """Loopback TCP ports that are held for the launcher."""
    secret_arguments: tuple[int, ...] = ()
    """Indexes into `argv` whose text is masked here and supplied to the keeper by pipe."""
    checks: tuple[Check, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further figures for the screen, such as bytes of weights; never needed to run."""

    def to_json(self) -> dict[str, Any]:
        """The document of `plan --json` (schema 1) plus what the keeper needs."""
        return {
            "schema": 1,
            "job": self.job,
            "kind": self.kind,
            "argv": list(self.argv),
            "cwd": self.cwd,
            "folder": self.folder,
            "environment": [change.to_json() for change in self.environment],
            "devices": list(self.devices),
            "verified": self.verified,
            "waiting_for": self.waiting_for,
            "slots": self.slots,
            "processes": self.processes,
            "ports": list(self.ports),
            "secret_arguments": list(self.secret_arguments),
            "checks": [check.to_json() for check in self.checks],
            "warnings": [warning.to_json() for warning in self.warnings],
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        return cls(
            job=document["job"],
            kind=document["kind"],
            argv=tuple(document["argv"]),
            cwd=document["cwd"],
            folder=document["folder"],
            environment=tuple(EnvironmentChange.from_json(change) for change in document["environment"]),
            devices=tuple(document["devices"]),
            verified=document["verified"],
            waiting_for=document.get("waiting_for"),
            slots=document.get("slots", 0),
            processes=document.get("processes", 1),
            ports=tuple(document.get("ports", ())),
            secret_arguments=tuple(document.get("secret_arguments", ())),
            checks=tuple(Check.from_json(check) for check in document["checks"]),
            warnings=tuple(PlanWarning(warning["code"], warning["message"]) for warning in document["warnings"]),
            facts=document.get("facts", {}),
        )
