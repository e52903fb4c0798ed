"""What the palette lists: commands, runs, jobs, sessions, devices, settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.runs import RunState
from accel_tui.tui.bindings import KEYS
from accel_tui.tui.naming import names_of, number, selector, short_name
from accel_tui.tui.screens.palette import Act, Entry
from accel_tui.tui.sessions import session_files

if TYPE_CHECKING:
    from accel_tui.tui.screens.main import MainScreen

DEVICES, JOB, RUNS, LOG = 1, 2, 3, 5


def entries(screen: MainScreen) -> list[Entry]:
    """Everything that can be found on this screen now."""
    return [
        *_runs(screen),
        *_jobs(screen),
        *_devices(screen),
        *_commands(screen),
        *_settings(screen),
        *_sessions(screen),
    ]


def _commands(screen: MainScreen) -> Iterator[Entry]:
    for key in KEYS.values():
        if not key.palette or (screen.taker(key.id) is None and key.id not in screen.own_verbs):
            continue
        title = f"{key.word[0].upper()}{key.word[1:]}"
        about = key.help if key.help.lower() != key.word.lower() else ""
        act = _verb(screen, key.id)
        yield Entry("command", title, about, screen.services.key(key.id), act, screen.why_not(key.id))


def _verb(screen: MainScreen, verb: str) -> Act:
    return lambda: screen.run_verb(verb)


def _runs(screen: MainScreen) -> Iterator[Entry]:
    board = screen.board
    known = {view.device.key: view.device for view in board.devices}
    for run in (*board.live, *(run for run in board.runs.values() if run.state is RunState.FINISHED)):
        state = run.state.value if run.result is None else run.result.value
        where = names_of(run.devices, known)
        about = ", ".join(filter(None, [state, where, "" if run.state is not RunState.FINISHED else run.id]))
        yield Entry("run", run.name, about, act=_select(screen, run.id))


def _select(screen: MainScreen, run: str) -> Act:
    def act() -> None:
        screen.services.desk.select(run)
        screen.go_to(RUNS)

    return act


def _jobs(screen: MainScreen) -> Iterator[Entry]:
    board = screen.board
    if board.session is not None:
        for name in board.session.jobs:
            yield Entry("job", name, board.session.title, act=_open(screen, Path(board.session.path), name))


def _sessions(screen: MainScreen) -> Iterator[Entry]:
    for path in session_files(screen.services):
        yield Entry("session", path.stem, str(path.parent), act=_open(screen, path, None))


def _open(screen: MainScreen, path: Path, job: str | None) -> Act:
    def act() -> None:
        screen.open_session(str(path), job)

    return act


def _devices(screen: MainScreen) -> Iterator[Entry]:
    for view in screen.board.devices:
        device = view.device
        name = selector([device]) or number(device)
        yield Entry(
            "device", name, f"{short_name(device)} {device.pci_address or ''}".strip(), act=_device(screen, device.key)
        )


def _device(screen: MainScreen, key: str) -> Act:
    def act() -> None:
        screen.go_to(DEVICES)
        screen.reveal(DEVICES, key)

    return act


def _settings(screen: MainScreen) -> Iterator[Entry]:
    for name in sorted(screen.app.available_themes):
        if screen.is_ours(name):
            current = " (now)" if screen.app.theme == name else ""
            yield Entry("setting", f"theme {name}{current}", act=_theme(screen, name))


def _theme(screen: MainScreen, name: str) -> Act:
    return lambda: setattr(screen.app, "theme", name)
