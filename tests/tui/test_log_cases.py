"""Cases that a log view must hold: foreign encodings, cut characters, huge lines, any script, on a real terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from accel_tui.logs.lines import BLOCK
from support import written
from support.live_terminal import live_terminal
from support.log_stage import look, opened, pane, text_of
from support.screens import rows
from support.world import SOURCE

SCRIPTS = (
    "模型 訓練 完成", "👩‍👩‍👧 family ✔️ 🇩🇪", "مرحبا بالعالم", "e\u0301\u0302\u0303\u0304\u0305 stacked", "नमस्ते दुनिया",
    "\u200bhidden\ufeff", "ｆｕｌｌｗｉｄｔｈ", "한국어 로그", "⣀⣤⣶⣿ ██▌", "a\u0300\u0301b\u20e3c",
)  # fmt: skip
FORBIDDEN = re.compile(rb"\x1b[\]P_^Xc#(%]|[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f]|\x1b\[[0-9;]*n")


async def test_columns_stay_straight_in_any_script(tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    for text in SCRIPTS:
        shown.write(f"[rank1]: {text} |end\n")
    async with opened(tmp_path, shown, (100, 40)) as stage:
        await stage.press("m")
        for row in rows(stage.app):
            assert sum(cell_len(segment.text) for segment in row) == 100
        assert "模型 訓練 完成 |end" in text_of(stage)


@pytest.mark.parametrize(
    "text", ["naïve Größe".encode("latin-1"), "训练完成".encode("gbk"), b"nul\0bytes\0", b"\xff\xfe\xfd"]
)
async def test_other_encodings_are_shown_as_far_as_they_can_be(text: bytes, tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    shown.write(b"before " + text + b" behind\n")
    async with opened(tmp_path, shown) as stage:
        assert "before " in text_of(stage)
        assert " behind" in text_of(stage)
        assert "\ufffd" in text_of(stage)


async def test_a_wide_character_and_a_sequence_cut_by_a_read(tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    for cut in (1, 2):
        here = shown.log.stat().st_size
        shown.write(b"x" * (BLOCK - 1 - here % BLOCK - cut) + b"\n")
        shown.write("模".encode() + b"\x1b[31mred\x1b[0m|\n")
    async with opened(tmp_path, shown) as stage:
        assert text_of(stage).count("模red|") == 2
        shown.write("half 模".encode()[:-1])
        await look(stage)
        assert "half \ufffd" in text_of(stage)
        shown.write("模".encode()[-1:] + b" whole\n")
        await look(stage)
        assert "half 模 whole" in text_of(stage)


@pytest.mark.parametrize("megabytes", [2, pytest.param(20, marks=pytest.mark.slow)])
async def test_megabytes_without_a_line_end(megabytes: int, tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    shown.write(b"y" * megabytes * 1_000_000)
    async with opened(tmp_path, shown) as stage:
        await stage.until(lambda: pane(stage).view.status.exact, "the counting")
        await stage.press("up", "end", "enter", "escape", "slash", *"yyy", "enter")
        assert "1 of 1 hit" in text_of(stage)


async def test_truncated_removed_and_made_again_while_it_is_followed(tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    async with opened(tmp_path, shown) as stage:
        os.truncate(shown.log, 0)
        await look(stage)
        assert "cut or replaced" in text_of(stage)
        shown.log.rename(shown.log.with_name("log.1"))
        await look(stage)
        shown.log.write_text("made again\n")
        await look(stage)
        assert "made again" in text_of(stage)
        shown.log.unlink()
        await look(stage)
        assert "made again" in text_of(stage), "what is open stays readable"
        stage.app.desk.tick()
        await stage.settle()
        assert "The file was deleted at" in text_of(stage)
        shown.log.write_text("and back\n")
        await look(stage)
        assert "and back" in text_of(stage)
        assert "The file was deleted" not in text_of(stage)


@pytest.mark.parametrize("locale", ["C.UTF-8", pytest.param("C", marks=pytest.mark.slow)])
def test_the_worst_of_it_on_a_real_terminal(locale: str, tmp_path: Path) -> None:
    log = tmp_path / "worst.log"
    hostile = (
        b"\x1b[" + b"1" * 5000 + b"mdigits\n", b"\x1b]0;t\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x07link\x1b]8;;\x07\n",
        b"\x1bP$q\x1b\\\x1b[6n\x1b[c\x1b[?1049l\x1b[?1000h\x1b[2J\x1bcqueries\n",
        b"[/bold] [@click=app.quit]x[/] text\n",
        *(f"{text}\n".encode() for text in SCRIPTS), "Größe\n".encode("latin-1"), b"\x00\x01\x02 nul\n",
    )  # fmt: skip
    log.write_bytes(b"".join(hostile) + b"the last line\n")
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(SOURCE), "LC_ALL": locale}
    environment |= {"ACCEL_TUI_CONFIG_DIR": str(tmp_path / "config"), "ACCEL_TUI_STATE_DIR": str(tmp_path / "state")}
    with live_terminal([sys.executable, "-m", "accel_tui", "view", "--file", str(log)], environment) as terminal:
        terminal.seen("the last line")
        for key in ("\x1b[H", "\\", "\\", "}", "Z", "b", "y", "/", "i", "\r", "n", "\x1b[27u", "\x1b[1;2A", "y"):
            before = len(terminal.output)
            terminal.type(key)
            terminal.quiet(before)
        terminal.type("q")
        assert terminal.ended() == 0
        output = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", terminal.output)  # the shape of the pointer, from Textual
    output = re.sub(rb"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", b"", output)  # what was copied, by a key
    assert b"[@click=app.quit]x[/] text" in output
    found = FORBIDDEN.search(output[: output.rindex(b"\x1b[?1049l")])
    assert found is None, output[max(0, found.start() - 60) : found.end() + 60] if found else ""
    if locale == "C":
        assert output.isascii()


@pytest.mark.parametrize("megabytes", [3, *(pytest.param(many, marks=pytest.mark.slow) for many in (12, 40))])
async def test_much_at_once_is_shown_to_its_end(megabytes: int, tmp_path: Path) -> None:
    shown = written.training(tmp_path)
    async with opened(tmp_path, shown) as stage:
        line = b"z" * 99 + b"\n"
        shown.write(line * (megabytes * 10_000) + b"the newest line\n")
        await stage.until(lambda: "the newest line" in text_of(stage), "the end of the log", seconds=30)
        await stage.until(lambda: pane(stage).view.status.exact, "the counting")
        assert pane(stage).view.status.total == 81 + megabytes * 10_000 + 1
        shown.write("and one more\n")
        await stage.until(lambda: "and one more" in text_of(stage), "the line after it")
