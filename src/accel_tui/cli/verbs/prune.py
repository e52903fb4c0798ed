"""`prune`: delete old runs with their folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from accel_tui.cli import figures
from accel_tui.cli.output import Styled
from accel_tui.model.errors import AccelError, RunNotFoundError, UsageError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context
    from accel_tui.model.runs import Run

EXAMPLE = "accel-tui prune --older-than 14d --dry-run"

_DEFAULT = "30d"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument(
        "--older-than", metavar="D", default=_DEFAULT, help=f"such as 12h or 14d, since their end (default {_DEFAULT})"
    )
    parser.add_argument("--keep", metavar="N", type=int, default=0, help="leave the N newest finished runs in any case")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, delete nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Delete what the policy says, oldest first; runs that a live one needs stay."""
    wanted = context.arguments
    if wanted.keep < 0:
        raise UsageError("--keep must not be negative")
    going, kept = context.client.prunable(_seconds(wanted.older_than), wanted.keep)
    rows: list[dict[str, Any]] = []
    failure: AccelError | None = None
    for one in going:
        size = _size(one)
        if not wanted.dry_run:
            try:
                context.client.remove(one.id)
            except RunNotFoundError:  # somebody else was faster
                continue
            except AccelError as error:
                failure = error
                break
        rows.append({**one.to_json(), "bytes": size})
        if not wanted.json:
            context.output.line(
                Styled(one.name, "strong"), f" {one.id}, ended {figures.clock(one.ended)}: {figures.size(size)}"
            )
    _tell(context, rows, kept)
    if failure is not None:
        raise failure
    return 0


def _tell(context: Context, rows: list[dict[str, Any]], kept: list[dict[str, str]]) -> None:
    total, dry = sum(row["bytes"] for row in rows), context.arguments.dry_run
    if context.arguments.json:
        context.output.document({"schema": 1, "dry_run": dry, "bytes": total, "runs": rows, "kept": kept})
        return
    for one in kept:
        context.output.note(Styled(one["name"], "strong"), f" {one['id']} stays: {one['reason']}")
    did = "would be deleted" if dry else "deleted"
    count = f"{len(rows)} run{'' if len(rows) == 1 else 's'}"
    context.output.note(f"{count} {did}, {figures.size(total)}; ended more than {context.arguments.older_than} ago")


def _seconds(text: str) -> float:
    from accel_tui.jobs.spec import seconds

    try:
        return float(0 if text.strip() == "0" else seconds(text))
    except (ValueError, OverflowError):
        raise UsageError(f"--older-than: {text!r} is no duration", remedy='write "14d", "12h" or "1d 6h"') from None


def _size(run: Run) -> int:
    """Bytes on the disk below the run's folder, and below the artefacts where those lie elsewhere."""
    total = 0
    waiting = [run.folder]
    artefacts = os.path.join(run.folder, "artefacts")  # noqa: PTH118 - beside scandir, which takes texts
    if os.path.islink(artefacts):  # noqa: PTH114
        waiting.append(os.path.realpath(artefacts))
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:  # removed meanwhile, or another's
            continue
    return total
