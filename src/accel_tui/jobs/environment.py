"""The environment of a run: what is taken away, set and kept, each with its reason. Pure."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import re
from typing import TYPE_CHECKING

from accel_tui.jobs.paths import is_hub_name
from accel_tui.model.devices import ALLOCATIONS, DeviceState
from accel_tui.model.plans import EnvironmentAction, EnvironmentChange
from accel_tui.vendors.cpu import launch as cpu
from accel_tui.vendors.gaudi import launch as gaudi
from accel_tui.vendors.xpu import launch as xpu

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import Device, DeviceView, Holder, Inventory
    from accel_tui.model.launching import LaunchShape

VENDORS = {"gaudi": gaudi, "xpu": xpu, "cpu": cpu}

# Variables by which launchers tell processes their rank: ours start a world of their own.
RANK_VARIABLES = (
    "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
    "ROLE_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*", "OMPI_*", "PMI_*", "PMIX_*",
    "MPI_LOCAL*", "MV2_*", "CCL_LOCAL_*", "ACCEL_TUI_RUN", "ACCEL_TUI_RUN_FOLDER", "ACCEL_TUI_CARDS",
    "ACCEL_TUI_CARD_UUIDS",
)  # fmt: skip
# What an outer launcher told its children to do; a job may set these for itself.
_LAUNCHER_VARIABLES = ("ACCELERATE_*", "FSDP_*", "TORCH_ELASTIC_*", "PET_*")


def allocation(base: Mapping[str, str], devices: Iterable[Device] = ()) -> str | None:
    """What limits this process to a part of the host: a scheduler's name, `a container`, or None."""
    for variable, name in ALLOCATIONS.items():
        if base.get(variable):
            return name
    return "a container" if any(device.state is DeviceState.NOT_YOURS for device in devices) else None


def limits(base: Mapping[str, str]) -> dict[str, str]:
    """The variables of `base` that decide what `outside` says."""
    names = (*ALLOCATIONS, *device_variables())
    return {name: value for name, value in base.items() if matches(name, names)}


def outside(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str]:
    """Keys of the accelerators that a process with this environment must not take: those outside its allocation."""
    shut = {device.key for device in devices if device.state is DeviceState.NOT_YOURS}
    return frozenset(shut) | (outside_mask(devices, base) if allocation(base, devices) else frozenset())


def as_seen(inventory: Inventory, base: Mapping[str, str]) -> Inventory:
    """The inventory as it is for a process with this environment: cards outside its allocation are not its own."""
    foreign = outside([view.device for view in inventory.devices], base)
    if not foreign:
        return inventory
    views = tuple(
        dataclasses.replace(view, device=dataclasses.replace(view.device, state=DeviceState.NOT_YOURS))
        if view.device.key in foreign and view.device.state is DeviceState.OPERATIONAL
        else view
        for view in inventory.devices
    )
    return dataclasses.replace(inventory, devices=views)


def taken(view: DeviceView) -> Holder | None:
    """Who has a card open that only one can have; None for one of ours, whose lock tells, and for cards to share."""
    vendor = VENDORS.get(view.device.vendor)
    if vendor is None or not vendor.EXCLUSIVE:
        return None
    return next((holder for holder in view.holders if holder.run is None), None)


@functools.cache
def device_variables() -> tuple[str, ...]:
    """Patterns of every variable that chooses devices, of all vendors."""
    return tuple(pattern for vendor in VENDORS.values() for pattern in vendor.device_variables())


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a variable's name is one of `patterns`, of which some end in `*`."""
    return _expression(patterns).fullmatch(name) is not None


@functools.cache
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


def outside_mask(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str]:
    """Keys of the accelerators that the inherited masks leave out; meaningful inside an allocation."""
    left_out: set[str] = set()
    for name, vendor in VENDORS.items():
        cards = [device for device in devices if device.vendor == name]
        allowed = vendor.allowed(cards, base)
        if allowed is not None:
            left_out |= {card.key for card in cards if card.key not in allowed}
    return frozenset(left_out)


def changes(
    job: Job, devices: Sequence[Device], shape: LaunchShape, *, identifier: str, save_seconds: float,
    secrets: Collection[str], allocated: str | None, undecided: bool = False, roots: Mapping[str, str] | None = None,
) -> tuple[EnvironmentChange, ...]:  # fmt: skip
    """All changes for `job` on `devices`, in the order in which they are shown; each name stands once.

    `undecided`: the devices are not known yet, so their variables are left out. `roots`: where the worker finds device
    files and their descriptions, by variable.
    """
    planned: dict[str, EnvironmentChange] = {}
    for change in (
        *_removed(shape.base, allocated),
        *(() if undecided else _devices(devices, shape)),
        *_common(job, devices, shape, identifier, save_seconds),
        *(_cards(devices, shape, roots or {}) if job.worker else ()),
        *_own(job),
        *_secret(job, secrets),
    ):
        if change.name in planned and matches(change.name, device_variables()) and change.reason == _BY_JOB:
            continue  # the selection decides; a check refuses the job's own word
        planned[change.name] = change
    return tuple(planned.values())


def _removed(base: Mapping[str, str], allocated: str | None) -> Iterable[EnvironmentChange]:
    for name in sorted(base):
        if matches(name, RANK_VARIABLES):
            yield EnvironmentChange(name, None, EnvironmentAction.UNSET, "inherited; would tell the run a wrong rank")
        elif matches(name, _LAUNCHER_VARIABLES):
            yield EnvironmentChange(name, None, EnvironmentAction.UNSET, "inherited; the word of another launcher")
        elif matches(name, device_variables()):
            if allocated is None or matches(name, gaudi.NEVER_INHERITED):
                yield EnvironmentChange(name, None, EnvironmentAction.UNSET, "inherited; the selection decides")
            else:
                reason = f"inherited from {allocated}; limits what may be selected"
                yield EnvironmentChange(name, base[name], EnvironmentAction.KEEP, reason)


def _devices(devices: Sequence[Device], shape: LaunchShape) -> Iterable[EnvironmentChange]:
    chosen = [name for name in VENDORS if any(device.vendor == name for device in devices)]
    accelerators = [name for name in chosen if name != "cpu"]
    for name, vendor in VENDORS.items():
        if name in accelerators or (name == "cpu" and not accelerators):
            yield from vendor.environment([device for device in devices if device.vendor == name], shape)
        elif name != "cpu":
            # Libraries differ in which kind they take first where they see two.
            yield from vendor.hidden(shape)


def _common(
    job: Job, devices: Sequence[Device], shape: LaunchShape, identifier: str, save_seconds: float
) -> Iterable[EnvironmentChange]:
    yield _set("ACCEL_TUI_RUN", identifier, "marks the processes of the run")
    yield _set("ACCEL_TUI_RUN_FOLDER", shape.folder, "where the run keeps its files")
    yield _set("PYTHONUNBUFFERED", "1", "output reaches the log at once")
    yield from _threads(devices, shape)
    if shape.launched:
        reason = "after a stop the launcher waits as long for its ranks"
        yield _set("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(int(save_seconds)), reason)
    if shape.uses_torch and any(device.simulated for device in devices):
        yield _set("ACCELERATE_USE_CPU", "true", "the devices are simulated: accelerate and Trainer use the CPU")
    if not job.worker:
        return
    old = job.launch.env.get("PYTHONPATH", shape.base.get("PYTHONPATH"))
    path = f"{shape.folder}/worker.pyz" + (f":{old}" if old else "")
    yield _set("PYTHONPATH", path, "the worker stands in front of what was there")
    if "TOKENIZERS_PARALLELISM" not in shape.base:
        yield _set("TOKENIZERS_PARALLELISM", "false", "tokenizers would warn when data loaders fork")
    yield _set("HF_HUB_DISABLE_TELEMETRY", "1", "the run reports to nobody")
    model = getattr(getattr(job, "model", None), "path", None)
    if model is not None and not is_hub_name(model):
        yield _set("HF_HUB_OFFLINE", "1", "the model is a folder of this host")


def _cards(devices: Sequence[Device], shape: LaunchShape, roots: Mapping[str, str]) -> Iterable[EnvironmentChange]:
    """What the worker compares with the cards that its ranks hold; nothing for simulated ones, which nobody holds."""
    real = [device for device in devices if device.vendor != "cpu" and not device.simulated]
    cards = [device.key for device in real]
    if all(device.vendor == "xpu" for device in real):
        cards = list(xpu.expected_keys(real, shape.inventory))
    if not cards:
        return
    yield _set("ACCEL_TUI_CARDS", ",".join(cards), "each rank proves that it holds its card of these")
    chips = xpu.chip_uuids(real)
    if chips:
        yield _set("ACCEL_TUI_CARD_UUIDS", chips, "their uuids name the chip and not the address")
    for name, place in roots.items():
        yield _set(name, place, "where the worker looks up which card it holds")


def _threads(devices: Sequence[Device], shape: LaunchShape) -> Iterable[EnvironmentChange]:
    """Threads per process: the launchers would set one, and torch in each rank all of them."""
    inherited = shape.base.get("OMP_NUM_THREADS")
    vendors = {device.vendor for device in devices if device.vendor != "cpu" and not device.simulated}
    cards = sum(device.vendor in vendors for device in shape.inventory)
    if inherited is not None:
        yield EnvironmentChange("OMP_NUM_THREADS", inherited, EnvironmentAction.KEEP, "inherited")
    elif vendors and shape.launched:
        share = max(shape.processes, cards)
        threads = max(1, shape.cores // share)
        yield _set("OMP_NUM_THREADS", str(threads), f"{shape.cores} cores over {share} cards")
    elif not vendors and shape.uses_torch:
        threads = max(1, shape.cores // shape.processes)
        plural = "es" if shape.processes > 1 else ""
        yield _set("OMP_NUM_THREADS", str(threads), f"{shape.cores} cores over {shape.processes} process{plural}")


_BY_JOB = "set by the job"


def _own(job: Job) -> Iterable[EnvironmentChange]:
    for name, value in job.launch.env.items():
        if not (name == "PYTHONPATH" and job.worker) and not name.startswith("ACCEL_TUI_RUN"):
            yield _set(name, value, _BY_JOB)


def _secret(job: Job, secrets: Collection[str]) -> Iterable[EnvironmentChange]:
    for name in job.launch.env_from:
        reason = "taken from the submitting shell, never stored"
        yield EnvironmentChange(name, None, EnvironmentAction.SET, reason, secret=True)
    for name in sorted(set(secrets) - set(job.launch.env_from) - set(job.launch.env)):
        yield EnvironmentChange(name, None, EnvironmentAction.KEEP, "inherited secret, never stored", secret=True)


def _set(name: str, value: str, reason: str) -> EnvironmentChange:
    return EnvironmentChange(name, value, EnvironmentAction.SET, reason)
