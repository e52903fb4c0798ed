"""`accel-tui` without a verb: the state of the host in plain lines, once or as it changes."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from accel_tui.cli.output import Styled
from accel_tui.cli.picture import device_table, remark, run_table, state_cell
from accel_tui.cli.seen import seen_here
from accel_tui.model.devices import Inventory
from accel_tui.model.errors import ExitCode, FileError, UsageError
from accel_tui.model.runs import Run

if TYPE_CHECKING:
    from accel_tui.cli.context import Context


def run(context: Context) -> int:
    """Print the state once; on a terminal that is not dumb go on with its changes until interrupted."""
    _print_state(context, seen_here(context, context.client.devices()), context.client.runs())
    if not sys.stdout.isatty() or _is_dumb(context):
        return 0
    try:
        _print_changes(context)
    except KeyboardInterrupt:
        live = [run for run in context.client.runs() if run.ended is None]
        context.output.note("")
        if live:
            context.output.note(context.output.hint(f"{len(live)} runs go on; `accel-tui runs` lists them"))
        return int(ExitCode.INTERRUPTED)
    return 0


def screen_can_be_shown(context: Context) -> bool:
    """Whether this is a terminal that can draw, and plain lines were not asked for."""
    able = sys.stdin.isatty() and sys.stdout.isatty()
    return able and not context.arguments.plain and not _is_dumb(context)


def _is_dumb(context: Context) -> bool:
    return context.environment.get("TERM", "") in ("dumb", "")


def validate(context: Context) -> None:
    """Look at what stands beside the bare name, before anything is started.

    Raises:
    FileError: `--session` names no valid file.
    UsageError: `--theme` names no theme.
    """
    wanted = context.arguments
    if wanted.session is not None:
        from accel_tui.jobs.session import load_session

        load_session(wanted.session)
    check_theme(context)


def check_theme(context: Context) -> None:
    """Raises:
    UsageError: `--theme` names no theme.
    """
    wanted = context.arguments.theme
    names = [] if wanted is None else theme_names(context)
    if wanted is not None and wanted not in names:
        raise UsageError(f"no theme {wanted!r}", remedy=f"themes: {', '.join(names) or 'none are shipped yet'}")


def theme_names(context: Context) -> list[str]:
    """Names of the themes at hand: the shipped files and the user's own."""
    from pathlib import Path

    from accel_tui.config.shipped import shipped_folder

    folders = [Path(context.settings.config_dir) / "themes"]
    with contextlib.suppress(FileError):  # an install without themes still has plain lines
        folders.append(shipped_folder("themes"))
    return sorted({file.stem for folder in folders for file in folder.glob("*.toml")})


def _print_state(context: Context, inventory: Inventory, runs: list[Run]) -> None:
    output = context.output
    simulated = any(view.device.simulated for view in inventory.devices)
    output.line(
        Styled("accel-tui", "strong"), f"  {inventory.host}", "  " if simulated else "",
        Styled("simulated" if simulated else "", "simulated"),
    )  # fmt: skip
    device_table(output, inventory)
    output.line("")
    run_table(output, runs)
    output.flush()


def _print_changes(context: Context) -> None:
    """One line per fact that changed: a run's state or progress, a device's state or holder, a notice."""
    seen_runs: dict[str, str] = {}
    seen_devices: dict[str, str] = {}
    first = True
    for event in context.client.events():
        if event.name == "snapshot":
            _note_devices(context, seen_devices, event.data.get("inventory"), quiet=first)
            for document in event.data.get("runs", ()):
                _note_run(context, seen_runs, document, quiet=first)
            first = False
        elif event.name == "devices":
            _note_devices(context, seen_devices, event.data.get("inventory", event.data), quiet=False)
        elif event.name == "run":
            _note_run(context, seen_runs, event.data.get("run", event.data), quiet=False)
        elif event.name == "notice":
            context.output.line(context.output.glyph("warning"), " ", str(event.data.get("message", "")))
        context.output.flush()


def _note_run(context: Context, seen: dict[str, str], document: dict[str, Any], *, quiet: bool) -> None:
    run = Run.from_json(document)
    words = f"{state_cell(context.output, run).text} {remark(run)}"
    if seen.get(run.id) != words:
        seen[run.id] = words
        if not quiet:
            context.output.line(
                state_cell(context.output, run), " ", Styled(run.name, "strong"), f" {run.id} ", remark(run)
            )


def _note_devices(context: Context, seen: dict[str, str], document: Any, *, quiet: bool) -> None:
    if not isinstance(document, dict):
        return
    for view in seen_here(context, Inventory.from_json(document)).devices:
        claim = view.reserved_by
        holder = f"reserved for {claim.run} of {claim.user}" if claim else "not reserved"
        words = f"{view.device.state.value}, {holder}"
        if seen.get(view.device.key) != words:
            seen[view.device.key] = words
            if not quiet:
                context.output.line(Styled(view.device.key, "strong"), f" {words}")
