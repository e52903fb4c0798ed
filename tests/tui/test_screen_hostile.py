"""Hostile text in every place where foreign text can stand: none of it reaches the terminal as it is."""

from __future__ import annotations

import os
import re
import sys

import pytest

from support import hostile_stage
from support.live_terminal import live_terminal
from support.world import SOURCE

ESC = "\x1b[27u"
"""Escape as some terminals write it: a bare one may be taken for the beginning of the key that follows."""
KEYS = (
    *("5", "m", "\x1b[H", "\x1b[6~", "\x1b[6~", "\x1b[6~", "\x1b[C", "}", "\r", ESC, "]", "]", "[", "[", "y"),
    *("/", "a", "\r", "n", "N", "\x06", "\x06", ESC, "x", "m"),
    *("4", "v", "v", "\x1b[D", "\x1b[D", "m", "]", "m", ESC, "6", "v", "v", "x", "\x1b[D", "m", "m", ESC),
    *("1", "\r", ESC, "i", ESC, "h", ESC, "\x1b[B", "\r", ESC, "i", ESC, "m", "m"),
    *("3", "i", "\x1b[6~", ESC, ".", ESC, "\r"),
    *("3", "\x1b[B", "s", ESC, "m", "\x1b[B", "\x1b[B", "\x1b[B", "\x7f", "\x1b[3~", ESC, "m"),
    *("2", "e", "\x1b[6~", "\r", ESC, "\x1b[6~", "\r", ESC, "\x1b[F", "d", "d", "/", "a", ESC),
    *(ESC, "p", ESC),
    *("w", ESC, "o", ESC, "l", ESC),
    *(":", "\x1b[6~", "\x1b[6~", "x", ESC, ":", *"session", ESC, "?", ESC, "!", "\x1b[6~", ESC, "T"),
    *("o", "\x1b[6~", "\x1b[6~", ESC, "o", *"job3", "\r", "o", "2", "p", ESC, "w", ESC, "i", ESC),
)
FORBIDDEN = (
    rb"\x1b[\]P_^Xc#(%]",  # OSC, DCS, APC, PM, SOS, reset, and shifts of character sets
    rb"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]",
    rb"\xc2[\x80-\x9f]",  # the same as C1
    rb"\xe2\x80[\xaa-\xae\x8e\x8f\xa8\xa9]|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]",
    rb"\x1b\[[0-9;]*n",  # questions that the terminal would answer
    rb"\x1b\[2J",
)


@pytest.mark.parametrize("size", [pytest.param((200, 50), marks=pytest.mark.slow), (80, 24)], ids=["200x50", "80x24"])
def test_nothing_hostile_reaches_the_terminal(size: tuple[int, int]) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    environment["PYTHONPATH"] = f"{SOURCE}:{SOURCE.parent / 'tests'}"
    with live_terminal([sys.executable, "-m", "support.hostile_stage"], environment, size) as opened:
        opened.seen("UTIL %")
        for key in KEYS:
            before = len(opened.output)
            opened.type(key)
            opened.quiet(before)
        opened.type("q")
        assert opened.ended() == 0, opened.output[-3000:].decode(errors="replace")
        output = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", opened.output)  # the shape of the pointer, from Textual
    assert hostile_stage.MARKUP.encode() in output  # text stays text: it is neither obeyed nor swallowed
    assert b"jobs of files" in output
    end = output.rindex(b"\x1b[?1049l")  # what restores the terminal comes from us
    for pattern in FORBIDDEN:
        found = re.search(pattern, output[:end])
        assert found is None, (pattern, output[max(0, found.start() - 80) : found.end() + 80])
    assert output.count(b"\x1b[?1049l") == 1
