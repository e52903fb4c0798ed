"""`release`: let held runs start; a run that lost its secrets gets them from this shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli.many import each_run
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui release last"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("refs", metavar="RUN", nargs="+", help="id, name, first letters of an id, or `last`")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Do it to each of them."""

    def act(ref: str) -> tuple[Run, str | None]:
        from accel_tui.client.submitter import pick_secrets

        held = context.client.run(ref)
        names = _secret_names(Path(held.folder))
        answer = context.client.release(held.id, pick_secrets(context.environment, names))
        return Run.from_json(answer), answer.get("note")

    return each_run(context, act, "released")


def _secret_names(folder: Path) -> list[str]:
    """The secrets that the run was submitted with, by name."""
    try:
        names = json.loads((folder / "environment.json").read_bytes()).get("secret_names", [])
    except (OSError, ValueError):  # a damaged record: the supervisor says what is missing
        return []
    return [str(name) for name in names]
