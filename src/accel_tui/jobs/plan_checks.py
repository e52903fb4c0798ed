"""Checks of a plan that need nothing but the plan's own inputs. Pure."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.jobs import containers, environment, gaudi_checks
from accel_tui.keeper.locks import user_name
from accel_tui.model.devices import DeviceState
from accel_tui.model.plans import Check, CheckLevel, PlanWarning
from accel_tui.vendors.gaudi import launch as gaudi
from accel_tui.vendors.xpu import launch as xpu

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from accel_tui.jobs.selectors import Selection, Selector
    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import DeviceView, Inventory

_MOST = 60
"""Characters of a variable's value that a warning quotes."""


DOUBTS = frozenset({gaudi_checks.IN_USE})
"""Questions about a moment: asked when a run is submitted, told when it starts."""


@dataclass(frozen=True)
class Context:
    """What planning knows when it checks."""

    job: Job
    selector: Selector
    selection: Selection
    inventory: Inventory
    base: Mapping[str, str]
    secrets: Collection[str]
    processes: int
    allocated: str | None
    foreign: frozenset[str]
    """Keys outside the allocation."""
    secret_in_argv: bool

    @property
    def accelerators(self) -> list[DeviceView]:
        cards = {device.key.partition("#")[0] for device in self.selection.devices if device.vendor != "cpu"}
        return [view for view in self.inventory.devices if view.device.key in cards]


def run(context: Context) -> tuple[Check, ...]:
    """Every finding; a check that has nothing to say is left out."""
    checks = (
        _here,
        _state,
        _busy,
        _yours,
        _vendors,
        gaudi_checks.run,
        _processes,
        _environment,
        _env_from,
        _secret,
        _image,
    )
    return tuple(finding for check in checks for finding in check(context))


def warnings(context: Context) -> tuple[PlanWarning, ...]:
    """Remarks that stop nothing."""
    remarks = []
    if any(device.simulated for device in context.selection.devices):
        text = "the selected devices are simulated: their variables are set, and the job runs on the CPU"
        remarks.append(PlanWarning("simulated", text))
    if context.selection.missing:
        text = f"not on this host: {', '.join(context.selection.missing)}; the plan is not verified"
        remarks.append(PlanWarning("device-absent", text))
    if not context.selection.possible:
        remarks.append(PlanWarning("device-absent", f"this host never has {context.selection.waiting_for}"))
    elif context.selection.waiting_for:
        remarks.append(PlanWarning("waiting", f"waits for {context.selection.waiting_for}"))
    if context.allocated:
        text = f"inside {context.allocated}: the run lasts no longer than the allocation or container"
        remarks.append(PlanWarning("allocation", text))
    remarks += _inherited(context)
    remarks += gaudi_checks.warnings(context)
    everything = [view.device for view in context.inventory.devices]
    remarks += xpu.warnings([device for device in context.selection.devices if device.vendor == "xpu"], everything)
    return tuple(remarks)


def _inherited(context: Context) -> Iterator[PlanWarning]:
    """Variables of the submitter's shell that choose devices or ranks, and that selection and launcher put aside.

    Inside an allocation masks stay, as the limit, and the scheduler's own rank variables are nothing to tell of.
    """
    patterns: tuple[str, ...] = (*environment.device_variables(), *environment.RANK_VARIABLES)
    if context.allocated is not None:
        patterns = gaudi.NEVER_INHERITED
    names = [name for name in sorted(context.base)
             if environment.matches(name, patterns) and not name.startswith("ACCEL_TUI_")]  # fmt: skip
    if names:
        told = ", ".join(f"{name}={_short(context.base[name])}" for name in names)
        text = f"exported here and put aside, as selection and launcher decide: {told}"
        yield PlanWarning("inherited-device-variables", text)


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _here(context: Context) -> Iterator[Check]:
    if context.selection.missing:
        names = ", ".join(context.selection.missing)
        yield Check("devices-here", CheckLevel.REFUSAL, f"not on this host: {names}", "see `accel-tui devices`")
    elif not context.selection.possible:
        message = f"this host never has {context.selection.waiting_for}"
        yield Check("devices-here", CheckLevel.REFUSAL, message, "see `accel-tui devices`")
    elif context.selection.keys:
        yield Check("devices-here", CheckLevel.PASS, f"selected: {', '.join(context.selection.keys)}")


def _state(context: Context) -> Iterator[Check]:
    for view in context.accelerators:
        if view.device.state is not DeviceState.OPERATIONAL:
            message = f"{view.device.key} is {view.device.state.value}"
            yield Check("device-state", CheckLevel.WARNING, message, "choose another, or see `accel-tui doctor`")


def _busy(context: Context) -> Iterator[Check]:
    for view in context.accelerators:
        if view.reserved_by is not None or view.holders:
            waits = view.reserved_by is not None or environment.taken(view) is not None
            remedy = "the run will wait" if waits else "the run will share it"
            yield Check("device-busy", CheckLevel.WARNING, f"{view.device.key} is held by {holder_words(view)}", remedy)


def holder_words(view: DeviceView) -> str:
    """Who holds a device, in words."""
    if view.reserved_by is not None:
        return f"run {view.reserved_by.run}" if view.reserved_by.run else view.reserved_by.user or "another user"
    first = view.holders[0]
    if first.user is None:
        return f"another user's process {first.pid}"
    whose = "" if first.user == _me() else "another user's "
    return f"{whose}process {first.pid} ({first.user})"


@functools.cache
def _me() -> str:
    """The account that plans, which is the one that submits."""
    return user_name(os.getuid())


def _yours(context: Context) -> Iterator[Check]:
    listed = {view.device.key for view in context.inventory.devices}
    shut = {view.device.key for view in context.accelerators if view.device.state is DeviceState.NOT_YOURS}
    outside = []
    for device in context.selection.devices:
        card = device.key.partition("#")[0]
        # A tile that has no row of its own stands or falls with its card.
        key = device.key if device.key in listed else card
        if device.vendor != "cpu" and (key in context.foreign or card in shut):
            outside.append(device.key)
    if outside:
        message = f"outside your allocation: {', '.join(outside)}"
        yield Check("not-yours", CheckLevel.ASK, message, "choose cards of the allocation")


def _vendors(context: Context) -> Iterator[Check]:
    devices = (*context.selection.devices, *context.selection.assumed)
    vendors = sorted({device.vendor for device in devices if device.vendor != "cpu"})
    if len(vendors) > 1:
        level = CheckLevel.REFUSAL if context.job.uses_torch else CheckLevel.ASK
        message = f"one job on cards of {' and '.join(vendors)}: torch uses one kind"
        yield Check("mixed-vendors", level, message, "select cards of one vendor")


def _processes(context: Context) -> Iterator[Check]:
    count = len([key for key in context.selection.keys if key != "cpu"])
    if context.job.launcher == "none" and not context.job.worker:
        return
    if count > 1 and context.processes == 1 and not _shares_model(context):
        message = f"{count} cards and one process, which uses one of them"
        yield Check("one-process", CheckLevel.ASK, message, "--set launch.launcher=torchrun, or select one card")
    elif count and context.processes > count:
        message = f"{context.processes} processes on {count} card{'s' if count > 1 else ''}"
        yield Check("processes", CheckLevel.REFUSAL, message, f"--set launch.processes={count}")
    elif 1 < context.processes < count:
        message = f"{context.processes} processes leave {count - context.processes} of {count} cards idle"
        yield Check("processes", CheckLevel.ASK, message, f"--set launch.processes={count}")
    elif context.processes > 1 and not count and context.job.launcher in ("none", "python"):
        message = f"launcher {context.job.launcher} starts one process, not {context.processes}"
        yield Check("processes", CheckLevel.REFUSAL, message, "--set launch.launcher=torchrun")


def _shares_model(context: Context) -> bool:
    """Whether one process uses all the cards: generation spreads the model over Intel GPUs."""
    devices = (*context.selection.devices, *context.selection.assumed)
    return context.job.kind == "generate" and bool(devices) and all(device.vendor == "xpu" for device in devices)


def _environment(context: Context) -> Iterator[Check]:
    for name in context.job.launch.env:
        if environment.matches(name, (*environment.device_variables(), *environment.RANK_VARIABLES)):
            message = f"launch.env sets {name}, which the device selection or the launcher decides"
            yield Check("env-device-variable", CheckLevel.REFUSAL, message, f"remove {name}; select with `devices`")


def _env_from(context: Context) -> Iterator[Check]:
    missing = [name for name in context.job.launch.env_from if name not in context.secrets and name not in context.base]
    if missing:
        names = ", ".join(missing)
        yield Check("env-from-missing", CheckLevel.REFUSAL, f"needs {names}", f"export {missing[0]}=… and submit again")


def _secret(context: Context) -> Iterator[Check]:
    if context.secret_in_argv:
        message = "an argument looks like a token or a URL with a password; every user of the host can read arguments"
        yield Check("secret-in-argv", CheckLevel.REFUSAL, message, 'hand it over by variable: env_from = ["HF_TOKEN"]')


def _image(context: Context) -> Iterator[Check]:
    yield from containers.checks(context.job, (*context.selection.devices, *context.selection.assumed))
