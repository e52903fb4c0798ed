"""The variables of a run on the host's processors. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.plans import EnvironmentAction, EnvironmentChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.model.devices import Device
    from accel_tui.model.launching import LaunchShape


EXCLUSIVE = False


def device_variables() -> tuple[str, ...]:
    """Names that choose devices; what hides accelerators belongs to their vendors."""
    return ("CUDA_VISIBLE_DEVICES",)


def environment(devices: Sequence[Device], shape: LaunchShape) -> list[EnvironmentChange]:  # noqa: ARG001 - one host
    """What a run on the CPU device gets."""
    changes = [_set("CUDA_VISIBLE_DEVICES", "", "the run was given no GPU")]
    if shape.uses_torch:
        # Without it two ranks on a CPU train independently and both succeed.
        changes.append(_set("ACCELERATE_USE_CPU", "true", "accelerate and Trainer use the CPU, ranks together"))
    return changes


def hidden(shape: LaunchShape) -> list[EnvironmentChange]:  # noqa: ARG001 - the processors are always there
    return []


def allowed(devices: Sequence[Device], base: Mapping[str, str]) -> frozenset[str] | None:  # noqa: ARG001
    return None


def _set(name: str, value: str, reason: str) -> EnvironmentChange:
    return EnvironmentChange(name, value, EnvironmentAction.SET, reason)
