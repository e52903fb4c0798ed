"""Arguments of the libraries by their own names, checked against a shipped table of names, types and releases."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.faults import JobFieldError, did_you_mean, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

TRAINING = "TrainingArguments"
GENERATION = "GenerationConfig"

# Decided by the product, with the reason: a second word on them would contradict the plan.
_OURS: Mapping[str, Mapping[str, str]] = {
    TRAINING: {
        "output_dir": "the output folder is `train.output`",
        "resume_from_checkpoint": "the checkpoint to go on from is `train.resume_from`",
        "use_cpu": "the device selection decides whether the CPU is used",
        "no_cuda": "the device selection decides whether the CPU is used",
        "use_mps_device": "the device selection decides the device",
        "local_rank": "the launcher numbers the ranks",
        "deepspeed": "DeepSpeed is not supported yet",
        "do_train": "the kind decides what is done",
        "do_eval": "evaluation is switched by `eval_strategy` and the data",
        "do_predict": "the kind decides what is done",
        "hub_token": 'a secret is never stored; name its variable: env_from = ["HF_TOKEN"]',
        "push_to_hub_token": 'a secret is never stored; name its variable: env_from = ["HF_TOKEN"]',
    },
    GENERATION: {
        "return_dict_in_generate": "the worker decides in which form it takes the result",
    },
}

COMMON: Mapping[str, tuple[str, ...]] = {
    TRAINING: (
        "num_train_epochs", "max_steps", "per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate",
        "lr_scheduler_type", "warmup_steps", "bf16", "gradient_checkpointing", "logging_steps", "eval_strategy",
        "save_steps", "save_total_limit", "seed",
    ),
    GENERATION: ("max_new_tokens", "do_sample", "temperature", "top_p", "top_k", "repetition_penalty", "num_beams"),
}  # fmt: skip
"""What a form shows first, in this order."""
_WORKERS_OWN: Mapping[str, Mapping[str, Any]] = {TRAINING: {"logging_steps": 10, "report_to": "none"}, GENERATION: {}}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "list": (list,), "table": (dict,),
}  # fmt: skip
_WORDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "list": "a list",
          "table": "a table"}  # fmt: skip


@functools.lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The shipped table; made by `scripts/library-arguments`."""
    document: dict[str, Any] = json.loads(Path(__file__).with_name("library_arguments.json").read_text("utf-8"))
    return document


def decided(kind: str, name: str) -> str | None:
    """What decides an argument that a job cannot set; None for one that it can."""
    return _OURS[kind].get(name)


def default(kind: str, name: str) -> Any:
    """The value that holds where a job is silent; None where that is the model's or the release's own affair."""
    if kind == GENERATION:
        return None  # the model brings its own
    return _WORKERS_OWN[kind].get(name, table()[kind][name].get("default"))


def checked(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """`given` as it is.

    Raises:
        JobFieldError: an unknown name (with the nearest), one that the product decides, or a wrong type.
    """
    known = table()[kind]
    for name, value in given.items():
        if name in _OURS[kind]:
            raise JobFieldError((name,), "is not set here", remedy=_OURS[kind][name])
        if name not in known:
            raise JobFieldError(
                (name,), f"unknown argument of {kind}", remedy=did_you_mean(name, list(known)), kind="unknown"
            )
        _check_value(name, value, known[name])
    return given


def _check_value(name: str, value: Any, entry: Mapping[str, Any]) -> None:
    kinds = entry["types"]
    if not kinds:
        _check_plain(name, value)
        return
    fits = any(isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool)) for kind in kinds)
    if not fits:
        wanted = " or ".join(_WORDS[kind] for kind in kinds)
        raise JobFieldError((name,), f"must be {wanted}, not {value!r}"[:200], kind="type")
    choices = entry.get("choices")
    if choices and isinstance(value, str) and value not in choices and "list" not in kinds and kinds == ["str"]:
        raise JobFieldError((name,), f"{value!r} is not known", remedy=did_you_mean(value, choices))
    _check_plain(name, value)


def _check_plain(name: str, value: Any) -> None:
    """TOML has dates and times, JSON and the libraries do not."""
    if isinstance(value, dict):
        for item in value.values():
            _check_plain(name, item)
    elif isinstance(value, list):
        for item in value:
            _check_plain(name, item)
    elif not isinstance(value, (str, int, float, bool, type(None))):
        raise JobFieldError((name,), f"must not be a {type(value).__name__}", kind="type")


def outside(kind: str, given: Mapping[str, Any], version: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names in `given` that transformers `version` surely lacks, each with the releases that are known to have it.

    The table knows the lowest and the newest supported release. A name that only one of them has is in doubt between
    the two; it is reported when `version` is of the other one's major release.
    """
    known = table()[kind]
    major = version.split(".", 1)[0]
    doubtful = []
    for name in given:
        versions = known.get(name, {}).get("versions")
        if versions and all(release.split(".", 1)[0] != major for release in versions):
            doubtful.append((name, tuple(versions)))
    return doubtful


def dotted_names(model: type[BaseModel]) -> list[str]:
    """Every field of a table by its dotted name; those of the libraries as well."""
    found = []
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra
        library = extra.get("table") if isinstance(extra, dict) else None
        inner = table_of(field.annotation)
        if library is not None:
            found += [f"{name}.{argument}" for argument in table()[str(library)]]
        elif inner is not None:
            found += [f"{name}.{key}" for key in dotted_names(inner)]
        else:
            found.append(name)
    return found
