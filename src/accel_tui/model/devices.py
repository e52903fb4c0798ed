"""Devices, what is read of them, and what an inventory says."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

READING_NAMES: tuple[str, ...] = (
    "utilization_percent",
    "memory_used_bytes",
    "memory_bandwidth_percent",
    "power_watts",
    "power_limit_watts",
    "energy_joules",
    "temperature_celsius",
    "temperature_memory_celsius",
    "clock_mhz",
    "throttle_reasons",
    "ecc_corrected",
    "ecc_uncorrected",
    "pcie_gen",
    "pcie_width",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
    "fan_rpm",
    "links_up",
    "links_expected",
    "reset_count",
    "utilization_compute_percent",
    "utilization_render_percent",
    "utilization_copy_percent",
    "utilization_media_percent",
    "memory_bandwidth_bytes_per_second",
)
"""Every reading that the contract knows; a vendor leaves out what it never offers."""


class ReadingStatus(str, enum.Enum):
    """Whether a reading is a number, and if not, why not."""

    OK = "ok"
    PENDING = "pending"
    """Asked, not answered yet."""
    ABSENT = "absent"
    """This device does not have it."""
    DENIED = "denied"
    """Rights are missing; the reason names them."""
    FAILED = "failed"
    STALE = "stale"
    """The source fell silent; the age says since when."""


@dataclass(frozen=True)
class Reading:
    """One value of one device, or the reason why there is none."""

    status: ReadingStatus
    value: float | str | None = None
    """Set only when `status` is ok; unit as in the reading's name. `throttle_reasons` alone is text."""
    reason: str | None = None
    source: str | None = None
    """Which layer answered, such as `proc`, `sysfs` or `hl-smi`."""
    age_seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"status": self.status.value, "value": self.value}
        if self.status is not ReadingStatus.OK:
            document["value"] = None
            document["reason"] = self.reason or self.status.value
        document["source"] = self.source
        document["age_seconds"] = None if self.age_seconds is None else round(self.age_seconds, 3)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Reading:
        return cls(
            status=ReadingStatus(document["status"]),
            value=document.get("value"),
            reason=document.get("reason"),
            source=document.get("source"),
            age_seconds=document.get("age_seconds"),
        )


def ok(value: float | str, source: str) -> Reading:
    """A reading that has its number."""
    return Reading(ReadingStatus.OK, value=value, source=source)


def absent(reason: str, source: str | None = None) -> Reading:
    """A reading that this device does not have."""
    return Reading(ReadingStatus.ABSENT, reason=reason, source=source)


def denied(reason: str, source: str | None = None) -> Reading:
    """A reading that needs a right this account lacks; the reason names the right."""
    return Reading(ReadingStatus.DENIED, reason=reason, source=source)


def failed(reason: str, source: str | None = None) -> Reading:
    """A reading whose source answered with a fault."""
    return Reading(ReadingStatus.FAILED, reason=reason, source=source)


ALLOCATIONS = {
    "SLURM_JOB_ID": "Slurm",
    "PBS_JOBID": "PBS",
    "LSB_JOBID": "LSF",
    "KUBERNETES_SERVICE_HOST": "Kubernetes",
}
"""Variables of schedulers that give a process a part of the host, with the schedulers' names."""


class DeviceState(str, enum.Enum):
    """What condition a device is in; all but the first are never offered by `auto`."""

    OPERATIONAL = "operational"
    RESETTING = "resetting"
    RELEASING = "releasing"
    DISABLED = "disabled"
    NEEDS_RESET = "needs-reset"
    LOST = "lost"
    NOT_DRIVEN = "not-driven"
    """On PCI, without a driver."""
    NO_NODE = "no-node"
    NO_ACCESS = "no-access"
    NOT_YOURS = "not-yours"
    """Outside the allocation or container."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Holder:
    """A process that has a device open."""

    pid: int
    user: str | None
    """None when the owner is hidden from us."""
    command: str | None
    run: str | None = None
    """The id of the run it belongs to, when it is one of ours."""

    def to_json(self) -> dict[str, Any]:
        return {"pid": self.pid, "user": self.user, "command": self.command, "run": self.run}


@dataclass(frozen=True)
class ReservedBy:
    """Who holds a device's lock. Another user's entry is only a claim: it was written by whoever holds it."""

    run: str | None
    user: str | None
    since: str | None
    """RFC 3339, UTC."""

    def to_json(self) -> dict[str, Any]:
        return {"run": self.run, "user": self.user, "since": self.since}


@dataclass(frozen=True)
class Device:
    """One accelerator, tile or host CPU."""

    key: str
    """Stable identity: `pci:0000:17:00.0`, with `#T` for a tile, or `cpu`."""
    vendor: str
    """`gaudi`, `xpu`, `cpu`."""
    torch_device: str
    """The device type in torch's words: `hpu`, `xpu`, `cpu`."""
    name: str
    index: int | None = None
    """Display only: it may move between two starts."""
    module_id: int | None = None
    pci_address: str | None = None
    pci_order: int | None = None
    """Rank among the vendor's discrete devices by PCI address."""
    uuid: str | None = None
    serial: str | None = None
    driver_version: str | None = None
    memory_total_bytes: int | None = None
    numa_node: int | None = None
    state: DeviceState = DeviceState.OPERATIONAL
    simulated: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    """Vendor-specific facts for display, such as cores; JSON values only."""

    def to_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "vendor": self.vendor,
            "torch_device": self.torch_device,
            "index": self.index,
            "module_id": self.module_id,
            "pci_address": self.pci_address,
            "pci_order": self.pci_order,
            "name": self.name,
            "uuid": self.uuid,
            "serial": self.serial,
            "driver_version": self.driver_version,
            "memory_total_bytes": self.memory_total_bytes,
            "numa_node": self.numa_node,
            "state": self.state.value,
            "simulated": self.simulated,
            "details": dict(self.details),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Device:
        return cls(
            key=document["key"],
            vendor=document["vendor"],
            torch_device=document["torch_device"],
            name=document["name"],
            index=document.get("index"),
            module_id=document.get("module_id"),
            pci_address=document.get("pci_address"),
            pci_order=document.get("pci_order"),
            uuid=document.get("uuid"),
            serial=document.get("serial"),
            driver_version=document.get("driver_version"),
            memory_total_bytes=document.get("memory_total_bytes"),
            numa_node=document.get("numa_node"),
            state=DeviceState(document.get("state", "unknown")),
            simulated=bool(document.get("simulated")),
            details=document.get("details", {}),
        )


@dataclass(frozen=True)
class Problem:
    """Something that keeps a vendor, or the host, from being seen in full."""

    vendor: str | None
    """None when it is not about a vendor."""
    code: str
    message: str
    remedy: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"vendor": self.vendor, "code": self.code, "message": self.message, "remedy": self.remedy}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Problem:
        return cls(document["vendor"], document["code"], document["message"], document.get("remedy"))


class SourceFault(Exception):  # noqa: N818 - also says what is so
    """Raised by a source that cannot answer for a reason that a person can do something about."""

    def __init__(self, message: str, remedy: str | None = None, *, code: str = "raised", rests: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code
        """The problem becomes `source-CODE`."""
        self.rests = rests
        """Whether the source is asked again ever more rarely, as after a tool that hung."""


@dataclass(frozen=True)
class DeviceView:
    """A device with everything that is known of it at one moment: the row of `devices`."""

    device: Device
    readings: Mapping[str, Reading] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    reserved_by: ReservedBy | None = None
    awaited_by: tuple[ReservedBy, ...] = ()
    """Other users whose runs wait for it, the longest first."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.device.to_json(),
            "reserved_by": None if self.reserved_by is None else self.reserved_by.to_json(),
            "awaited_by": [claim.to_json() for claim in self.awaited_by],
            "holders": [holder.to_json() for holder in self.holders],
            "readings": {name: reading.to_json() for name, reading in self.readings.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DeviceView:
        claim = document.get("reserved_by")
        return cls(
            device=Device.from_json(document),
            readings={name: Reading.from_json(reading) for name, reading in document["readings"].items()},
            holders=tuple(
                Holder(holder["pid"], holder["user"], holder["command"], holder["run"])
                for holder in document["holders"]
            ),
            reserved_by=None if claim is None else ReservedBy(claim["run"], claim["user"], claim["since"]),
            awaited_by=tuple(
                ReservedBy(one["run"], one["user"], one["since"]) for one in document.get("awaited_by", ())
            ),
        )


@dataclass(frozen=True)
class Inventory:
    """What `devices` answers with."""

    host: str
    time: str
    """RFC 3339, UTC, milliseconds."""
    devices: tuple[DeviceView, ...] = ()
    problems: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "host": self.host,
            "time": self.time,
            "devices": [view.to_json() for view in self.devices],
            "problems": [problem.to_json() for problem in self.problems],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Inventory:
        return cls(
            host=document["host"],
            time=document["time"],
            devices=tuple(DeviceView.from_json(device) for device in document["devices"]),
            problems=tuple(Problem.from_json(problem) for problem in document["problems"]),
        )
