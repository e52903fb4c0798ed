"""How the screen ends: the terminal as it was, the process gone, runs untouched."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accel_tui.model.runs import RunState
from support.live_terminal import LiveTerminal, live_terminal
from support.supervising import Site, site
from support.waiting import wait_for

ALTERNATE_ON, ALTERNATE_OFF = "\x1b[?1049h", "\x1b[?1049l"
CURSOR_ON, MOUSE_OFF, PASTE_OFF = "\x1b[?25h", "\x1b[?1000l", "\x1b[?2004l"

XTERM = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}


@contextlib.contextmanager
def screen(place: Site, *flags: str, size: tuple[int, int] = (120, 40), **variables: str) -> Iterator[LiveTerminal]:
    """The screen on a terminal, once it shows devices."""
    environment = {
        **place.environment,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        **variables,
    }
    argv = [sys.executable, "-m", "accel_tui", *flags]
    with live_terminal(argv, environment, size, str(place.base.parent)) as opened:
        opened.seen("shareable")
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "state") as opened:
        yield opened


def assert_restored(opened: LiveTerminal) -> None:
    """Everything that was switched on was switched off, in the end, and the line discipline is as before."""
    tail = opened.output[opened.output.rindex(ALTERNATE_ON.encode()) :].decode(errors="replace")
    for sequence in (ALTERNATE_OFF, CURSOR_ON, MOUSE_OFF, PASTE_OFF):
        assert sequence in tail
    assert opened.modes[:4] == opened.modes_before[:4]


def sleeper(place: Site) -> str:
    identifier = place.submit([sys.executable, "-c", "import time; time.sleep(600)"], name="sleeper")
    place.reach(identifier, RunState.RUNNING)
    return identifier


def test_q_leaves_and_tells_that_runs_go_on(place: Site) -> None:
    identifier = sleeper(place)
    with screen(place) as opened:
        opened.seen("sleeper")
        opened.type("q")
        assert opened.ended() == 0
        opened.seen("1 run goes on; accel-tui opens it again")
        assert_restored(opened)
    assert place.client.run(identifier).state is RunState.RUNNING


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal_and_leaves_runs_alone(place: Site, number: signal.Signals) -> None:
    identifier = sleeper(place)
    with screen(place) as opened:
        opened.signal(number)
        assert opened.ended() == 128 + number
        assert_restored(opened)
    assert place.client.run(identifier).state is RunState.RUNNING


def test_a_terminal_that_is_gone_ends_it(place: Site) -> None:
    with screen(place) as opened:
        opened.hang_up()
        assert opened.ended() in (128 + signal.SIGHUP, -signal.SIGHUP)


def test_a_terminal_that_is_gone_ends_it_even_under_nohup(place: Site) -> None:
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # children inherit it
    try:
        with screen(place) as opened:
            opened.hang_up()
            assert opened.ended() == 128 + signal.SIGHUP
    finally:
        signal.signal(signal.SIGHUP, handler)


def test_a_terminal_that_nobody_reads_does_not_keep_it_from_ending(place: Site) -> None:
    with screen(place) as opened:
        opened.stop_reading()
        for columns in range(60, 200):  # more to draw than the terminal holds
            opened.resize(columns, 50)
            opened.signal(signal.SIGWINCH)
        opened.signal(signal.SIGTERM)
        assert opened.ended() == 128 + signal.SIGTERM
        assert opened.modes[:4] == opened.modes_before[:4]


def test_it_can_be_stopped_and_continued(place: Site) -> None:
    with screen(place) as opened:
        opened.quiet(len(opened.output), 0.5)
        opened.signal(signal.SIGTSTP)
        wait_for(lambda: state_of(opened.process.pid) == "T", what="the stop")
        assert opened.modes[:4] == opened.modes_before[:4]
        before = len(opened.output)
        opened.signal(signal.SIGCONT)
        wait_for(lambda: ALTERNATE_ON.encode() in opened.output[before:], what="the return")
        wait_for(lambda: b"UTIL %" in opened.output[before:], what="what has not changed meanwhile")
        opened.type("q")
        assert opened.ended() == 0
        assert_restored(opened)


def test_looking_around_opens_another_screen_on_the_same_terminal(place: Site) -> None:
    with screen(place) as opened:
        opened.seen("Four ways to begin")
        opened.type("d")
        opened.seen(" simulated ")
        opened.seen("kx3")
        opened.type("q")
        assert opened.ended() == 0
        assert_restored(opened)
    with Site(place.base, "server8").new_client() as client:
        client.shutdown()


def test_the_kill_of_the_screen_touches_nothing(place: Site) -> None:
    identifier = sleeper(place)
    with screen(place) as opened:
        opened.signal(signal.SIGKILL)
        assert opened.ended() == -signal.SIGKILL
    assert place.client.run(identifier).state is RunState.RUNNING
    with screen(place) as again:
        again.seen("sleeper")


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_without_colours_and_with_ascii_nothing_else_is_written(place: Site) -> None:
    place.finished(place.submit([sys.executable, "-c", "for line in range(300): print(line, 'x' * 300)"], name="long"))
    with screen(place, "--ascii", NO_COLOR="1") as opened:
        opened.seen("299 xxx")
        before = len(opened.output)
        opened.type("5" + "\x1b[5~" * 3)  # the bar beside a log is drawn in another place
        opened.quiet(before)
        opened.type("q")
        assert opened.ended() == 0
        text = opened.output.decode()
        assert text.isascii()
        assert "38;2;" not in text
        assert "48;2;" not in text


def test_a_redirected_error_stream_does_not_take_the_screen_away(place: Site) -> None:
    environment = {**place.environment, **XTERM}
    command = f"exec {sys.executable} -m accel_tui 2>{place.base.parent}/errors"
    with live_terminal(["/bin/sh", "-c", command], environment, cwd=str(place.base.parent)) as opened:
        opened.seen("shareable")
        opened.type("q")
        assert opened.ended() == 0
    assert (place.base.parent / "errors").stat().st_size == 0
