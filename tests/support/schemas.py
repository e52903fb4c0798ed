"""Checks documents against the shipped JSON Schemas."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from accel_tui import schemas


def check(name: str, document: Any) -> None:
    """Fail with the place and the reason when `document` is not what schema `name` says."""
    registry: Registry[Any] = Registry().with_resources(
        (f"accel-tui:{each}", Resource.from_contents(schemas.load(each))) for each in schemas.names()
    )
    validator = Draft202012Validator(schemas.load(name), registry=registry)
    faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in validator.iter_errors(document)]
    assert not faults, "\n".join(faults)
