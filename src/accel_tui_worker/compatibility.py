"""The one place that knows how transformers differs between its versions, from 4.51 to the newest 5.x.

Everything else uses the newest names; what an older version calls otherwise is translated here.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import InvalidJobError, UnknownArgumentError, UnsupportedStackError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOWEST = (4, 51)
BELOW = (6, 0)
ACCELERATE_FOR_HPU = (1, 5)

OURS = {
    "output_dir": "train.output says where results go",
    "resume_from_checkpoint": "train.resume_from says what is continued",
    "enable_jit_checkpoint": "the worker saves on SIGTERM itself, at the same step on all ranks",
    "local_rank": "the launcher says the rank",
}
"""TrainingArguments that the worker sets, with what to use instead."""

DROPPED = {
    "overwrite_output_dir": "an output folder is never overwritten",
    "save_safetensors": "weights are always saved as safetensors",
    "logging_dir": "set TENSORBOARD_LOGGING_DIR in launch.env",
    "include_tokens_per_second": "tokens_per_second is always reported",
}
"""Fields of older versions that newer ones do not have and that lose nothing when left out."""

RENAMED = (
    ("evaluation_strategy", "eval_strategy"),
    ("no_cuda", "use_cpu"),
    ("gradient_checkpointing", "activation_checkpointing"),
    ("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs"),
)
"""Old and new name of the same thing; the one that the installed version has is used."""


def check_versions(device: str) -> None:
    """Refuse a torch stack that the worker was not made for. Reads metadata only.

    Raises:
        UnsupportedStackError: a package is missing or out of range; says which, and which range is.
    """
    transformers = require("transformers")
    if not LOWEST <= numbers(transformers) < BELOW:
        raise UnsupportedStackError(
            f"transformers {transformers} is not supported: >= {dotted(LOWEST)}, < {dotted(BELOW)}"
        )
    require("torch")
    accelerate = require("accelerate")
    if device.startswith("hpu") and numbers(accelerate) < ACCELERATE_FOR_HPU:
        raise UnsupportedStackError(
            f"accelerate {accelerate} cannot drive Gaudi: >= {dotted(ACCELERATE_FOR_HPU)} is needed"
        )


def require(package: str) -> str:
    """The installed version of `package`."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise UnsupportedStackError(f"{package} is not installed in this job's Python") from error


def numbers(version: str) -> tuple[int, int]:
    """Major and minor number of a version text."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def dtype_argument(dtype: str) -> dict[str, Any]:
    """What `from_pretrained` takes for `model.dtype`; `auto` is the dtype of the checkpoint in every version."""
    name = "dtype" if numbers(require("transformers")) >= (4, 56) else "torch_dtype"
    if dtype == "auto":
        return {name: "auto"}
    import torch

    value = getattr(torch, dtype, None)
    if not isinstance(value, torch.dtype):
        raise InvalidJobError(f"model.dtype {dtype!r} is not one of auto, float32, bfloat16, float16")
    return {name: value}


def training_arguments(
    given: Mapping[str, Any], *, output: str, use_cpu: bool, warn: Callable[[str, str], None]
) -> Any:
    """TrainingArguments of the installed version for arguments in old or new names.

    Raises:
        UnknownArgumentError: a name that neither this version nor the table of old names knows.
        InvalidJobError: an argument that is the worker's own to set, or a value that the library refuses.
    """
    from transformers import TrainingArguments

    fields = {item.name: str(item.type) for item in dataclasses.fields(TrainingArguments) if item.init}
    values = translate(given, fields, warn)
    if bool(values.get("use_cpu", use_cpu)) != use_cpu:
        raise InvalidJobError(
            f"train.arguments.use_cpu = {str(not use_cpu).lower()} contradicts the devices of the job"
        )
    values = {"report_to": "none", "logging_steps": 10, **values, "use_cpu": use_cpu, "output_dir": output}
    try:
        return TrainingArguments(**values)
    except (ValueError, TypeError) as error:
        raise InvalidJobError(f"train.arguments: {error}") from error


def translate(given: Mapping[str, Any], fields: Mapping[str, str], warn: Callable[[str, str], None]) -> dict[str, Any]:
    """`given` in the names and value forms that a version with these `fields` (name: annotation) takes."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in OURS:
            raise InvalidJobError(f"train.arguments.{name} cannot be set: {OURS[name]}")
        here = _name_here(name, fields)
        if here in values:
            raise InvalidJobError(f"train.arguments.{name} is given twice, as {here} too")
        if here in fields:
            values[here] = value
        elif name in DROPPED:
            warn("argument-left-out", f"{name} is no field of this transformers: {DROPPED[name]}")
        elif name == "group_by_length" and "train_sampling_strategy" in fields:
            values["train_sampling_strategy"] = "group_by_length" if value else "random"
        elif name != "warmup_ratio":
            raise UnknownArgumentError("TrainingArguments", name, [*fields, *DROPPED])
    _warm_up(given, values, fields)
    _token_counting(values, fields)
    return values


def _name_here(name: str, fields: Mapping[str, str]) -> str:
    if name in fields:
        return name
    for old, new in RENAMED:
        if name in (old, new):
            return new if new in fields else old
    return name


def _warm_up(given: Mapping[str, Any], values: dict[str, Any], fields: Mapping[str, str]) -> None:
    """A warm-up as a share of all steps: `warmup_ratio` in 4.x, `warmup_steps` below 1 in 5.x."""
    ratio_field = "warmup_ratio" in fields
    steps = values.get("warmup_steps")
    if "warmup_ratio" in given and not ratio_field:
        if not steps:  # steps win over the ratio, as they did in the versions that had both
            values["warmup_steps"] = given["warmup_ratio"]
    elif isinstance(steps, float) and ratio_field:
        if steps < 1:
            del values["warmup_steps"]
            values.setdefault("warmup_ratio", steps)
        else:
            values["warmup_steps"] = int(steps)


def _token_counting(values: dict[str, Any], fields: Mapping[str, str]) -> None:
    """Older versions only know whether tokens are counted, newer ones which."""
    name = "include_num_input_tokens_seen"
    if isinstance(values.get(name), str) and "str" not in fields.get(name, ""):
        values[name] = values[name] != "no"


def generation_config(model: Any, given: Mapping[str, Any]) -> Any:
    """A copy of the model's generation settings with `given` put on top.

    Raises:
        UnknownArgumentError: a name that GenerationConfig of this version does not have.
        InvalidJobError: a value that it refuses.
    """
    import copy

    from transformers import GenerationConfig

    known = [name for name in vars(GenerationConfig()) if not name.startswith("_") and name != "transformers_version"]
    for name in given:
        if name not in known:
            raise UnknownArgumentError("GenerationConfig", name, known)
    config = copy.deepcopy(model.generation_config)
    try:
        config.update(**given)
        config.validate()
    except (ValueError, TypeError) as error:
        raise InvalidJobError(f"generate.arguments: {error}") from error
    return config


def let_checkpoints_load_on(device: Any) -> None:
    """Teach torch to read tensors onto a CPU with a number.

    accelerate calls the CPU of a rank `cpu:0`, and transformers 4.x hands that name on when it reads the optimizer.
    """
    import torch

    if device.type == "cpu" and device.index is not None:
        torch.serialization.register_package(
            5, lambda _storage: None, lambda storage, location: storage if location.startswith("cpu:") else None
        )


def fsdp_requested(arguments: Any) -> bool:
    """Whether TrainingArguments ask for fully sharded training, in the list form of 4.x or the flag of 5.x."""
    return bool(getattr(arguments, "fsdp", None))
