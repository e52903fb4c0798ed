"""Hostile payloads, by name: none of them reaches a terminal, and what is text stays text."""

from __future__ import annotations

import unicodedata

import pytest

from accel_tui.text import sanitise, sanitise_block

R = "\ufffd"

PAYLOADS: dict[str, tuple[str | bytes, str]] = {
    "window title (OSC 0, BEL)": ("a\x1b]0;owned\x07b", "ab"),
    "window title (OSC 0, ST)": ("a\x1b]0;owned\x1b\\b", "ab"),
    "hyperlink (OSC 8)": ("\x1b]8;;http://evil/\x1b\\docs\x1b]8;;\x1b\\", "docs"),
    "clipboard (OSC 52)": ("x\x1b]52;c;cm0gLXJmIC8=\x07y", "xy"),
    "OSC in 8 bits": ("a\u009d0;t\u009cb", "ab"),
    "OSC in UTF-8-encoded C1": (b"a\xc2\x9d0;t\xc2\x9cb", "ab"),
    "OSC without an end": ("a\x1b]0;swallows", "a"),
    "OSC ended by the next escape": ("a\x1b]0;t\x1b[31mb", "ab"),
    "DCS (DECRQSS query)": ('a\x1bP$q"p\x1b\\b', "ab"),
    "DCS in 8 bits": ("a\u0090$qm\u009cb", "ab"),
    "DCS without an end": ("a\x1bPq", "a"),
    "sixel picture": ('a\x1bPq"1;1;9;9#0!9~-\x1b\\b', "ab"),
    "APC (kitty graphics)": ("a\x1b_Gf=24;AAAA\x1b\\b", "ab"),
    "APC in 8 bits": ("a\u009fG\u009cb", "ab"),
    "SOS": ("a\x1bXtext\x1b\\b", "ab"),
    "SOS in 8 bits": ("a\u0098text\u009cb", "ab"),
    "PM": ("a\x1b^text\x1b\\b", "ab"),
    "PM in 8 bits": ("a\u009etext\u009cb", "ab"),
    "screen title": ("a\x1bktitle\x1b\\b", "ab"),
    "Linux palette, which has no end": ("a\x1b]P0ff00ffb\x1b]Rc", "abc"),
    "clear screen": ("a\x1b[2J\x1b[Hb", "ab"),
    "leave the alternate screen": ("a\x1b[?1049lb", "ab"),
    "status query that types an answer": ("a\x1b[6n\x1b[c\x1b[>0qb", "ab"),
    "CSI in 8 bits": ("a\u009b2Jb", "ab"),
    "CSI in UTF-8-encoded C1": (b"a\xc2\x9b2Jb", "ab"),
    "raw 8-bit CSI bytes are broken UTF-8": (b"a\x9b2Jb", f"a{R}2Jb"),
    "CSI without an end": ("a\x1b[31;1", "a"),
    "CSI with intermediate bytes": ("a\x1b[4 qb", "ab"),
    "cursor up as progress bars use it": ("a\x1b[Ab", "ab"),
    "colours": ("\x1b[1;31merror\x1b[0m", "error"),
    "full reset (RIS)": ("a\x1bcb", "ab"),
    "screen of E (ESC # 8)": ("a\x1b#8b", "ab"),
    "character set": ("a\x1b(0b", "ab"),
    "keypad mode": ("a\x1b=\x1b>b", "ab"),
    "lone escape at the end": ("a\x1b", "a"),
    "escape in front of an escape": ("a\x1b\x1b[31m[31mb", "a[31mb"),
    "sequence that removal must not put together": ("\x1b\x1b]0;x\x07]0;y\x07z", f"]0;y{R}z"),
    "SO and SI": ("a\x0eb\x0fc", f"a{R}b{R}c"),
    "CAN inside a CSI": ("a\x1b[3\x181mb", f"a{R}1mb"),
    "SUB inside an OSC": ("a\x1b]0;t\x1ab", "ab"),
    "CAN inside a DCS": ("a\x1bPq\x18b", "ab"),
    "DEL": ("a\x7fb", f"a{R}b"),
    "NUL": ("a\x00b", f"a{R}b"),
    "bell": ("a\x07b", f"a{R}b"),
    "backspaces that overprint": ("rm\x08\x08ls", f"rm{R}{R}ls"),
    "vertical tab and form feed": ("a\x0bb\x0cc", f"a{R}b{R}c"),
    "newline inside one line": ("a\nb", f"a{R}b"),
    "NEL and line separators": ("a\x85b\u2028c\u2029d", f"a{R}b{R}c{R}d"),
    "bidi override": ("a\u202egpj.exe", f"a{R}gpj.exe"),
    "bidi isolates": ("\u2066a\u2069\u2067b\u2068", f"{R}a{R}{R}b{R}"),
    "direction marks": ("a\u200eb\u200fc\u061cd", f"a{R}b{R}c{R}d"),
    "tags": ("a\U000e0041\U000e007fb", f"a{R}{R}b"),
    "zero-width space and byte order mark": ("a\u200bb\ufeffc", f"a{R}b{R}c"),
    "zero-width joiner in a name": ("ro\u200dot\u200c", f"ro{R}ot{R}"),
    "invisible operators": ("a\u2061\u2064b", f"a{R}{R}b"),
    "stack of combining marks": ("e" + "\u0301" * 50 + "x", "e" + "\u0301" * 4 + "x"),
    "invalid UTF-8": (b"a\xff\xfeb", f"a{R}{R}b"),
    "overlong encoding of ESC": (b"a\xc0\x9b[2Jb", f"a{R}{R}[2Jb"),
    "lone surrogate of a file name": ("a\udc9bb", f"a{R}b"),
    "overwriting by carriage return": ("real text\rfake", "fake"),
}


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
