"""The Log pane over real files: following, searching, trouble, ranks, how it failed, hostile lines."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accel_tui.model.runs import Cause, Progress, RunResult, RunState
from accel_tui.tui.app import Options
from accel_tui.tui.panes.log import LogPane
from support import written
from support.fake_client import FakeSupervisor
from support.scene import run, runs, server
from support.screening import SIZES, Stage, staged
from support.screens import assert_grid, text_grid
from support.written import Written, step

by_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
LOG = 5
OWN = ("Devices", "Runs", "Log")
"""What is looked at here; other panes have grids of their own."""


@contextlib.asynccontextmanager
async def opened(
    base: Path,
    shown: Written,
    size: tuple[int, int] = (120, 40),
    options: Options = Options(),  # noqa: B008 - immutable
) -> AsyncIterator[Stage]:
    """The screen with that run selected and the focus in the log."""
    others = tuple(one for one in runs() if one.id != shown.run.id)
    async with staged(FakeSupervisor(server(), (shown.run, *others)), base, size, options, panes=OWN) as stage:
        stage.app.desk.select(shown.run.id)
        await stage.press(str(LOG))
        yield stage


def pane(stage: Stage) -> LogPane:
    return stage.app.screen.query_one(LogPane)


async def look(stage: Stage) -> None:
    """A look at the file, as the timer has it several times a second."""
    pane(stage).view.look()
    await stage.settle()


async def until_counted(stage: Stage) -> None:
    await stage.until(lambda: pane(stage).view.status.exact, "the counting of lines")


def text_of(stage: Stage) -> str:
    return text_grid(stage.app)


@pytest.fixture
def training(tmp_path: Path) -> Written:
    return written.training(tmp_path)


@pytest.fixture
def failure(tmp_path: Path) -> Written:
    return written.failure(tmp_path)


def named(name: str, size: tuple[int, int]) -> str:
    return f"logpane-{name}-{size[0]}x{size[1]}"


@by_size
async def test_following(size: tuple[int, int], training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training, size) as stage:
        assert_grid(stage.app, named("following", size))


@by_size
async def test_behind(size: tuple[int, int], training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training, size) as stage:
        await stage.press("pageup")
        training.write("".join(step(number) for number in range(100, 1300)))
        await look(stage)
        assert_grid(stage.app, named("behind", size))


@by_size
async def test_searched(size: tuple[int, int], failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure, size) as stage:
        await stage.press("m", "slash", *"allocation", "enter", "N")
        assert_grid(stage.app, named("searched", size))


@by_size
async def test_failed(size: tuple[int, int], failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure, size) as stage:
        assert_grid(stage.app, named("failed", size))


@by_size
async def test_empty(size: tuple[int, int], tmp_path: Path) -> None:
    young = Written(tmp_path, run("20261130-124103-zzzz", "young", RunState.RUNNING, started=4,
                                    progress=Progress(phase="importing")))  # fmt: skip
    async with opened(tmp_path, young, size) as stage:
        assert_grid(stage.app, named("empty", size))


async def test_no_run_is_selected(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server(), ()), tmp_path) as stage:
        assert "No run selected." in text_of(stage)
        assert "The log of the selected run follows here." in text_of(stage)


@pytest.mark.parametrize(
    ("fields", "fact", "change"),
    [
        ({"state": RunState.QUEUED, "waiting_for": "2 cards"}, "job has not started.", "It waits for 2 cards."),
        ({"state": RunState.QUEUED, "held": "held by you"}, "job has not started.", "It is held: held by you."),
        ({"state": RunState.STARTING}, "empty so far", "It is being started."),
        ({"state": RunState.RUNNING, "started": 65}, "empty so far", "It started 1 m 05 s ago."),
        ({"result": RunResult.SUCCEEDED, "started": 60, "ended": 50}, "wrote nothing", "It succeeded after 10 s."),
        ({"result": RunResult.NOT_STARTED, "cause": Cause.CHECK_REFUSED}, "never started", "check-refused"),
    ],
)
async def test_an_empty_log_says_why(fields: dict[str, object], fact: str, change: str, tmp_path: Path) -> None:
    young = Written(tmp_path, run("20261130-124103-zzzz", "job", **fields))  # type: ignore[arg-type] # of a table
    async with opened(tmp_path, young) as stage:
        assert fact in text_of(stage)
        assert change in text_of(stage)


async def test_scrolling_up_stops_following_and_end_goes_on(training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training) as stage:
        assert "all ranks, following" in text_of(stage)
        await stage.press("up")
        training.write("".join(step(number) for number in range(100, 200)))
        await look(stage)
        assert "101 lines behind" in text_of(stage)
        for key in ("end", "f"):
            await stage.press(key)
            assert "all ranks, following" in text_of(stage)
            training.write(f"the last line before {key}\n")
            await look(stage)
            assert f"the last line before {key}" in text_of(stage)
            await stage.press("pageup")
        await stage.press("m", "end", "m")
        assert "all ranks, following" in text_of(stage), "a view that grows and shrinks goes on following"


async def test_hits_are_counted_and_visited_both_ways(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", *"allocation")
        await stage.until(lambda: "2 hits" in text_of(stage), "the count")
        await stage.press("enter")
        assert "2 of 2 hits" in text_of(stage)
        await stage.press("N")
        assert "1 of 2 hits" in text_of(stage)
        await stage.press("n", "n")
        assert "1 of 2 hits" in text_of(stage)
        assert any("from the beginning" in notice.message for notice in stage.app.desk.board.notices)
        await stage.press("escape")
        assert "hits" not in text_of(stage)
        assert pane(stage).view.has_focus


async def test_the_count_goes_on_while_the_log_grows(training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training) as stage:
        await stage.press("m", "slash", *"needle", "enter")
        assert "no hits" in text_of(stage)
        training.write("a needle\nand a needle\n")
        await look(stage)
        await stage.until(lambda: "2 hits" in text_of(stage), "the new count")


async def test_a_regular_expression_and_one_that_is_broken(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", "ctrl+r", *"^ChildF.*2")
        await stage.until(lambda: "1 hit" in text_of(stage), "the count")
        assert "regex on" in text_of(stage)
        await stage.press("left_parenthesis")
        assert "not a regular expression" in text_of(stage)
        await stage.press("ctrl+r")
        await stage.until(lambda: "no hits" in text_of(stage), "the count of the plain text")


async def test_only_hits(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", *"allocation", "enter", "ctrl+f")
        assert "only hits" in text_of(stage)
        assert "2 lines" in text_of(stage)
        assert "Traceback" not in text_of(stage)
        await stage.press("ctrl+f")
        assert "Traceback" in text_of(stage)


async def test_from_trouble_to_trouble(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure, (160, 44)) as stage:
        await stage.press("m", "home", "right_curly_bracket")
        assert current(stage).startswith("[rank1]: WARNING")
        await stage.press("right_curly_bracket")
        assert current(stage).startswith("[rank2]: Traceback")
        await stage.press("right_curly_bracket", "right_curly_bracket", "right_curly_bracket")
        assert current(stage).startswith("ChildFailedError")
        assert stage.app.desk.board.notices[-1].message == "no error or warning below"
        await stage.press("left_curly_bracket")
        assert current(stage).startswith("[rank2]: RuntimeError")


def current(stage: Stage) -> str:
    line = pane(stage).view.line_here()
    assert line is not None
    return line.data.decode()


async def test_one_rank_at_a_time(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "right_square_bracket", "right_square_bracket")
        assert "rank 1" in text_of(stage)
        assert "clipped to 1.0" in text_of(stage)
        assert "Traceback" not in text_of(stage)
        await stage.press("slash", *"clipped", "enter")
        assert "1 of 1 hit" in text_of(stage)
        await stage.press("escape", "right_square_bracket")
        assert "Traceback" in text_of(stage)
        await stage.press("escape")
        assert "all ranks" in text_of(stage)


async def test_only_the_last_frame_of_a_progress_bar_shows(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m")
        assert "118/1500" in text_of(stage)
        assert " 16/1500" not in text_of(stage)


async def test_the_card_of_a_failure_can_be_hidden(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        assert "The card ran out of memory." in text_of(stage)
        assert "halve the batch" in text_of(stage)
        await stage.press("x")
        assert "halve the batch" not in text_of(stage)


async def test_a_file_that_was_cut_is_said_to_be(training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training) as stage:
        training.log.write_text("begun anew\n")
        await look(stage)
        assert "begun anew" in text_of(stage)
        assert "The file was cut or replaced at 12:41:07" in text_of(stage)
        other = training.log.with_name("other")
        other.write_text("another file\n" * 3)
        other.replace(training.log)
        await look(stage)
        assert "another file" in text_of(stage)
        assert "2 times by now" in text_of(stage)


async def test_another_run_is_another_log(failure: Written, training: Written, tmp_path: Path) -> None:
    others = (training.run, failure.run)
    async with staged(FakeSupervisor(server(), others), tmp_path) as stage:
        stage.app.desk.select(failure.run.id)
        await stage.settle()
        assert "ChildFailedError" in text_of(stage)
        stage.app.desk.select(training.run.id)
        await stage.settle()
        assert "ChildFailedError" not in text_of(stage)
        assert "'grad_norm'" in text_of(stage)


async def test_a_line_is_shown_whole(training: Written, tmp_path: Path) -> None:
    training.write("begin " + "x" * 300 + " the very end\n")
    async with opened(tmp_path, training) as stage:
        assert "very" not in text_of(stage)
        await stage.press("enter")
        assert "very end" in text_of(stage)


HOSTILE = (
    b"\x1b]52;c;aGk=\x07 one", b"\x1b]0;title\x07 two", b"\x1b[2J\x1b[?1049l three", b"\x1bc\x1b#8 four",
    b"\x9b2J\x9d0;t\x9c five", b"\x1bP$q\x1b\\\\ six", "\u202eevil\u2066 seven".encode(), b"a\x7f\x18\x00 eight",
    b"[@click=app.quit]x[/] [red]y nine", b"\xff\xfe ten", b"\x1b[38;5;1mred\x1b[5m eleven", b"\x1b_apc\x1b\\ twelve",
)  # fmt: skip


async def test_nothing_hostile_reaches_the_terminal(training: Written, tmp_path: Path) -> None:
    for payload in HOSTILE:
        training.write(b"[rank0]: " + payload + b"\n")
    async with opened(tmp_path, training, (160, 60)) as stage:
        await stage.press("m", "slash", *"rank0", "enter")
        shown = text_of(stage)
        assert all(payload.split()[-1].decode() in shown for payload in HOSTILE)
        assert "[@click=app.quit]x[/]" in shown
        bad = [letter for letter in shown if letter != "\n" and not letter.isprintable()]
        assert bad == []
        await stage.press("enter")
        assert [letter for letter in text_of(stage) if letter != "\n" and not letter.isprintable()] == []
