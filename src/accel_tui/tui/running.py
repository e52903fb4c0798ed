"""Running the screen on this terminal, from the first paint to what the shell is told at the end."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.client.connection import Client
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.endings import Endings
from accel_tui.tui.messages import LeaveFor
from accel_tui.tui.naming import count

if TYPE_CHECKING:
    from accel_tui.config.settings import Settings
    from accel_tui.model.runs import Run


def run_screen(
    state_dir: Path,
    settings: Settings,
    environment: Mapping[str, str],
    cwd: str,
    options: Options,
    *,
    looked_at: Run | str | None = None,
    outside: Callable[[Sequence[str]], None] | None = None,
) -> int:
    """Show the screen until the person leaves it, or its terminal is gone; the exit code.

    With `looked_at` it shows one log alone: a run's, or that of the file at this absolute path.

    Raises whatever ended the application against its will.
    """
    if sys.__stderr__ is not None and not sys.__stderr__.isatty():
        setattr(sys, "__stderr__", sys.__stdout__)  # noqa: B010 - Textual draws there; a redirected one is no screen
    while True:
        app = _application(state_dir, settings, environment, cwd, options, looked_at=looked_at)
        with Endings() as endings:
            app.endings = endings
            demo = app.run()
        if app.failure is not None:
            raise app.failure
        if app.outside is not None and outside is not None:
            options = _leave(app, app.outside, outside, options)
            continue
        if demo is None:
            break
        options = dataclasses.replace(options, demo=demo, session=None)
    if not app.return_code:
        _tell(len(app.desk.board.live))
    return app.return_code or 0


def _application(
    state_dir: Path,
    settings: Settings,
    environment: Mapping[str, str],
    cwd: str,
    options: Options,
    *,
    looked_at: Run | str | None,
) -> AccelApp:
    def make() -> Client:
        return Client(state_dir, options.demo, settings, environment)

    if looked_at is not None:
        from accel_tui.tui.viewing import ViewApp

        return ViewApp(make, settings, environment, cwd, options, looked_at=looked_at)
    return AccelApp(make, settings, environment, cwd, options)


def _leave(app: AccelApp, place: LeaveFor, outside: Callable[[Sequence[str]], None], options: Options) -> Options:
    """Let another program have the terminal, then show what was shown before."""
    try:
        outside(place.argv)
    finally:
        Path(place.file).unlink(missing_ok=True)
    return dataclasses.replace(options, selected=app.desk.board.selected)


def _tell(live: int) -> None:
    if live and sys.__stdout__ is not None:
        verb, them = ("goes", "it") if live == 1 else ("go", "them")
        sys.__stdout__.write(f"{count(live, 'run')} {verb} on; accel-tui opens {them} again\n")
        sys.__stdout__.flush()
