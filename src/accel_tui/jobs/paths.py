"""Relative paths of a job, made absolute by what each field declares about itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.jobs.spec import Job


def resolve_paths(job: Job, folder: Path, only: tuple[str, ...] | None = None) -> Job:
    """`job` with the relative paths in it meant from `folder`; with `only`, that one field or table alone."""
    document = job.model_dump(mode="json")
    _walk(job, document, str(folder), (), only)
    return type(job).model_validate(document)


def _walk(
    table: BaseModel, document: dict[str, Any], folder: str, path: tuple[str, ...], only: tuple[str, ...] | None
) -> None:
    for name, declared in type(table).model_fields.items():
        here = (*path, name)
        value = getattr(table, name)
        if isinstance(value, BaseModel):
            _walk(value, document[name], folder, here, only)
        elif isinstance(value, str) and (only is None or here[: len(only)] == only):
            extra = declared.json_schema_extra
            meant = extra.get("path") if isinstance(extra, dict) else None
            if meant is not None:
                document[name] = _absolute(value, folder, str(meant))


def _absolute(value: str, folder: str, meant: str) -> str:
    if value.startswith("~"):
        return os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111 - symbolic links stay
    joined = os.path.abspath(os.path.join(folder, value))  # noqa: PTH100, PTH118
    if meant == "file":
        return joined
    if meant == "program":
        return joined if "/" in value else value
    explicit = value.startswith(("./", "../", "/")) or value in (".", "..")
    return joined if explicit or os.path.isdir(joined) else value  # noqa: PTH112


def is_hub_name(value: str) -> bool:
    """Whether a resolved `model` path stands for a model on the hub: every folder is absolute by then."""
    return not os.path.isabs(value)  # noqa: PTH117
