"""What is wrong with one field, in words that name it, and the nearest name for a misspelt one."""

from __future__ import annotations

import difflib
import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Path = tuple["str | int", ...]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was most likely meant; None when none is near."""
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """The remedy for an unknown name: the nearest one, or all of them when they are few."""
    close = nearest(name, names)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"known: {', '.join(names)}" if len(names) <= 20 else "see the reference page for the known names"


def dotted(path: Path) -> str:
    """`("launch", "env", "X")` as `launch.env.X`; items of a list as `argv[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class JobFieldError(UsageError, ValueError):
    """One field of a job is wrong.

    It is a UsageError because it is raised for what came by flag or over the wire; the session loader makes a
    FileError of it. It is a ValueError because field validators may raise only those.
    """

    def __init__(self, path: Path, reason: str, *, remedy: str | None = None, kind: str = "value") -> None:
        super().__init__(f"{dotted(path)}: {reason}", remedy=remedy)
        self.path = path
        self.reason = reason
        self.kind = kind
        """`unknown`, `missing`, `type`, `secret` or `value`."""

    @classmethod
    def unknown_value(cls, path: Path, value: str, names: Sequence[str]) -> JobFieldError:
        return cls(path, f"{value!r} is not known", remedy=did_you_mean(value, names))


def field_error(model: type[BaseModel], error: ValidationError) -> JobFieldError:
    """The first fault that pydantic found, in our words. Unknown names come first: they explain missing ones."""
    return field_errors(model, error)[0]


def field_errors(model: type[BaseModel], error: ValidationError) -> list[JobFieldError]:
    """All faults that pydantic found, in our words; unknown names first."""
    faults = sorted(error.errors(include_url=False), key=lambda fault: fault["type"] != "extra_forbidden")
    return [_worded(model, fault) for fault in faults]


def _worded(model: type[BaseModel], fault: ErrorDetails) -> JobFieldError:
    path: Path = tuple(part for part in fault["loc"] if part != "[key]")
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(path[-1])
        homes = _homes(model, name)
        way = f"it belongs to {' or '.join(homes)}" if homes else did_you_mean(name, field_names(model, path[:-1]))
        return JobFieldError(path, "unknown field", remedy=way, kind="unknown")
    if kind == "missing":
        return JobFieldError(path, "is missing", kind="missing")
    if kind == "literal_error":
        names = list(_choices(model, path))
        given = repr(fault["input"])
        remedy = did_you_mean(str(fault["input"]), names) if names else None
        return JobFieldError(path, f"{given} is not one of {context.get('expected')}", remedy=remedy)
    if kind == "value_error":
        inner = context["error"]
        if isinstance(inner, JobFieldError):
            return JobFieldError(path + inner.path, inner.reason, remedy=inner.remedy, kind=inner.kind)
        return JobFieldError(path, str(inner))
    wanted = _WANTED.get(kind)
    if wanted is not None:
        return JobFieldError(path, f"must be {wanted}, not {_shown(fault['input'])}", kind="type")
    if kind in ("string_too_short", "too_short"):
        return JobFieldError(path, "must not be empty")
    bounds = _bounds(model, path)
    if bounds is not None:
        return JobFieldError(path, bounds)
    return JobFieldError(path, fault["msg"][:1].lower() + fault["msg"][1:])


def _bounds(model: type[BaseModel], path: Path) -> str | None:
    """`must be between 0 and 1, for example 0.05`; None where the field declares no bound."""
    table = _table(model, path[:-1])
    field = None if table is None else table.model_fields.get(str(path[-1]))
    if field is None:
        return None
    found = {type(limit).__name__.lower(): limit for limit in field.metadata}
    low = getattr(found.get("ge"), "ge", None)
    above = getattr(found.get("gt"), "gt", None)
    high = getattr(found.get("le"), "le", None)
    below = getattr(found.get("lt"), "lt", None)
    least = [f"at least {low}"] if low is not None else [f"above {above}"] if above is not None else []
    most = [f"at most {high}"] if high is not None else [f"below {below}"] if below is not None else []
    if not least and not most:
        return None
    words = f"between {low} and {high}" if low is not None and high is not None else " and ".join([*least, *most])
    usual = field.default
    example = f", for example {usual}" if isinstance(usual, float) and not isinstance(usual, bool) else ""
    return f"must be {words}{example}"


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "int_from_float": "a whole number",
}


def _shown(value: Any) -> str:
    words = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    kind = words.get(type(value), type(value).__name__)
    return f"{kind} ({value!r})"[:80] if isinstance(value, (bool, str, int, float)) else kind


def field_names(model: type[BaseModel], path: Path) -> list[str]:
    """The field names of the table that `path` leads to; empty where it leads into a free table."""
    table = _table(model, path)
    return [] if table is None else list(table.model_fields)


def _table(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    for part in path:
        field = model.model_fields.get(str(part))
        inner = None if field is None else table_of(field.annotation)
        if inner is None:
            return None
        model = inner
    return model


def _homes(model: type[BaseModel], name: str, above: Path = ()) -> list[str]:
    """The places of the job where a field of exactly this name is known, those of the libraries last."""
    from accel_tui.jobs.arguments import table

    found, libraries = [], []
    for key, field in model.model_fields.items():
        extra = field.json_schema_extra
        library = extra.get("table") if isinstance(extra, dict) else None
        inner = table_of(field.annotation)
        if library is not None and name in table()[str(library)]:
            libraries.append(dotted((*above, key, name)))
        if inner is not None:
            found += [dotted((*above, key, name))] if name in inner.model_fields else []
            libraries += _homes(inner, name, (*above, key))
    return found + libraries


def table_of(annotation: Any) -> type[BaseModel] | None:
    """The table that an annotation stands for; None for a plain field."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := table_of(part)) is not None), None)


def _choices(model: type[BaseModel], path: Path) -> Iterable[str]:
    table = _table(model, path[:-1])
    field = None if table is None else table.model_fields.get(str(path[-1]))
    pending = [] if field is None else [field.annotation]
    while pending:
        part = pending.pop()
        if typing.get_origin(part) is typing.Literal:
            yield from map(str, typing.get_args(part))
        else:
            pending.extend(typing.get_args(part))
