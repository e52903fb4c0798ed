"""The fields of a form, read from what the kinds declare and from the shipped table of library arguments."""

from __future__ import annotations

import enum
import functools
import types
import typing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from accel_tui.jobs import arguments, kinds
from accel_tui.jobs.faults import JobFieldError

Path = tuple[str, ...]


class Shape(enum.Enum):
    """How a value is written and changed."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    DURATION = "duration"
    FLAG = "on or off"
    CHOICE = "choice"
    WORDS = "words"
    """A list on one line, quoted as in a shell."""
    ITEMS = "list"
    """A list with one item per row."""
    VARIABLES = "variables"
    """A table of texts with one `NAME=VALUE` per row."""
    VALUE = "value"
    """Anything that TOML can write; a library's own argument."""


@dataclass(frozen=True)
class Field:
    """One field of a form, whatever its value is."""

    path: Path
    """Where it stands in the job: `("launch", "processes")`, as `--set launch.processes` says it."""
    label: str
    group: str
    shape: Shape
    default: Any
    """The value that holds where the job is silent; None where there is none, or it is not ours to know."""
    help: str
    choices: tuple[str, ...] = ()
    common: bool = False
    required: bool = False
    empty: bool = False
    """It may be without a value."""
    meant: str | None = None
    """How a relative path in it is meant; None where it is no path."""
    library: str | None = None
    """The class of the library whose argument it is."""
    decided: str | None = None
    """What decides it, where a job cannot."""

    @property
    def name(self) -> str:
        """The dotted path."""
        return ".".join(self.path)

    @property
    def rows(self) -> bool:
        """Its items stand in rows of their own."""
        return self.shape in (Shape.ITEMS, Shape.VARIABLES)


GROUPS = {"": "Job", "model": "Model", "data": "Data", "train": "Training", "generate": "Generation",
          "command": "Command", "launch": "Launch"}  # fmt: skip
_LABELS = {
    "data.path": "data", "model.path": "model", "data.eval_path": "evaluation data",
    "data.eval_fraction": "evaluation share", "model.dtype": "precision", "model.attn_implementation": "attention",
    "launch.cwd": "working folder", "launch.env": "variables", "launch.env_from": "from the shell",
    "train.output": "output folder", "generate.output": "results file", "command.argv": "program",
    "train.arguments.num_train_epochs": "epochs", "train.arguments.per_device_train_batch_size": "batch per device",
    "train.arguments.gradient_accumulation_steps": "accumulated steps", "train.arguments.seed": "seed",
    "train.arguments.gradient_checkpointing": "gradient checkpoints",
    "train.arguments.lr_scheduler_type": "schedule", "train.arguments.eval_strategy": "evaluate every",
    "train.arguments.save_total_limit": "checkpoints kept", "launch.after": "after runs",
}  # fmt: skip
"""Labels of fields whose own name alone does not say enough beside its neighbours, or too much."""


@functools.cache
def fields_of(kind: str) -> tuple[Field, ...]:
    """All fields of a kind, group by group, the common ones of each group first.

    Raises:
        JobFieldError: there is no such kind.
    """
    declared = kinds.declaration(kind)
    if declared is None:
        raise JobFieldError.unknown_value(("kind",), kind, kinds.names())
    found = list(_fields(declared, ()))
    groups = list(GROUPS.values())
    return tuple(sorted(found, key=lambda field: _place(groups, field)))


def _place(groups: list[str], field: Field) -> tuple[int, bool, bool]:
    return groups.index(field.group), not field.common, field.path != ("kind",)


def _fields(table: type[BaseModel], path: Path) -> typing.Iterator[Field]:
    for name, info in table.model_fields.items():
        here = (*path, name)
        inner = _table(info.annotation)
        library = _extra(info, "table")
        if inner is not None:
            yield from _fields(inner, here)
        elif library is not None:
            yield from _library(library, here)
        else:
            yield _declared(here, info)


def _declared(path: Path, info: FieldInfo) -> Field:
    annotation, empty = _plain(info.annotation)
    dotted = ".".join(path)
    choices = tuple(str(value) for value in typing.get_args(annotation)) if _is_literal(annotation) else ()
    if path == ("kind",):
        choices = tuple(kinds.names())
    return Field(
        path=path,
        label=_LABELS.get(dotted, path[-1].replace("_", " ")),
        # Devices are chosen with the launch, though they stand at the top of a job.
        group=GROUPS["launch" if path == ("devices",) else path[0] if len(path) > 1 else ""],
        shape=_shape(annotation, info),
        default=None if info.is_required() else info.get_default(call_default_factory=True),
        help=info.description or "",
        choices=choices,
        common=bool(_extra(info, "common")) or path == ("kind",),
        required=info.is_required(),
        empty=empty,
        meant=_extra(info, "path"),
    )


def _library(library: str, path: Path) -> typing.Iterator[Field]:
    common = arguments.COMMON[library]
    known = arguments.table()[library]
    for name in (*common, *(name for name in known if name not in common)):
        entry = known[name]
        here = (*path, name)
        yield Field(
            path=here,
            label=_LABELS.get(".".join(here), name.replace("_", " ") if name in common else name),
            group=GROUPS[path[0]],
            shape=_library_shape(entry),
            default=arguments.default(library, name),
            help=entry["help"].rstrip(".") + "." if entry["help"] else f"{name} of {library}.",
            choices=_library_choices(library, name, entry),
            common=name in common,
            empty=True,
            library=library,
            decided=arguments.decided(library, name),
        )


def _library_choices(library: str, name: str, entry: typing.Mapping[str, Any]) -> tuple[str, ...]:
    """The default first; the table has them in the order of the alphabet."""
    if entry["types"] != ["str"]:
        return ()
    usual = arguments.default(library, name)
    return tuple(sorted(entry.get("choices", ()), key=lambda choice: bool(choice != usual)))


def _library_shape(entry: typing.Mapping[str, Any]) -> Shape:
    plain = {"int": Shape.WHOLE, "float": Shape.NUMBER, "bool": Shape.FLAG, "str": Shape.TEXT}
    kinds_ = entry["types"]
    if kinds_ == ["str"] and entry.get("choices"):
        return Shape.CHOICE
    return plain.get(kinds_[0], Shape.VALUE) if len(kinds_) == 1 else Shape.VALUE


def _shape(annotation: Any, info: FieldInfo) -> Shape:
    if _extra(info, "duration"):
        return Shape.DURATION
    if _is_literal(annotation):
        return Shape.CHOICE
    origin = typing.get_origin(annotation) or annotation
    if origin is list:
        return Shape.WORDS if _extra(info, "words") else Shape.ITEMS
    plain = {bool: Shape.FLAG, int: Shape.WHOLE, float: Shape.NUMBER, str: Shape.TEXT, dict: Shape.VARIABLES}
    return plain[origin]


def _is_literal(annotation: Any) -> bool:
    return typing.get_origin(annotation) is typing.Literal


def _plain(annotation: Any) -> tuple[Any, bool]:
    """The annotation without what stands around it, and whether None is allowed."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _plain(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not type(None)]
        inner, _ = _plain(parts[0])
        return inner, True
    return annotation, False


def _table(annotation: Any) -> type[BaseModel] | None:
    inner, _ = _plain(annotation)
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _extra(info: FieldInfo, name: str) -> Any:
    extra = info.json_schema_extra
    return extra.get(name) if isinstance(extra, dict) else None
