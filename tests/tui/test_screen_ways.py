"""Ways through the screen: mouse, sizes, themes, keys of one's own, notices, silence."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Resize
from textual.geometry import Size

from accel_tui.model.runs import RunResult, RunState
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.bindings import KEYS
from accel_tui.tui.board import Level
from accel_tui.tui.panes import PANES, Pane
from accel_tui.tui.panes.devices import DevicesPane
from accel_tui.tui.panes.runs import RunsPane
from accel_tui.tui.screens.help import Here, help_lines
from accel_tui.tui.screens.main import MainScreen
from accel_tui.tui.screens.palette import Palette
from accel_tui.tui.screens.sheet import Sheet
from accel_tui.tui.widgets.grid import Grid
from support.fake_client import FakeSupervisor
from support.scene import key, run, runs, server
from support.scenes import JOB, fall_silent
from support.screening import SIZES, Stage, staged
from support.screens import rows, text_grid


def busy() -> FakeSupervisor:
    return FakeSupervisor(server(), runs())


def main(stage: Stage) -> MainScreen:
    screen = stage.app.screen
    assert isinstance(screen, MainScreen)
    return screen


def focused(stage: Stage) -> str:
    widget = stage.app.focused
    assert widget is not None
    return next(node.label for node in widget.ancestors_with_self if isinstance(node, Pane))


async def test_every_verb_of_a_pane_has_its_method() -> None:
    for entry in PANES:
        pane = entry.load()
        assert pane.number == entry.number
        assert pane.label == entry.name
        for verb in (*pane.KEYS, *entry.reach):
            assert verb in KEYS
            assert hasattr(pane, "do_" + verb.replace(".", "_")), (entry.name, verb)
        for verb in pane.FOOT:
            assert verb in KEYS


async def test_devices_are_picked_by_mouse(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        grid = main(stage).query_one(DevicesPane).query_one(Grid)
        await stage.pilot.click(grid, offset=(1, 8))  # the mark of card 7
        await stage.settle()
        assert stage.app.desk.board.picks == (key("dd"),)
        await stage.pilot.click(grid, offset=(1, 1))  # card 0 is in use
        await stage.settle()
        assert stage.app.desk.board.picks == (key("dd"),)
        assert "gaudi:0 cannot be picked: qwen3-lora has it" in text_grid(stage.app)


async def test_keys_of_the_foot_and_tabs_are_clickable(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (80, 24)) as stage:
        foot = text_grid(stage.app).splitlines()[-1]
        await stage.pilot.click("#foot", offset=(foot.index("? help"), 0))
        await stage.settle()
        assert isinstance(stage.app.screen, Sheet)
        await stage.press("escape")
        tabs = text_grid(stage.app).splitlines()[1]
        await stage.pilot.click("#tabs", offset=(tabs.index("3 Runs") - 1, 0))
        await stage.settle()
        assert focused(stage) == "Runs"


async def test_panes_are_reached_by_number_and_tab_and_maximised(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (200, 50)) as stage:
        assert focused(stage) == "Devices"
        await stage.press("3")
        assert focused(stage) == "Runs"
        await stage.press("m")
        screen = main(stage)
        assert [pane.label for pane in screen.query(Pane) if pane.display] == ["Runs"]
        await stage.press("escape")
        assert screen.query_one(DevicesPane).display
        order = [entry.name for entry in sorted(PANES, key=lambda entry: entry.number) if entry.number]
        seen = []
        await stage.press("1")
        for _ in order:
            seen.append(focused(stage))
            await stage.press("tab")
        assert seen == order
        before = screen.query_one(DevicesPane).size.width
        await stage.press("less_than_sign")
        assert screen.query_one(DevicesPane).size.width == before - 2


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_tab_goes_on_from_every_pane_before_anything_has_run(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server()), tmp_path, size) as stage:
        for number in "126":  # one that the start card leaves visible, two that it covers
            await stage.press(number)
            before = focused(stage)
            await stage.press("tab")
            assert focused(stage) != before
        await stage.press("2", "m", "shift+tab")
        assert focused(stage) != "Job"


async def test_a_screen_that_is_too_small_starts_and_stops_nothing_and_comes_back(tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path, (80, 24)) as stage:
        await stage.press("3")
        await stage.pilot.resize_terminal(59, 19)
        await stage.settle()
        assert "needs 60x20, this is 59x19" in text_grid(stage.app)
        await stage.press("s", "enter", "delete", "y", "r", "l", "tab", "m", "1")
        assert {verb for verb, _ in supervisor.asked} <= {"run_metrics", "devices_history"}
        assert isinstance(stage.app.screen, MainScreen)
        await stage.pilot.resize_terminal(80, 24)
        await stage.settle()
        chosen = stage.app.desk.board.run
        await stage.press("down")
        assert focused(stage) == "Runs"
        assert stage.app.desk.board.run != chosen


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=["80x24", "60x20"])
async def test_no_tab_makes_room_for_what_a_pane_is_about(size: tuple[int, int], tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, size) as stage:
        for number in "125":
            await stage.press(number)
            tabs = text_grid(stage.app).splitlines()[1]
            assert [entry.name for entry in PANES if f"{entry.number} {entry.name}" not in tabs and entry.number] == []


async def test_exactly_one_title_is_a_chip(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (200, 50)) as stage:
        for number in ("1", "3"):
            await stage.press(number)
            accent = stage.app.theme_variables["accent"].lower()
            chips = [
                segment.text
                for row in rows(stage.app)
                for segment in row
                if segment.style is not None and segment.style.bgcolor is not None
                and segment.style.bgcolor.get_truecolor().hex == accent
            ]  # fmt: skip
            assert len(chips) == 1
            assert chips[0].strip().startswith(number)


async def test_two_hundred_sizes_leave_it_whole(tmp_path: Path) -> None:
    chance = random.Random(7)
    async with staged(busy(), tmp_path) as stage:
        for _ in range(200):
            size = Size(chance.randint(1, 260), chance.randint(1, 80))
            stage.app.post_message(Resize(size, size))
            if chance.random() < 0.1:
                await stage.pilot.pause()
        await stage.pilot.resize_terminal(120, 40)
        await stage.settle()
        assert "qwen3-lora" in text_grid(stage.app)


async def test_dialogs_survive_small_screens(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (60, 20)) as stage:
        for pressed in ("question_mark", "ctrl+p", "exclamation_mark", "s", "i", "enter"):
            await stage.press(pressed)
            assert stage.app.screen is not stage.app.screen_stack[0]
            await stage.pilot.resize_terminal(20, 5)
            await stage.pilot.resize_terminal(60, 20)
            await stage.press("escape")


@pytest.mark.parametrize("verb", ["session.open", "session.save", "app.palette", "app.help", "app.notices", "run.stop"])
async def test_a_dialog_that_is_closed_before_it_is_there_leaves_no_trace(verb: str, tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        stage.app.desk.draft(JOB)
        await main(stage).action_do(verb)
        dialog = stage.app.screen
        assert not isinstance(dialog, MainScreen)
        dialog.dismiss()
        await stage.settle()
        await stage.press("3")
        assert focused(stage) == "Runs"


async def test_with_ascii_nothing_else_is_drawn_where_words_are_cut(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (60, 20), Options(ascii_only=True)) as stage:
        for pressed in ("4", "5", "o", "escape", "question_mark"):
            await stage.press(pressed)
            assert text_grid(stage.app).isascii(), pressed
        await stage.pilot.resize_terminal(110, 32)
        await stage.press("escape")
        assert text_grid(stage.app).isascii()
        assert ".." in text_grid(stage.app)


async def test_64_cards_scroll_and_keep_the_cursor(tmp_path: Path) -> None:
    from support.scenes import many

    async with staged(many(), tmp_path) as stage:
        await stage.press("1")
        grid = main(stage).query_one(DevicesPane).query_one(Grid)
        assert len(grid.rows) == 65
        await stage.press("pagedown", "pagedown", "down")
        here = grid.cursor_key
        assert here is not None
        assert grid.rows[0].key != here
        await stage.press("end")
        assert grid.cursor_key == "cpu"
        assert " cpu " in text_grid(stage.app)


async def test_the_table_is_sorted_when_asked_and_not_by_itself(tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path) as stage:
        await stage.press("1", "S")
        grid = main(stage).query_one(DevicesPane).query_one(Grid)
        first = [row.key for row in grid.rows]
        assert first[0] == key("b3")
        assert first[-1] == "cpu"
        changed = server().to_json()
        changed["devices"][7]["readings"]["utilization_percent"]["value"] = 100.0
        supervisor.tell("devices", changed)
        await stage.until(lambda: value_of(stage, key("dd")) == 100.0, "the new picture")
        assert [row.key for row in grid.rows] == first


def value_of(stage: Stage, device: str) -> object:
    view = stage.app.desk.board.device(device)
    return None if view is None else view.readings["utilization_percent"].value


async def test_columns_come_and_go(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path, (200, 50)) as stage:
        await stage.press("1", "vertical_line")
        grid = main(stage).query_one(DevicesPane).query_one(Grid)
        assert "ecc" in grid.visible_columns
        await stage.press("vertical_line")
        assert "mem-bar" not in grid.visible_columns


@pytest.mark.parametrize("size", [(200, 50), (80, 24)])
async def test_new_runs_do_not_move_the_cursor(size: tuple[int, int], tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path, size) as stage:
        await stage.press("3", "down", "down")
        here = stage.app.desk.board.selected
        for number in range(5):
            new = run(f"20261130-1241{number:02d}-zzzz", f"new-{number}", RunState.RUNNING, started=1, created=0)
            supervisor.tell("run", new.to_json())
        await stage.until(lambda: len(stage.app.desk.board.runs) == 12, "the new runs")
        assert stage.app.desk.board.selected == here
        assert main(stage).query_one(RunsPane).query_one(Grid).cursor_key == here


async def test_a_burst_of_facts_is_shown_together(tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path) as stage:
        shown: list[int] = []
        stage.app.desk.watch(main(stage), lambda board: shown.append(len(board.runs)))
        for number in range(300):
            supervisor.tell("run", run(f"20261130-12{number // 60:02d}{number % 60:02d}-yyyy", "burst").to_json())
        await stage.until(lambda: len(stage.app.desk.board.runs) == 307, "all of them")
        assert shown[-1] == 307
        assert len(shown) < 30


async def test_the_end_of_a_run_is_said_and_remembered(tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path) as stage:
        ended = replace(runs()[0], state=RunState.FINISHED, result=RunResult.FAILED, ended=runs()[3].ended)
        supervisor.tell("run", ended.to_json())
        await stage.until(lambda: bool(stage.app.desk.board.notices), "the notice")
        assert "qwen3-lora failed" in text_grid(stage.app).splitlines()[-1]
        await stage.press("exclamation_mark")
        assert "qwen3-lora failed" in text_grid(stage.app)
        await stage.press("escape")
        assert "qwen3-lora failed" not in text_grid(stage.app).splitlines()[-1]


async def test_a_note_goes_and_an_error_stays(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        stage.app.desk.say("a note")
        await stage.settle()
        assert "a note" in text_grid(stage.app)
        stage.clock.now += 10
        stage.app.desk.tick()
        stage.app.desk.say("an error", Level.ERROR)
        await stage.settle()
        stage.clock.now += 100
        stage.app.desk.tick()
        await stage.settle()
        assert "an error" in text_grid(stage.app)
        assert "a note" not in text_grid(stage.app)


async def test_silence_is_shown_and_ends(tmp_path: Path) -> None:
    supervisor = busy()
    async with staged(supervisor, tmp_path) as stage:
        await fall_silent(supervisor, stage, 20)
        assert "The supervisor has not answered for 20 s." in text_grid(stage.app)
        await stage.press("1", "end", "space")
        assert "picking needs the supervisor" in text_grid(stage.app)
        await stage.press("s")
        assert "stop: the supervisor does not answer" in text_grid(stage.app)
        supervisor.silent = None
        await stage.press("R")
        await stage.until(lambda: "has not answered" not in text_grid(stage.app), "the return")
        stage.clock.now += 60
        supervisor.tell("heartbeat", {})
        await fall_silent(supervisor, stage, 0)
        assert "has not answered for 20 s" not in text_grid(stage.app), "what is said of now is not that of before"


async def test_keys_of_ones_own_reach_foot_help_and_hand(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "keymap.toml").write_text('[keys]\n"app.help" = "f2"\n"pane.3" = "R"\n')
    async with staged(busy(), tmp_path) as stage:
        assert "f2 help" in text_grid(stage.app).splitlines()[-1]
        await stage.press("f2")
        assert isinstance(stage.app.screen, Sheet)
        assert "f2" in text_grid(stage.app)
        await stage.press("escape", "R")
        assert focused(stage) == "Runs"
        assert any("pane.3 takes R from app.retry" in notice.message for notice in stage.app.desk.board.notices)


async def test_a_broken_file_of_ones_own_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    (folder / "themes").mkdir(parents=True)
    (folder / "themes" / "mine.toml").write_text("dark = 5")
    (folder / "keymap.toml").write_text('[keys]\n"run.stpo" = "x"\n')
    async with staged(busy(), tmp_path) as stage:
        await stage.press("exclamation_mark")
        text = text_grid(stage.app)
        assert "did you mean run.stop?" in text
        assert "mine.toml" in text


async def test_themes_change_at_once(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        before = {segment.style for row in rows(stage.app) for segment in row}
        await stage.press(":", *"themechalk", "enter")
        assert stage.app.theme == "chalk"
        after = {segment.style for row in rows(stage.app) for segment in row}
        assert not {style.bgcolor for style in before if style} & {style.bgcolor for style in after if style}


@pytest.mark.parametrize(
    ("variables", "theme", "colours"),
    [
        ({"NO_COLOR": "1"}, "no-colour", set()),
        ({"COLORTERM": "", "TERM": "linux"}, "sixteen", None),
        ({}, "basalt", None),
    ],
)
async def test_the_terminal_decides_about_colours(
    variables: dict[str, str], theme: str, colours: set[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with staged(busy(), tmp_path, environment=variables) as stage:
        assert stage.app.theme == theme
        styles = [segment.style for row in rows(stage.app) for segment in row if segment.style is not None]
        if theme == "sixteen":
            assert all(style.color is None or style.color.type.value <= 1 for style in styles)
        if colours is not None:
            assert {
                str(style.color) for style in styles if style.color is not None and not style.color.is_default
            } == set()


async def test_the_palette_finds_runs_devices_themes_and_commands(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        await stage.press("ctrl+p", *"llama", "enter")
        assert stage.app.desk.board.selected == "20261130-120000-eeee"
        assert focused(stage) == "Runs"
        await stage.press("ctrl+p", *"#gaudi:7", "enter")
        assert focused(stage) == "Devices"
        assert main(stage).query_one(DevicesPane).query_one(Grid).cursor_key == key("dd")
        await stage.press("ctrl+p", *">maximise", "enter")
        assert not main(stage).query_one(RunsPane).display
        await stage.press("ctrl+p", "@", *"zzzzz")
        assert isinstance(stage.app.screen, Palette)
        assert "nothing is called that" in text_grid(stage.app)
        await stage.press("escape")


async def test_all_actions_of_a_pane_are_listed_with_reasons(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        await stage.press("3", "down", "full_stop")
        text = text_grid(stage.app)
        assert "Runs: actions" in text
        assert "Stop" in text
        assert "chat-serve has not ended: stop it first" in text
        await stage.press(*"copy id", "enter")
        assert "copied 20261129-083600-bbbb" in text_grid(stage.app)


async def test_help_lists_whatever_can_be_done(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        screen = main(stage)
        known = [verb for verb in KEYS if screen.can_do(verb)]
        lines = help_lines(screen.services, Here("Devices", DevicesPane.FOOT, {}), known, screen.glyphs, 98)
        text = "\n".join("".join(piece.text for piece in line) for line in lines)
        for verb in known:
            if KEYS[verb].palette and not verb.startswith("pane."):
                assert KEYS[verb].help in text or screen.services.key(verb) in text


async def test_ctrl_c_says_how_to_leave(tmp_path: Path) -> None:
    async with staged(busy(), tmp_path) as stage:
        await stage.press("ctrl+c")
        assert stage.app.is_running
        assert "q closes the screen; runs go on" in text_grid(stage.app)


async def test_looking_around_ends_with_the_name_of_a_demonstration(tmp_path: Path) -> None:
    async with staged(FakeSupervisor(server()), tmp_path) as stage:
        assert focused(stage) == "Start"
        await stage.press("d")
    assert stage.app.return_value == "server8"


async def test_a_session_of_the_command_line_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[session]\ntitle = "llm-lab"\n[devices]\nselect = "cpu"\n[[job]]\nname = "one"\nkind = "command"\n'
                    '[job.command]\nargv = ["true"]\n')  # fmt: skip
    async with staged(busy(), tmp_path, options=Options(session=str(path))) as stage:
        board = stage.app.desk.board
        assert board.draft is not None
        assert (board.draft.name, board.draft.select, board.draft.edited) == ("one", "cpu", False)
        assert "llm-lab" in text_grid(stage.app).splitlines()[0]


async def test_a_session_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text("[[job]]\nname = 'one'\nkind = 'trian'\n")
    async with staged(busy(), tmp_path, options=Options(session=str(path))) as stage:
        assert stage.app.desk.board.draft is None
        assert "lab.toml" in text_grid(stage.app).splitlines()[-1]


def test_the_application_class_stays_small() -> None:
    own = [name for name in vars(AccelApp) if not name.startswith("__")]
    assert len(own) < 25


async def test_cards_outside_the_allocation_are_not_offered(tmp_path: Path) -> None:
    inside = {"SLURM_JOB_ID": "1", "HABANA_VISIBLE_MODULES": "0,1"}
    async with staged(busy(), tmp_path, (200, 50), environment=inside) as stage:
        assert "not yours" in line_of(stage, "dd:00.0")
        assert "qwen3-lora" in line_of(stage, "19:00.0")
        await stage.press("1", "end", "up", "space")
        assert not stage.app.desk.board.picks
        assert "not yours" in text_grid(stage.app).splitlines()[-1]
    async with staged(busy(), tmp_path, (200, 50), environment={"HABANA_VISIBLE_MODULES": "0,1"}) as stage:
        assert "free" in line_of(stage, "dd:00.0")  # a mask alone is a wish, which a run replaces


def line_of(stage: Stage, words: str) -> str:
    return next(line for line in text_grid(stage.app).splitlines() if words in line)
