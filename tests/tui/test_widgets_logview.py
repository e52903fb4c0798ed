"""The log: at its end at once, exact once counted, following, cut, hostile, searched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from accel_tui.logs.search import Needle
from accel_tui.logs.source import FileSource
from accel_tui.tui.widgets import logwindow
from accel_tui.tui.widgets.hits import marked
from accel_tui.tui.widgets.logline import Dressed, LogLine, Status
from accel_tui.tui.widgets.logview import LogView
from accel_tui.tui.widgets.logwindow import LogWindow
from accel_tui.tui.widgets.pace import Pace
from accel_tui.tui.widgets.pieces import Piece, cell
from support.screens import rows, text_grid


class Viewer(App[None]):
    """A log view alone; it looks at the file when the test says so."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.told: list[Status] = []

    def compose(self) -> ComposeResult:
        yield LogView(FileSource(self.path), rate=0, dress=_numbered)

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    def on_mount(self) -> None:
        self.view.focus()

    def on_log_view_changed(self, message: LogView.Changed) -> None:
        self.told.append(message.status)

    def shown(self) -> list[str]:
        """The visible lines without the scroll bar."""
        return [line[:-1].rstrip() if len(line) == 40 else line for line in text_grid(self).splitlines()]


def _numbered(line: LogLine) -> Dressed:
    return Dressed((Piece("?" if line.number is None else str(line.number), "faint"), Piece(" ")), (Piece(line.text),))


def write(path: Path, numbers: range, end: str = "\n") -> None:
    with path.open("ab") as file:
        file.write(b"".join(f"line {number}{end}".encode() for number in numbers))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    write(path, range(100))
    return path


async def test_it_opens_at_the_end_and_follows(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        assert app.shown()[-1] == "99 line 99"
        write(log, range(100, 103))
        app.view.look()
        await pilot.pause()
        assert app.shown()[-1] == "102 line 102"
        assert app.view.status == Status(103, True, 0, True)


async def test_scrolling_up_ends_following_and_end_resumes_it(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        await pilot.press("up", "up")
        write(log, range(100, 110))
        app.view.look()
        await pilot.pause()
        assert app.shown()[-1] == "97 line 97"
        assert app.view.status == Status(110, True, 12, False)
        await pilot.press("down", "down", "down")
        assert not app.view.status.following
        await pilot.press("end")
        await pilot.pause()
        assert app.shown()[-1] == "109 line 109"
        assert app.view.status == Status(110, True, 0, True)
        assert app.told[-1] == app.view.status
        await pilot.press("home")
        await pilot.pause()
        assert app.shown()[0] == "0 line 0"


async def test_lines_that_nobody_sees_draw_nothing(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.press("home")
        await pilot.pause()
        write(log, range(100, 110))
        drawn: list[object] = []
        refresh = app.view.refresh

        def spy(*regions: object, **options: bool) -> LogView:
            drawn.append(regions)
            return refresh(*regions, **options)  # type: ignore[arg-type]

        app.view.refresh = spy  # type: ignore[method-assign] # a spy in front of the real one
        app.view.look()
        assert drawn == []
        assert app.view.status.behind == 104


async def test_an_unfinished_line_grows_in_place_and_only_the_last_frame_shows(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        for text in ("step 1", "\rstep 2", "\rstep 3\nnext"):
            write(log, range(0))
            with log.open("a") as file:
                file.write(text)
            app.view.look()
            await pilot.pause()
            frame = text.split("\r")[-1].split("\n")
            assert app.shown()[-1].endswith(frame[-1])
        assert app.shown()[-2] == "100 step 3"


async def test_a_cut_and_a_replaced_file_are_read_anew(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        log.write_bytes(b"new 0\nnew 1\n")
        app.view.look()
        await pilot.pause()
        assert [line for line in app.shown() if line] == ["0 new 0", "1 new 1"]
        other = log.with_name("other")
        other.write_bytes(b"".join(b"swap %d\n" % number for number in range(500)))
        other.replace(log)
        app.view.look()
        await pilot.pause()
        assert app.shown()[-1] == "499 swap 499"


async def test_an_empty_and_a_missing_log_say_so(tmp_path: Path) -> None:
    app = Viewer(tmp_path / "none")
    async with app.run_test(size=(60, 6)) as pilot:
        app.view.say_when_empty((cell(Piece("The log of this run is empty so far.", "muted")),))
        await pilot.pause()
        assert "empty so far" in text_grid(app)
        write(tmp_path / "none", range(2))
        app.view.look()
        await pilot.pause()
        assert "line 1" in text_grid(app)
        assert "empty so far" not in text_grid(app)


async def test_the_end_shows_before_the_lines_are_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logwindow, "STEP", 64 * 1024)
    write(log, range(100, 60_000))
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        app.view.look()
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.shown()[-1] == "59999 line 59999"
        exact = [status.exact for status in app.told]
        assert exact == sorted(exact)
        assert app.view.status.total == 60_000


def test_before_counting_places_are_near_and_the_end_is_exact(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logwindow, "STEP", 64 * 1024)
    write(log, range(100, 200_000))
    window = LogWindow(FileSource(log))
    assert window.look()
    assert not window.counted
    assert [line.data for line in window.lines(window.total - 2, 2)] == [b"line 199998", b"line 199999"]
    middle = window.lines(window.total // 2, 1)[0]
    assert abs(middle.offset - window.end // 2) < 100
    while not window.count():
        pass
    assert window.total == 200_000
    assert window.lines(123_456, 1)[0].data == b"line 123456"
    assert window.number_at(window.offset_of(123_456) + 3) == 123_456


async def test_hits_are_marked_and_the_current_one_stands_out(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        app.view.highlight(re.compile("line 5\\d"))
        window = LogWindow(FileSource(log))
        window.look()
        app.view.go_to(window.offset_of(55))
        await pilot.pause()
        assert any("55 line 55" in line for line in app.shown())
        assert not app.view.status.following
        palette = app.view.palette
        styles = {segment.text: segment.style for row in rows(app) for segment in row}
        hits = {text: style for text, style in styles.items() if text.startswith("line 5")}
        assert hits["line 55"] == palette.style("on_accent", "hit_now", bold=True)
        assert hits["line 54"] == palette.style("text", "hit")


async def test_long_lines_end_in_a_sign_and_can_be_seen_by_going_sideways(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("x" * 100 + "end\nshort\n")
    app = Viewer(tmp_path / "log")
    async with app.run_test(size=(40, 4)) as pilot:
        await pilot.pause()
        assert app.shown()[0].endswith("x…")
        await pilot.press(*["right"] * 12)
        await pilot.pause()
        assert app.shown()[0].endswith("end")


async def test_nothing_hostile_passes(tmp_path: Path) -> None:
    hostile = b"\x1b]0;t\x07\x1b]52;c;aGk=\x07\x9b2J\x1bc[@click=app.quit]x[/] \xe2\x80\xae\x07\x08\x7f\x00end\n"
    (tmp_path / "log").write_bytes(hostile * 3)
    app = Viewer(tmp_path / "log")
    async with app.run_test(size=(80, 4)) as pilot:
        await pilot.pause()
        shown = text_grid(app)
        assert "[@click=app.quit]x[/]" in shown
        assert "\u202e" not in shown
        assert not any((ord(letter) < 0x20 and letter != "\n") or 0x7F <= ord(letter) < 0xA0 for letter in shown)


@settings(max_examples=50)
@given(st.text("abc ", max_size=30), st.text("abc ", min_size=1, max_size=3), st.integers(0, 30))
def test_marking_hits_changes_no_text(text: str, wanted: str, split: int) -> None:
    content = (Piece(text[:split], "muted"), Piece(text[split:]))
    result = marked(content, re.compile(re.escape(wanted)), current=True)
    assert "".join(piece.text for piece in result) == text
    hit = "".join(piece.text for piece in result if piece.on)
    assert len(hit) == len(wanted) * text.count(wanted)


async def test_a_narrowed_log_shows_its_lines_with_their_numbers_and_grows(log: Path) -> None:
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        await pilot.pause()
        app.view.narrow(Needle("7"))
        await pilot.pause()
        assert [line for line in app.shown() if line][-2:] == ["87 line 87", "97 line 97"]
        assert app.view.status.total == 19
        write(log, range(100, 108))
        app.view.look()
        await pilot.pause()
        assert app.shown()[-1] == "107 line 107"
        await pilot.press("home")
        await pilot.pause()
        assert app.shown()[:2] == ["7 line 7", "17 line 17"]
        app.view.narrow(None)
        await pilot.pause()
        assert app.shown()[0] == "7 line 7"
        assert app.shown()[1] == "8 line 8"


async def test_a_narrowed_log_is_complete_however_long(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logwindow, "STEP", 64 * 1024)
    write(log, range(100, 150_000))
    app = Viewer(log)
    async with app.run_test(size=(40, 6)) as pilot:
        app.view.narrow(Needle("line 1234"))
        while not app.view.status.exact:
            await pilot.pause()
        await pilot.pause()
        assert app.view.status.total == 111
        assert app.shown()[-1] == "123499 line 123499"


def test_a_slow_terminal_is_drawn_on_once_a_second() -> None:
    pace, now = Pace(5.0), 0.0
    rates = []
    for step in [0.2] * 3 + [0.9, 0.8] + [1.0] * 31 + [0.2]:
        now += step
        rates.append(pace.tick(now))
    assert rates[3] == 5.0
    assert rates[4:34] == [1.0] * 30
    assert rates[-1] == 5.0
    pace.pause()
    assert [pace.tick(now + 100), pace.tick(now + 101)] == [5.0, 5.0]
