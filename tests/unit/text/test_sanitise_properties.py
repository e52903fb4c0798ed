"""What holds for every text, found by search instead of by example."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from accel_tui.text import sanitise, sanitise_block

FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
OWN_COLOUR = re.compile(r"\x1b\[[0-9;]+m")

PIECES = st.sampled_from(
    ["\x1b", "\x1b[", "\x1b]", "\x9b", "\x9d", "\x90", "\x9c", "\x07", "\x18", "\x1b\\", "31", "0", "m", ";", ":",
     "38;5;", "\r", "\n", "\t", "\u200d", "\u200c", "\u0301", "\u202e", "\ufffd", "…",
     "a", "é", "模", "P0", " ", "\udc9b"]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.binary(), st.lists(PIECES, max_size=40).map("".join))
LIMITS = st.integers(min_value=0, max_value=60)


@settings(max_examples=1000, deadline=None)
@given(TEXTS, LIMITS)
@example("a\u200d\u200db", 60)
def test_one_line_is_harmless_short_and_stable(text: str | bytes, limit: int) -> None:
    shown = sanitise(text, limit=limit)
    assert not FORBIDDEN.search(shown)
    assert len(shown) <= limit
    assert sanitise(shown, limit=limit) == shown
    assert shown.encode().decode() == shown


@settings(max_examples=1000, deadline=None)
@given(TEXTS, LIMITS)
def test_colours_add_nothing_but_colours(text: str | bytes, limit: int) -> None:
    shown = sanitise(text, limit=limit, sgr=True)
    visible = OWN_COLOUR.sub("", shown)
    assert not FORBIDDEN.search(visible)
    assert len(visible) <= limit
    assert sanitise(shown, limit=limit, sgr=True) == shown
    assert not OWN_COLOUR.search(shown) or OWN_COLOUR.findall(shown)[-1] in ("\x1b[0m",)


@settings(max_examples=500, deadline=None)
@given(TEXTS, LIMITS, st.integers(min_value=1, max_value=5))
def test_a_block_is_harmless_and_stable(text: str | bytes, limit: int, lines: int) -> None:
    shown = sanitise_block(text, limit=limit, lines=lines)
    assert not FORBIDDEN.search(shown.replace("\n", ""))
    assert shown.count("\n") < lines
    assert all(len(line) <= limit for line in shown.split("\n"))
    assert sanitise_block(shown, limit=limit, lines=lines) == shown
