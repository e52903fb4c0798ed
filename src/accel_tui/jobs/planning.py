"""Planning: from a job, an inventory and a base environment to exactly what would run. Pure, but for a look at PATH.

The same function serves preview, `plan`, `check`, submission and the start, so what is shown is what runs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from accel_tui.jobs import containers, environment, launchers, plan_checks, selectors
from accel_tui.jobs.interpreters import Interpreter, InterpreterSettings, default_python
from accel_tui.jobs.nodes import below
from accel_tui.model.launching import LaunchShape
from accel_tui.model.plans import EnvironmentAction, Plan
from accel_tui.model.secrets import MASK, looks_secret
from accel_tui.vendors.gaudi.generations import generation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from accel_tui.jobs.selectors import Selection
    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import Device, Inventory


class PlanningSettings(InterpreterSettings, Protocol):
    """The part of the settings that planning reads."""

    @property
    def save_seconds(self) -> float: ...
    @property
    def minimum_free_bytes(self) -> int: ...
    @property
    def artefacts_root(self) -> str | None: ...
    @property
    def docker(self) -> str | None: ...
    @property
    def sysfs_root(self) -> str: ...
    @property
    def dev_root(self) -> str: ...


_TORCH_DEVICES = {"gaudi": "hpu", "xpu": "xpu", "cpu": "cpu"}


def plan(
    job: Job,
    *,
    select: str,
    inventory: Inventory,
    base: Mapping[str, str],
    cwd: str,
    folder: str,
    identifier: str,
    settings: PlanningSettings,
    free: Callable[[Device], bool] | Collection[str] | None = None,
    secrets: Collection[str] = frozenset(),
    port: int | None = None,
) -> Plan:
    """What a start of `job` would do.

    Args:
        job: Its paths are absolute already (`jobs.session` sees to that).
        select: The selector that counts, see `Session.selector`.
        base: The submitter's environment without its secrets.
        cwd: The submitter's working folder.
        folder: The run folder, absolute; it need not exist.
        identifier: The run's id.
        free: Which devices `auto` may take, see `selectors.resolve`.
        secrets: Names of the secrets that travel beside `base`.
        port: The loopback port for a launcher that needs one (`needs_port`); None shows a placeholder.

    Raises:
        UsageError: a wrong selector.
    """
    everything = tuple(view.device for view in inventory.devices)
    allocated = environment.allocation(base, everything)
    foreign = environment.outside(everything, base)
    selector = selectors.parse(select)
    selection = selectors.resolve(selector, inventory, _free_here(inventory, free), foreign)
    devices = (*selection.devices, *selection.assumed)
    processes = _processes(job, selection, selector.count if selection.waiting_for else len(selection.keys))
    launched = launchers.needs_port(job.launcher)
    shape = LaunchShape(
        processes, launched, job.uses_torch, folder, _cores(inventory), everything, base, job.launch.env,
        job.launch.image is not None,
    )  # fmt: skip
    interpreter = _interpreter(job, base, settings)
    device = _TORCH_DEVICES[selector.vendor] if selection.waiting_for and selector.vendor else torch_device(devices)
    argv = launchers.wrap(
        job.launcher,
        job.program(folder, device),
        launchers.LaunchSetting(
            interpreter.path, processes, folder, identifier,
            str(port) if port is not None else launchers.PORT_PLACEHOLDER, device == "cpu",
        ),
    )  # fmt: skip
    changes = environment.changes(
        job, devices, shape, identifier=identifier, save_seconds=settings.save_seconds, secrets=secrets,
        allocated=allocated, undecided=selection.waiting_for is not None, roots=_roots(settings),
    )  # fmt: skip
    if job.launch.image is not None:
        argv = containers.wrap(
            job, argv, changes, devices, cwd=job.launch.cwd or cwd, folder=folder, base=base, docker=settings.docker,
            identifier=identifier,
        )  # fmt: skip
    argv, secret_arguments = _masked(argv)
    context = plan_checks.Context(job, selector, selection, inventory, base, secrets, processes, allocated, foreign,
                                  bool(secret_arguments))  # fmt: skip
    return Plan(
        job=job.name,
        kind=job.kind,
        argv=argv,
        cwd=job.launch.cwd or cwd,
        folder=folder,
        environment=changes,
        devices=selection.keys,
        verified=selection.verified,
        waiting_for=selection.waiting_for,
        slots=1 if any(card.vendor == "cpu" for card in devices) else 0,
        processes=processes,
        ports=(port,) if port is not None and launched else (),
        secret_arguments=secret_arguments,
        checks=plan_checks.run(context),
        warnings=plan_checks.warnings(context),
        facts={
            "launcher": job.launcher,
            "torch_device": device,
            "python": interpreter.path,
            "python_reason": interpreter.reason,
            "missing": list(selection.missing),
            "ports_wanted": 1 if launched else 0,
            "simulated": any(card.simulated for card in devices),
            "minimum_free_bytes": settings.minimum_free_bytes,
            "artefacts_root": settings.artefacts_root,
            **_nodes(devices, settings),
            **_gaudi(devices),
        },
    )


def _nodes(devices: Collection[Device], settings: PlanningSettings) -> dict[str, dict[str, str]]:
    """The device files of the selected Intel GPUs by key, for the check that opens them."""
    found = {
        device.key: below(settings.dev_root, node)
        for device in devices
        if device.vendor == "xpu" and not device.simulated and isinstance(node := device.details.get("node"), str)
    }
    return {"nodes": found} if found else {}


def _gaudi(devices: Collection[Device]) -> dict[str, dict[str, Any]]:
    """Releases and generation of the selected Gaudi cards, for the checks that compare them with the job's software."""
    cards = [device for device in devices if device.vendor == "gaudi"]
    if not cards:
        return {}
    known = [number for number in map(generation, cards) if number is not None]
    return {
        "gaudi": {
            "drivers": sorted({card.driver_version for card in cards if card.driver_version}),
            "firmware": sorted({str(card.details["firmware"]) for card in cards if card.details.get("firmware")}),
            "generation": min(known, default=None),
        }
    }


def _interpreter(job: Job, base: Mapping[str, str], settings: PlanningSettings) -> Interpreter:
    if job.launch.image is None:
        return default_python(job, base, settings)
    named = job.launch.python
    return Interpreter(named or containers.PYTHON, "the job names it" if named else "the image's own")


def _roots(settings: PlanningSettings) -> dict[str, str]:
    """The roots that settings move away from where the worker looks by itself, by variable."""
    stated = {"ACCEL_TUI_SYSFS_ROOT": (settings.sysfs_root, "/sys"), "ACCEL_TUI_DEV_ROOT": (settings.dev_root, "/dev")}
    return {name: place for name, (place, usual) in stated.items() if place != usual}


def needs_port(job: Job) -> bool:
    """Whether a start of `job` needs a loopback port of its own."""
    return launchers.needs_port(job.launcher)


def _free_here(
    inventory: Inventory, free: Callable[[Device], bool] | Collection[str] | None
) -> Callable[[Device], bool]:
    """`free`; without it, what nobody has reserved or open."""
    taken = {view.device.key for view in inventory.devices if view.reserved_by is not None or view.holders}

    def allowed(device: Device) -> bool:
        if free is None:
            return device.vendor == "cpu" or device.key not in taken
        return free(device) if callable(free) else device.key in free

    return allowed


def _processes(job: Job, selection: Selection, count: int) -> int:
    if job.launch.processes is not None:
        return job.launch.processes
    on_accelerators = selection.waiting_for is not None or any(
        device.vendor != "cpu" for device in (*selection.devices, *selection.assumed)
    )
    return max(1, count) if launchers.needs_port(job.launcher) and on_accelerators else 1


def torch_device(devices: Collection[Device]) -> str:
    """The device type that the program is told: the first accelerator's, `cpu` without one and for simulated ones."""
    for device in devices:
        if device.vendor != "cpu":
            return "cpu" if device.simulated else device.torch_device
    return "cpu"


def _cores(inventory: Inventory) -> int:
    """The cores that the CPU device says jobs may use; this process's own share where there is no such device."""
    for view in inventory.devices:
        cores = view.device.details.get("cores") if view.device.vendor == "cpu" else None
        if isinstance(cores, int) and cores > 0:
            return cores
    return len(os.sched_getaffinity(0))


def _masked(argv: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """`argv` without secrets, and where they stood. A masked argument in a stored job counts as one."""
    secret = tuple(index for index, argument in enumerate(argv) if argument == MASK or looks_secret(argument))
    return tuple(MASK if index in secret else argument for index, argument in enumerate(argv)), secret


def mask_arguments(job: Job) -> tuple[Job, tuple[str, ...]]:
    """`job` as it may be stored, and its secret arguments in their order: the n-th belongs to the plan's n-th index."""
    given: list[str] = list(getattr(getattr(job, "command", None), "argv", ()))
    secrets = tuple(argument for argument in given if looks_secret(argument))
    if not secrets:
        return job, ()
    document = job.model_dump(mode="json")
    document["command"]["argv"] = [MASK if looks_secret(argument) else argument for argument in given]
    return type(job).model_validate(document), secrets


def secret_arguments(planned: Plan, secrets: tuple[str, ...]) -> dict[int, str]:
    """What the keeper is told by pipe: index into `argv` to text. `secrets` as `mask_arguments` gave them."""
    return dict(zip(planned.secret_arguments, secrets))  # noqa: B905 - a lost secret leaves its index out


def environment_for(planned: Plan, base: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """The complete environment of the run: `base` and `secrets` with the planned changes made.

    With no `secrets` it is the part that may be stored.
    """
    complete: dict[str, Any] = {**base, **secrets}
    for change in planned.environment:
        if change.action is EnvironmentAction.UNSET:
            complete.pop(change.name, None)
        elif change.action is EnvironmentAction.SET and change.value is not None:
            complete[change.name] = change.value
    return complete
