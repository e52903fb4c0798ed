"""What reaches the streams: sanitised, aligned, plain where nobody looks."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.cli.output import Output, Styled, width
from accel_tui.model.errors import UsageError

HOSTILE = "\x1b]0;owned\x07\x1b[2Jname\x9b31m\r\u202e\x00"


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Standard output is a terminal from here on; pytest puts its own stream back for every phase of a test."""
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def test_no_foreign_byte_steers_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output = Output({"TERM": "xterm"})
    output.line("plain ", Styled(HOSTILE, "error"))
    output.table(("A", "B"), [[HOSTILE, Styled(HOSTILE, "ok")]])
    output.log_line(HOSTILE)
    output.text(f"{HOSTILE}\n{HOSTILE}")
    output.document({"name": HOSTILE})
    shown = terminal.getvalue().replace("\x1b[31m", "").replace("\x1b[36m", "").replace("\x1b[2m", "")
    shown = shown.replace("\x1b[0m", "")
    assert not [char for char in shown if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]
    assert "\u202e" not in shown


@given(st.text())
def test_documents_are_ascii_and_lossless(text: str) -> None:
    stream = io.StringIO()
    before, sys.stdout = sys.stdout, stream
    try:
        Output({}).document({"text": text})
    finally:
        sys.stdout = before
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue())["text"] == text


def test_raw_bytes_never_go_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with pytest.raises(UsageError) as caught:
        Output({"TERM": "xterm"}).raw(b"\x1b[2J")
    assert caught.value.exit_code == 2
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm"}, "\x1b[31mbad\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "\x1b[1mbad\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": ""}, "\x1b[31mbad\x1b[0m"),
        ({"TERM": "dumb"}, "bad"),
        ({}, "bad"),
    ],
)
def test_colour_only_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    terminal = on_terminal(monkeypatch)
    Output(environment).line(Styled("bad", "error"))
    assert terminal.getvalue() == expected + "\n"


def test_a_pipe_gets_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    Output({"TERM": "xterm"}).line(Styled("bad", "error"))
    assert capsys.readouterr().out == "bad\n"


def test_columns_align_with_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    Output({}).table(("NAME", "N"), [["名前", "1"], ["a", "22"]], right=frozenset({1}))
    lines = capsys.readouterr().out.splitlines()
    assert len({width(line) for line in lines}) == 1


def test_ascii_signs(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output({}, ascii_only=True)
    output.line(output.glyph("failed"), " ", output.glyph("queued"), " – …")
    assert capsys.readouterr().out == "X q - ..\n"


def test_the_live_line_is_cut_cleaned_and_gives_way_to_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "12")
    output = Output({"TERM": "xterm"})
    output.live("step 1/60, ", HOSTILE)
    assert stream.getvalue() == "\rstep 1/60, \x1b[K"
    output.live("step 2")
    output.note("done")
    assert stream.getvalue().endswith("\rstep 2\x1b[K\r\x1b[Kdone\n")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {}])
def test_nothing_moves_where_a_line_cannot_be_repainted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", stream)
    output = Output(environment)
    assert not output.repaints
    output.live("step 1")
    output.note("done")
    assert stream.getvalue() == "done\n"
