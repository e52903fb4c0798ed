"""The variables that give a run its Gaudi cards. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.plans import EnvironmentAction, EnvironmentChange
from accel_tui.vendors.gaudi.generations import generation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.model.devices import Device
    from accel_tui.model.launching import LaunchShape

EXCLUSIVE = True
"""One process has a card open, or none."""


def device_variables() -> tuple[str, ...]:
    """Names, or prefixes that end in `*`, that choose cards and never reach a run by inheritance."""
    return (
        "HABANA_VISIBLE_*",
        "HLS_*",
        # Either of these would keep torch from loading the plugin: the job would silently run on the CPU.
        "PT_HPU_AUTOLOAD",
        "TORCH_DEVICE_BACKEND_AUTOLOAD",
    )


NEVER_INHERITED = ("HLS_*", "PT_HPU_AUTOLOAD", "TORCH_DEVICE_BACKEND_AUTOLOAD")
"""What of these limits nothing, and does harm inside an allocation too: one module for all ranks, or none at all."""


def environment(devices: Sequence[Device], shape: LaunchShape) -> list[EnvironmentChange]:
    """What a run on `devices` gets.

    Without a known module ID of each card it gets no list: an empty one makes the bridge fail, and a check refuses it.
    """
    modules = sorted(device.module_id for device in devices if device.module_id is not None)
    changes = []
    if modules and len(modules) == len(devices):
        # Also for a whole server: without the list rank r asks for module r, which a virtual machine may not have, and
        # takes any free card instead.
        changes.append(_set("HABANA_VISIBLE_MODULES", ",".join(map(str, modules)), "the selected cards, by module ID"))
        if shape.processes == 1 and len(modules) == 1:
            # Without it a single process takes the first free card of the machine, whatever the list says.
            changes.append(_set("HLS_MODULE_ID", str(modules[0]), "binds the one process to its card"))
    if shape.container:
        changes += _mounted(devices)
    changes += _bridge(devices, shape)
    if any(device.simulated for device in devices):
        changes.append(_set("TORCH_DEVICE_BACKEND_AUTOLOAD", "0", "the cards are simulated: no real one is touched"))
    changes.append(_set("HABANA_LOGS", f"{shape.folder}/habana_logs", "logs of the Gaudi software stay with the run"))
    return changes


def _mounted(devices: Sequence[Device]) -> list[EnvironmentChange]:
    """Which cards the container runtime mounts.

    Runtimes before 1.23 go by index alone: with a list of modules only they mount every card, and one process takes
    the first free one. Later ones put the true module IDs of what they mounted in place of the list. Both are right.
    """
    ordered = sorted(devices, key=lambda device: (device.module_id is None, device.module_id or 0))
    indexes = [str(device.index) for device in ordered if device.index is not None]
    found = [_set("OMPI_MCA_btl_vader_single_copy_mechanism", "none", "as the vendor's own examples have it")]
    if len(indexes) == len(devices):
        reason = "the same cards by index, by which older container runtimes mount them"
        found.insert(0, _set("HABANA_VISIBLE_DEVICES", ",".join(indexes), reason))
    return found


def container_options() -> list[str]:
    """What `docker run` needs for Gaudi cards, besides the host's network and memory."""
    return ["--runtime=habana", "--cap-add=sys_nice"]


def _bridge(devices: Sequence[Device], shape: LaunchShape) -> list[EnvironmentChange]:
    """Eager mode, set explicitly: releases differ in their default, and libraries read an unset one as lazy."""
    inherited, own = shape.base.get("PT_HPU_LAZY_MODE"), shape.own.get("PT_HPU_LAZY_MODE")
    if inherited is not None and not shape.uses_torch:
        keep = EnvironmentChange(
            "PT_HPU_LAZY_MODE", inherited, EnvironmentAction.KEEP, "inherited; left to the program"
        )
        changes, lazy = [keep], inherited == "1"
    else:
        changes, lazy = [_set("PT_HPU_LAZY_MODE", "0", "transformers and Trainer run in eager mode")], False
    lazy = own == "1" if own is not None else lazy
    oldest = min((generation(device) or 2 for device in devices), default=2)
    if lazy or oldest < 2:
        if "PT_ENABLE_INT64_SUPPORT" in shape.base:
            reason = "not supported in lazy mode" if lazy else "first-generation cards have no 64-bit integers"
            changes.append(EnvironmentChange("PT_ENABLE_INT64_SUPPORT", None, EnvironmentAction.UNSET, reason))
    else:
        changes.append(_set("PT_ENABLE_INT64_SUPPORT", "1", "transformers uses 64-bit integers"))
    return changes


def hidden(shape: LaunchShape) -> list[EnvironmentChange]:
    """What keeps torch from seeing any Gaudi card. An empty list of modules is no way: the bridge fails on it."""
    if not any(device.vendor == "gaudi" for device in shape.inventory):
        return []
    reason = "the run was given no Gaudi card: torch leaves the plugin alone"
    return [_set("TORCH_DEVICE_BACKEND_AUTOLOAD", "0", reason), _set("PT_HPU_LAZY_MODE", "0", reason)]


def allowed(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str] | None:
    """Keys of the cards that inherited masks leave; None where no mask limits. `devices`: every card of the host."""
    modules = _numbers(base.get("HABANA_VISIBLE_MODULES"))
    if modules is not None:
        return frozenset(device.key for device in devices if device.module_id in modules)
    indexes = _numbers(base.get("HABANA_VISIBLE_DEVICES"))
    if indexes is not None:
        return frozenset(device.key for device in devices if device.index in indexes)
    return None


def _numbers(text: str | None) -> frozenset[int] | None:
    """The numbers of a list; None for no limit (`all`, unset, empty). What is no number is left out."""
    if text is None or text.strip() in ("", "all"):
        return None
    return frozenset(int(item) for item in text.split(",") if item.strip().isdecimal())


def _set(name: str, value: str, reason: str) -> EnvironmentChange:
    return EnvironmentChange(name, value, EnvironmentAction.SET, reason)
