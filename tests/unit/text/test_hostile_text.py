"""Hostile payloads, by name: none of them reaches a terminal, and what is text stays text."""

from __future__ import annotations

import unicodedata

import pytest

from accel_tui.text import sanitise, sanitise_block
from support.hostile import PAYLOADS, R


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_does_not_reach_the_terminal(name: str) -> None:
    payload, shown = PAYLOADS[name]
    assert sanitise(payload) == shown
    assert sanitise_block(payload).replace("\n", R) == shown


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_as_bytes_is_treated_alike(name: str) -> None:
    payload, shown = PAYLOADS[name]
    if isinstance(payload, str) and not any(unicodedata.category(character) == "Cs" for character in payload):
        assert sanitise(payload.encode()) == shown


@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_but_own_colours_is_left_when_colours_are_asked_for(name: str) -> None:
    payload, shown = PAYLOADS[name]
    coloured = sanitise(payload, sgr=True)
    assert coloured.replace("\x1b[1;31m", "").replace("\x1b[31m", "").replace("\x1b[0m", "") == shown


def test_progress_bar_shows_its_last_frame() -> None:
    assert sanitise(b"\r  0%|     | 0/4\r 50%|##   | 2/4\r\n") == " 50%|##   | 2/4"
    assert sanitise("windows line\r\n") == "windows line"


def test_tabs_become_spaces_up_to_the_next_stop() -> None:
    assert sanitise("ab\tc") == "ab      c"
    assert sanitise("\x1b[31mab\x1b[0m\tc", sgr=True) == "\x1b[31mab\x1b[0m      c"


def test_huge_line_is_cut_and_says_so() -> None:
    assert sanitise(b"x" * 10_000_000) == "x" * 4095 + "…"
    assert sanitise("\t" * 100, limit=20) == " " * 19 + "…"
    assert sanitise("\x1b[31m" + "x" * 30, limit=10, sgr=True) == "\x1b[31m" + "x" * 9 + "…\x1b[0m"
    assert sanitise("\x1b[31m" * 100_000 + "x", limit=10) == "…"


def test_scripts_and_emoji_are_kept() -> None:
    for text in ("naïve Größe", "模型 訓練", "مرحبا", "नमस्ते", "👩‍👩‍👧 ✔️", "می‌خواهم", "⣀⣤⣶⣿ ██▌"):
        assert sanitise(text) == text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1;31", "1;31"),
        ("", "0"),
        ("5;31", "31"),
        ("8", None),
        ("38;5;208", "38;5;208"),
        ("48;2;1;2;3;1", "48;2;1;2;3;1"),
        ("38:2::1:2:3", "38;2;1;2;3"),
        ("4:3", "4"),
        ("38;5;999", None),
        ("38;9", None),
        ("99999999999999", None),
        ("0031", None),
    ],
)
def test_colours_are_rewritten_from_a_short_list(given: str, kept: str | None) -> None:
    shown = sanitise(f"\x1b[{given}mx", sgr=True)
    expected = "x" if kept is None else f"\x1b[{kept}mx" + ("" if kept == "0" else "\x1b[0m")
    assert shown == expected


def test_block_keeps_its_lines_and_the_end_of_a_long_text() -> None:
    assert sanitise_block("Traceback:\r\n  a\x1b[31m\n\nError: b\n") == "Traceback:\n  a\n\nError: b\n"
    shown = sanitise_block("".join(f"{number}\n" for number in range(10_000)) + "Error", lines=5)
    assert shown.split("\n") == ["…", "9997", "9998", "9999", "Error"]
    assert sanitise_block(b"a\x1b]0;t\nb\x07") == f"a\nb{R}"
