"""The Log pane over real files: following, searching, trouble, ranks, how it failed, hostile lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from accel_tui.model.runs import Cause, Progress, RunResult, RunState
from support import written
from support.fake_client import FakeSupervisor
from support.log_stage import OWN, look, opened, pane, text_of, until_counted
from support.scene import run, runs, server
from support.screening import SIZES, Stage, staged
from support.screens import assert_grid, rows
from support.written import Written, step

by_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


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
        assert "no hits" not in text_of(stage)


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
        assert "▸ 4 lines  RuntimeError" in text_of(stage)


async def test_from_trouble_to_trouble(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure, (160, 44)) as stage:
        await stage.press("m", "home", "right_curly_bracket")
        assert current(stage).startswith("[rank1]: WARNING")
        await stage.press("right_curly_bracket")
        assert current(stage).startswith("[rank2]: RuntimeError"), "a folded traceback is one trouble"
        await stage.press("right_curly_bracket")
        assert current(stage).startswith("ChildFailedError")
        await stage.press("right_curly_bracket")
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
        assert "Traceback" not in text_of(stage), "it is folded"
        await stage.press("Z")
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


async def test_to_a_line_a_share_and_a_time(training: Written, tmp_path: Path) -> None:
    training.write("".join(f"late {number}\n" for number in range(3000)), 5)
    async with opened(tmp_path, training) as stage:
        await until_counted(stage)
        for words, begins in (("41", "[rank3]: WARNING"), ("50%", "late 1"), ("12:37:47", "[rank0]"), ("6s", "late 0")):
            await stage.press("number_sign", *words, "enter")
            await stage.until(lambda begins=begins: current(stage).startswith(begins), f"{words} at {begins}")
        await stage.press("number_sign", *"nonsense", "enter")
        assert "no line, share or time: nonsense" in text_of(stage)
        await stage.press("escape", "ctrl+p", *"42", "enter")
        await stage.until(lambda: "'epoch': 0.080" in current(stage), "the palette leads to a line")


async def test_a_time_needs_a_record_of_times(training: Written, tmp_path: Path) -> None:
    training.times.unlink()
    async with opened(tmp_path, training) as stage:
        await stage.press("number_sign", *"12:37", "enter")
        assert "this log has no record of times" in text_of(stage)


async def test_a_time_that_the_lines_bear_will_do(training: Written, tmp_path: Path) -> None:
    moment = "2026-11-30T12:{:02}:00Z step {}\n".format
    training.times.unlink()
    training.log.write_text("".join(moment(number // 10, number) for number in range(600)))
    async with opened(tmp_path, training) as stage:
        await until_counted(stage)
        await stage.press("number_sign", *"2026-11-30T12:31:00Z", "enter")
        await stage.until(lambda: current(stage).endswith("step 310"), "the first line of that minute")


async def test_a_traceback_folds_in_the_view_of_its_rank(training: Written, tmp_path: Path) -> None:
    lines = ["Traceback (most recent call last):", '  File "x.py", line 3, in main', "    step()", "ValueError: of {}"]
    names = {1: "one", 2: "two"}
    training.write("".join(f"[rank{rank}]: {line.format(names[rank])}\n" for line in lines for rank in names), 5)
    training.write("[rank1]: still here\n", 4)
    async with opened(tmp_path, training, (120, 40)) as stage:
        await until_counted(stage)
        assert "step()" in text_of(stage), "the two are mixed and not the same"
        await stage.press("right_square_bracket", "right_square_bracket")
        await stage.until(lambda: "of one" in text_of(stage) and "step()" not in text_of(stage), "the fold of rank 1")
        assert "of two" not in text_of(stage)
        training.write("[rank1]: and on\n", 3)
        await look(stage)
        assert "and on" in text_of(stage)
        assert "step()" not in text_of(stage)
        await stage.press("Z")
        assert "step()" in text_of(stage)
        await stage.press("Z", "backslash")
        assert "step()" in text_of(stage), "raw"


async def test_marks(training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training) as stage:
        await stage.press("apostrophe")
        assert any("nothing is marked" in notice.message for notice in stage.app.desk.board.notices)
        for line in ("10", "60"):
            await stage.press("number_sign", *line, "enter")
            await stage.settle()
            await stage.press("b")
        assert "▼" in text_of(stage)
        await stage.press("apostrophe")
        first = pane(stage).view.current
        await stage.press("apostrophe")
        second = pane(stage).view.current
        assert first is not None
        assert second is not None
        assert first < second
        await stage.press("b", "apostrophe")
        assert pane(stage).view.current == first
        await stage.press("b")
        assert "▼" not in text_of(stage)


async def test_the_map_shows_where_hits_are(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", *"allocation", "enter")
        view = pane(stage).view
        rows = [line for line in text_of(stage).split("\n") if line.rstrip("│▅▁▂▃▄▆▇█ ").endswith("▌")]
        assert len(rows) == 1, "both hits stand near the end, in one row of the map"
        await stage.press("escape")
        assert "▌" not in text_of(stage)
        assert view.has_focus


async def test_to_the_line_that_says_why(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        assert "J" in text_of(stage)
        await stage.press("m", "home", "J")
        await stage.until(lambda: pane(stage).view.current is not None, "the jump")
        assert current(stage).startswith("[rank2]:   File"), "line 84 of the diagnosis"


async def test_without_a_diagnosis_the_first_error_is_the_cause(failure: Written, tmp_path: Path) -> None:
    unknown = replace(failure.run, diagnosis=None)
    others = tuple(one for one in runs() if one.id != unknown.id)
    async with staged(FakeSupervisor(server(), (unknown, *others)), tmp_path, panes=OWN) as stage:
        stage.app.desk.select(unknown.id)
        await stage.press("5", "m", "home", "J")
        assert current(stage).startswith("[rank2]: Traceback")


def copied(stage: Stage) -> str:
    return stage.app.clipboard


async def test_copying_lines(training: Written, tmp_path: Path) -> None:
    training.write("\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07one\ntwo\nthree\n")
    async with opened(tmp_path, training) as stage:
        await stage.press("y")
        assert copied(stage) == "three"
        await stage.press("shift+up", "shift+up", "shift+up", "y")
        assert copied(stage) == "red one\ntwo\nthree"
        await stage.press("shift+down", "y")
        assert copied(stage) == "two\nthree"
        await stage.press("x", "y")
        assert "two" in copied(stage)
        assert "\n" not in copied(stage)


async def test_more_than_terminals_take_is_not_copied(training: Written, tmp_path: Path) -> None:
    training.write("y" * 70_000 + "\n")
    async with opened(tmp_path, training) as stage:
        await stage.press("y")
        assert copied(stage) == ""
        assert "Y writes a file" in stage.app.desk.board.notices[-1].message


async def test_tmux_needs_a_setting(training: Written, tmp_path: Path) -> None:
    supervisor = FakeSupervisor(server(), (training.run,))
    async with staged(supervisor, tmp_path, environment={"TMUX": "/tmp/tmux-0/default,1,0"}, panes=OWN) as stage:
        stage.app.desk.select(training.run.id)
        await stage.press("5", "y")
        assert "set-clipboard on" in stage.app.desk.board.notices[-1].message


async def test_what_is_shown_goes_to_a_file(failure: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "out.log"
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", *"allocation", "enter", "ctrl+f", "Y", "ctrl+u", *target.name, "enter")
        await stage.until(target.exists, "the file")
        assert target.read_text().splitlines() == [
            "[rank2]: RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed",
            "ChildFailedError: train.py FAILED, root cause rank 2, Allocation failed",
        ]
        await stage.press("escape", "Y", "ctrl+u", *target.name, "enter")
        assert "There is such a file" in text_of(stage)
        await stage.press("escape")
        assert len(target.read_text().splitlines()) == 2
        await stage.press("Y", "ctrl+u", *target.name, "enter", "o")
        await stage.until(lambda: len(target.read_text().splitlines()) == 88, "the whole log")
        assert not list(tmp_path.glob(".out.log*"))


async def test_folds_open_and_close(failure: Written, tmp_path: Path) -> None:
    failure.write("the same\n" * 1200 + "end\n")
    async with opened(tmp_path, failure) as stage:
        await stage.press("m")
        shown = text_of(stage)
        assert "▸ 1 200 times  the same" in shown
        assert "▸ 4 lines  RuntimeError" in shown
        assert "1 289 lines" in shown, "the log is as long as it is"
        await stage.press("left_curly_bracket", "left_curly_bracket")
        assert current(stage).startswith("[rank2]: RuntimeError")
        await stage.press("z")
        assert 'File "train.py", line 212' in text_of(stage)
        await stage.press("z")
        assert 'File "train.py", line 212' not in text_of(stage)
        await stage.press("Z", "end")
        assert "▸" not in text_of(stage)
        assert text_of(stage).count("the same") > 10
        await stage.press("Z")
        assert "▸ 1 200 times  the same" in text_of(stage)


async def test_a_hit_that_a_fold_hides_opens_it(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("m", "slash", *"trainer.train", "enter")
        assert current(stage) == "[rank2]:     trainer.train()"
        assert "trainer.train()" in text_of(stage)


async def test_a_fold_is_copied_whole(failure: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, failure) as stage:
        await stage.press("left_curly_bracket", "left_curly_bracket", "y")
        assert len(copied(stage).splitlines()) == 4
        assert "trainer.train()" in copied(stage)


async def test_folds_while_the_log_grows(training: Written, tmp_path: Path) -> None:
    async with opened(tmp_path, training) as stage:
        for count in (2, 3, 4):
            training.write("waits for a lock\n")
            await look(stage)
            assert ("▸" in text_of(stage)) == (count > 2)
        assert "▸ 3 times" in text_of(stage)
        assert text_of(stage).count("waits for a lock") == 1


def bar_frame(done: int, total: int = 200, label: str = "") -> str:
    share = 100 * done // total
    return f"{label}{share:3}%|{'#' * (share // 10):<10}| {done}/{total} [00:05<00:07,  8.1it/s]"


async def test_bars_of_four_ranks_are_untangled(training: Written, tmp_path: Path) -> None:
    for number in range(1, 60):
        for rank in range(4):
            training.write(f"[rank{rank}]:{bar_frame(number + 10 * rank, label='Tokenize: ')}\n")
        if number == 30:
            training.write("[rank2]: a plain line between them\n")
    async with opened(tmp_path, training) as stage:
        await stage.press("m")
        shown = text_of(stage)
        for rank in range(4):
            row = next(line for line in shown.split("\n") if f"rank {rank}" in line)
            assert f"{59 + 10 * rank}/200" in row
            assert "Tokenize" in row
        assert "a plain line between them" in shown
        assert shown.count("Tokenize") <= 8, "four live rows, and two folded runs of frames"
        training.write(f"[rank1]:{bar_frame(150, label='Tokenize: ')}\n")
        await look(stage)
        assert "150/200" in text_of(stage)
        await stage.press("backslash")
        assert text_of(stage).count("Tokenize") > 20
        assert "raw" in text_of(stage)
        await stage.press("backslash")
        assert text_of(stage).count("Tokenize") <= 8


async def test_a_line_of_six_megabytes_of_frames(training: Written, tmp_path: Path) -> None:
    with training.log.open("a") as file:
        for number in range(120_000):
            file.write("\r" + bar_frame(number, 120_000))
    assert training.log.stat().st_size > 6e6
    async with opened(tmp_path, training) as stage:
        await stage.press("m")
        assert "119 999/120 000" in text_of(stage)
        await stage.press("home", "end", "backslash")
        assert "␍" in text_of(stage)
        await stage.press("enter")
        assert "119999/120000" in text_of(stage)


async def test_the_rank_that_failed_first_is_pointed_at(failure: Written, tmp_path: Path) -> None:
    failure.write("[rank0]: a line of another rank\n")
    async with opened(tmp_path, failure) as stage:
        await stage.press("m")
        colours = pane(stage).view.palette
        styles = {}
        for row in rows(stage.app):
            before = [segment for segment in row if segment.text in ("0", "2")]
            styles.update({segment.text: segment.style for segment in before})
        assert styles["2"] == colours.style("error", "bg", bold=True)
        assert styles["0"] == colours.style("muted", "bg")
