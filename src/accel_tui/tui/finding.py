"""What the palette lists: commands, runs, jobs, sessions, devices, settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.runs import RunState
from accel_tui.tui.bindings import KEYS, Key
from accel_tui.tui.naming import names_of, number, selector, short_name
from accel_tui.tui.screens.palette import Act, Entry
from accel_tui.tui.sessions import session_files

if TYPE_CHECKING:
    from accel_tui.tui.panes import Pane
    from accel_tui.tui.screens.main import MainScreen

DEVICES, JOB, RUNS, LOG = 1, 2, 3, 5


def entries(screen: MainScreen) -> list[Entry]:
    """Everything that can be found on this screen now."""
    return [
        *_commands(screen),
        *_runs(screen),
        *_jobs(screen),
        *_devices(screen),
        *_sessions(screen),
        *_settings(screen),
    ]


def typed(screen: MainScreen, words: str) -> Entry | None:
    """What the words themselves mean to a pane: a number, a time or a percentage is a place in the log."""
    for pane in screen.panes:
        found = pane.typed(words)
        if found is not None:
            title, act = found
            return Entry("place", title, act=_in_pane(screen, pane.number, act))
    return None


def _in_pane(screen: MainScreen, number: int, act: Act) -> Act:
    def there() -> object:
        screen.go_to(number)
        return act()

    return there


def actions(screen: MainScreen, pane: Pane) -> list[Entry]:
    """What can be done in one pane, most useful first."""
    return [_command(screen, KEYS[verb], pane.WORDS.get(verb)) for verb in _verbs(screen, pane)]


def _verbs(screen: MainScreen, pane: Pane) -> list[str]:
    return [verb for verb in dict.fromkeys((*pane.foot, *pane.KEYS)) if _known(screen, verb)]


def _known(screen: MainScreen, verb: str) -> bool:
    return screen.taker(verb) is not None or verb in screen.own_verbs


def _commands(screen: MainScreen) -> Iterator[Entry]:
    """Those of the pane with the focus first, then all others."""
    pane = screen.focused_pane
    here = [verb for verb in _verbs(screen, pane) if KEYS[verb].palette]
    for verb in dict.fromkeys((*here, *KEYS)):
        if KEYS[verb].palette and _known(screen, verb):
            yield _command(screen, KEYS[verb], pane.WORDS.get(verb))


def _command(screen: MainScreen, key: Key, word: str | None = None) -> Entry:
    name = word or key.word
    # What a pane calls differently is not what the table explains.
    about = key.help if word in (None, key.word) and key.help.lower() != name.lower() else ""
    act = _verb(screen, key.id)
    return Entry(
        "command", name[0].upper() + name[1:], about, screen.services.key(key.id), act, screen.why_not(key.id)
    )  # fmt: skip


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
