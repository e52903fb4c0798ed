"""One module per job kind: its fields and how its arguments are built.

A kind is a module here that is named like the kind and holds `JOB`, a subclass of `jobs.spec.Job`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.jobs.spec import Job


@functools.cache
def names() -> tuple[str, ...]:
    """All kinds, in alphabetical order; nothing is imported."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


@functools.cache
def declaration(kind: str) -> type[Job] | None:
    """The declared fields of a kind; None when there is no such kind."""
    if kind not in names():
        return None
    job: type[Job] = importlib.import_module(f"{__name__}.{kind}").JOB
    return job


def has_worker(kind: str) -> bool:
    """Whether runs of this kind are our worker."""
    declared = declaration(kind)
    return declared is not None and declared.worker


def listing() -> str:
    return f"one of {', '.join(names())}"
