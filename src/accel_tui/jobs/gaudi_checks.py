"""Checks of a plan on Gaudi cards: groups, ports, generation, doubtful use. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.plans import Check, CheckLevel, PlanWarning
from accel_tui.vendors.gaudi import generations, groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.jobs.plan_checks import Context
    from accel_tui.model.devices import Device, DeviceView

IN_USE = "device-in-use"


def run(context: Context) -> Iterator[Check]:
    """Every finding; nothing where no Gaudi card is selected."""
    cards = [device for device in context.selection.devices if device.vendor == "gaudi"]
    if not cards:
        return
    yield from _modules(context, cards)
    yield from _group(context, cards)
    views = [view for view in context.accelerators if view.device.vendor == "gaudi"]
    yield from _ports(context, views)
    yield from _hidden_use(views)


def warnings(context: Context) -> Iterator[PlanWarning]:
    """Remarks for a selection with Gaudi cards."""
    if not any(device.vendor == "gaudi" for device in (*context.selection.devices, *context.selection.assumed)):
        return
    lazy = context.base.get("PT_HPU_LAZY_MODE")
    if context.job.uses_torch and lazy not in (None, "0") and "PT_HPU_LAZY_MODE" not in context.job.launch.env:
        text = f"PT_HPU_LAZY_MODE={lazy} is exported here; the run gets 0, set it in launch.env to keep it"
        yield PlanWarning("lazy-mode-put-aside", text)
    told = context.base.get("HABANA_RUNTIME_ERROR")
    if told:
        yield PlanWarning("container-runtime", f"the container runtime of Gaudi said: {told[:200]}")


def _modules(context: Context, cards: list[Device]) -> Iterator[Check]:
    unknown = [card.key for card in cards if card.module_id is None]
    if unknown:
        message = f"the module ID of {', '.join(unknown)} is not known: no run can be bound to it"
        yield Check(
            "module-unknown", CheckLevel.REFUSAL, message, "see `accel-tui doctor`: the driver may not be loaded"
        )
    for card in cards:
        twins = [
            view.device.key
            for view in context.inventory.devices
            if view.device.vendor == "gaudi" and view.device.module_id == card.module_id
        ]
        if card.module_id is not None and len(twins) > 1:
            message = f"module {card.module_id} is said by {' and '.join(twins)}: no run can be bound to one of them"
            yield Check("module-ambiguous", CheckLevel.REFUSAL, message, "see `accel-tui doctor` and the kernel log")


def _group(context: Context, cards: list[Device]) -> Iterator[Check]:
    machine = [view.device for view in context.inventory.devices if view.device.vendor == "gaudi"]
    # A program of its own may launch ranks by itself, or use its cards apart.
    own = context.job.launcher == "none" and not context.job.worker
    fault = groups.fault(cards, machine) if context.processes > 1 or own else None
    if fault is not None:
        level = CheckLevel.ASK if context.processes > 1 else CheckLevel.WARNING
        yield Check("device-group", level, fault.words, groups.remedy(cards, machine))


def _ports(context: Context, views: list[DeviceView]) -> Iterator[Check]:
    """One card exchanges nothing, so its ports do not matter."""
    for view in views if context.processes > 1 else ():
        down = groups.ports_down(view)
        if down is not None:
            ports = f"{down} internal port{'s are' if down > 1 else ' is'} down"
            message = f"module {view.device.module_id}: {ports}; ranks may not reach each other"
            yield Check("device-links", CheckLevel.WARNING, message, "take a group without it, or see `hl-smi -n link`")


def _hidden_use(views: list[DeviceView]) -> Iterator[Check]:
    for view in views:
        used = generations.hidden_use_bytes(view)
        if used is not None:
            message = (
                f"{view.device.key} is in use? {used / 2**30:.1f} GiB of its memory are taken and no holder is seen: "
                "it is hidden, or the value is old"
            )
            yield Check(IN_USE, CheckLevel.ASK, message, "take another card, or answer with --yes")
