"""The job of a run folder, as the worker reads it from `spec.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accel_tui_worker.errors import BadInputError, InvalidJobError

WORKER_KINDS = ("generate", "train")

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class Model:
    """Which model, and how its weights are loaded."""

    path: str = ""
    """A folder, or an id of the hub."""
    tokenizer: str | None = None
    """Folder or id; None: the model's."""
    revision: str | None = None
    dtype: str = "auto"
    attn_implementation: str | None = None
    trust_remote_code: bool = False


@dataclass(frozen=True)
class Data:
    """Which text is trained on, and how it is cut."""

    path: str = ""
    format: str = "auto"
    text_field: str = "text"
    eval_path: str | None = None
    eval_fraction: float = 0.05
    block_size: int = 128
    limit: int | None = None
    """At most so many examples: lines of a text, or objects of a JSONL file."""


@dataclass(frozen=True)
class Train:
    """How it is trained."""

    method: str = "full"
    output: str | None = None
    resume_from: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Generate:
    """What is generated from."""

    prompts: tuple[str, ...] = ()
    prompts_file: str | None = None
    chat: str = "auto"
    system: str | None = None
    stream: bool = True
    seed: int = 0
    output: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """What the worker runs; fields that it does not need are left out."""

    kind: str
    launcher: str
    resume: str
    model: Model
    data: Data
    train: Train
    generate: Generate


def read_job(run_folder: Path) -> Job:
    """The job of `run_folder/spec.json`; fields that are left out or null get their defaults.

    Raises:
        BadInputError: the file is missing or no JSON object.
        InvalidJobError: a kind that is not the worker's, or a field of a wrong shape.
    """
    path = run_folder / "spec.json"
    try:
        document = json.loads(path.read_bytes())["job"]
    except OSError as error:
        raise BadInputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{path} holds no job: {error}") from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in WORKER_KINDS:
        raise InvalidJobError(f"kind {kind!r} is not one of the worker's: {', '.join(WORKER_KINDS)}")
    launch = document.get("launch") or {}
    return Job(
        kind=str(kind),
        launcher=str(launch.get("launcher") or "python"),
        resume=str(launch.get("resume") or "none"),
        model=_part(Model, document, "model"),
        data=_part(Data, document, "data"),
        train=_part(Train, document, "train"),
        generate=_part(Generate, document, "generate"),
    )


def _part(shape: Any, document: dict[str, Any], name: str) -> Any:
    """One table as its dataclass. Names that the shape lacks belong to other versions and are left alone."""
    table = document.get(name) or {}
    if not isinstance(table, dict):
        raise InvalidJobError(f"{name} is {type(table).__name__}, not a table")
    known = shape.__dataclass_fields__
    values = {key: value for key, value in table.items() if key in known and value is not None}
    if "prompts" in values:
        prompts = values["prompts"]
        values["prompts"] = (prompts,) if isinstance(prompts, str) else tuple(str(item) for item in prompts)
    return shape(**values)


def resolve_model(name: str, what: str = "model.path", *, weights: bool = True) -> str:
    """`name` as a folder that was looked into, or as it is when it can only be an id of the hub.

    Raises:
        BadInputError: the folder is missing or lacks its configuration or weights.
        InvalidJobError: nothing is named.
    """
    if not name:
        raise InvalidJobError(f"{what} is not set")
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if folder.exists():
            raise BadInputError(f"{what}: {folder} is no folder")
        if name.startswith(("/", ".", "~")) or not _HUB_ID.fullmatch(name):
            raise BadInputError(f"{what}: the folder {folder} does not exist")
        return name
    if not weights:
        return str(folder)
    if not (folder / "config.json").is_file():
        raise BadInputError(f"{what}: {folder} has no config.json, so it is no model folder")
    if not any(any(folder.glob(pattern)) for pattern in _WEIGHTS):
        raise BadInputError(f"{what}: {folder} has no weights (model.safetensors or pytorch_model.bin)")
    missing = missing_shards(folder)
    if missing:
        raise BadInputError(f"{what}: {folder} lacks {len(missing)} of its weight files, first {missing[0]}")
    return str(folder)


def missing_shards(folder: Path) -> list[str]:
    """Files that the index of the weights names and the folder does not have."""
    for index in sorted(folder.glob("*.index.json")):
        try:
            names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise BadInputError(f"{index} cannot be read: {error}") from error
        return [name for name in names if not (folder / name).is_file()]
    return []
