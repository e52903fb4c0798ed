"""JSON Schemas of everything that the command line prints with --json."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def names() -> list[str]:
    """The schemas, by the name of what they describe."""
    return sorted(
        item.name.removesuffix(".json") for item in resources.files(__name__).iterdir() if item.name.endswith(".json")
    )


def load(name: str) -> dict[str, Any]:
    """One schema (JSON Schema 2020-12). References between them go by `$id`, `accel-tui:NAME`."""
    document: dict[str, Any] = json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    return document
