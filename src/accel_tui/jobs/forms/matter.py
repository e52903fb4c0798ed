"""Which fields and choices matter, and why the others do not: the reasons that a form shows beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.paths import is_hub_name

if TYPE_CHECKING:
    from accel_tui.jobs.forms.fields import Field
    from accel_tui.jobs.forms.form import Form


@dataclass(frozen=True)
class Setting:
    """What a form knows of where the job would run; nothing of it need be known."""

    torch_device: str | None = None
    """`hpu`, `xpu` or `cpu`."""


def why_off(form: Form, field: Field, setting: Setting) -> str | None:
    """Why the field changes nothing now; None when it matters."""
    if field.decided is not None:
        return field.decided
    if field.name == "launch.image":
        return "containers are planned and printed, not run yet"
    if field.library is not None:
        return _library(form, field.path[:-1], field.path[-1])
    judge = _REASONS.get(field.name)
    return None if judge is None else judge(form, setting)


def why_not_choice(form: Form, field: Field, choice: str, setting: Setting) -> str | None:
    """Why this choice cannot be taken; None when it can."""
    on_cpu = setting.torch_device == "cpu"
    if field.path[-1] == "fp16" and choice == "on":
        if on_cpu:
            return "fp16 training does not work on the CPU"
        return "bf16 is on" if form.value((*field.path[:-1], "bf16")) is True else None
    if field.path[-1] == "bf16" and choice == "on":
        return "fp16 is on" if form.value((*field.path[:-1], "fp16")) is True else None
    if field.name == "launch.launcher" and choice in ("none", "python") and (form.value(_PROCESSES) or 1) > 1:
        return f"starts one process, not {form.value(_PROCESSES)}"
    if field.name == "launch.launcher" and choice == "none" and form.declared.worker:
        return "for programs alone"
    return None


_PROCESSES = ("launch", "processes")


def _processes(form: Form, _: Setting) -> str | None:
    launcher = form.launcher
    return f"{launcher} starts one process" if launcher in ("none", "python") else None


def _revision(form: Form, _: Setting) -> str | None:
    path = form.value(("model", "path"))
    if isinstance(path, str) and path and (not is_hub_name(path) or path.startswith((".", "~"))):
        return "the model is a folder; revisions are of the hub"
    return None


def _resume(form: Form, _: Setting) -> str | None:
    if not form.declared.worker:
        return "only the worker's kinds have checkpoints"
    return None if form.value(("launch", "retries")) else "retries is 0"


def _if(path: tuple[str, ...], unless: Callable[[Any], bool], reason: str) -> Callable[[Form, Setting], str | None]:
    return lambda form, _: reason if unless(form.value(path)) else None


def _empty(value: Any) -> bool:
    return value in (None, "", [], {})


_REASONS: Mapping[str, Callable[[Form, Setting], str | None]] = {
    "launch.processes": _processes,
    "launch.resume": _resume,
    "model.revision": _revision,
    "data.text_field": _if(("data", "format"), lambda value: value == "text", "plain text has no keys"),
    "data.eval_fraction": _if(
        ("data", "eval_path"), lambda value: not _empty(value), "the evaluation data is given by itself"
    ),
    "generate.system": _if(("generate", "chat"), lambda value: value == "no", "chat is no: there is no template"),
}

_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h")
_NEEDS: Mapping[str, tuple[str, tuple[Any, ...], str]] = {
    **dict.fromkeys(_SAMPLING, ("do_sample", (False,), "do_sample is off")),
    "eval_steps": ("eval_strategy", (None, "no", "epoch"), "needs evaluation every number of steps"),
    "eval_delay": ("eval_strategy", (None, "no"), "there is no evaluation"),
    "save_steps": ("save_strategy", ("no", "epoch", "best"), "needs saving every number of steps"),
    "num_train_epochs": ("max_steps", (), "max_steps decides"),
    "gradient_checkpointing_kwargs": ("gradient_checkpointing", (None, False), "gradient checkpointing is off"),
    "lr_scheduler_kwargs": ("lr_scheduler_type", (None, "linear"), "the linear schedule has no options"),
    "length_penalty": ("num_beams", (None, 1), "there is one beam"),
    "early_stopping": ("num_beams", (None, 1), "there is one beam"),
}
"""By argument: the argument that it depends on, the values of that one under which it changes nothing, and why."""


def _library(form: Form, table: tuple[str, ...], name: str) -> str | None:
    if name.startswith("hub_") and not form.value((*table, "push_to_hub")):
        return "nothing is pushed to the hub"
    if name == "num_train_epochs":
        steps = form.value((*table, "max_steps"))
        return f"max_steps decides: {steps}" if isinstance(steps, int) and steps > 0 else None
    needed = _NEEDS.get(name)
    if needed is None:
        return None
    other, idle, reason = needed
    return reason if form.value((*table, other)) in idle else None
