"""Keys, the person's keymap, finding, stops, trails, wrapping."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.client.records import Rank, ranks
from accel_tui.model.runs import Run, RunResult, RunState
from accel_tui.model.times import time_text
from accel_tui.tui.bindings import GROUPS, KEYS, bind, shown
from accel_tui.tui.fuzzy import match
from accel_tui.tui.keymap import load_keymap
from accel_tui.tui.stopping import Stopping, marks, steps
from accel_tui.tui.trail import Trail
from accel_tui.tui.widgets.pieces import Piece, cell_width, changed_span, fit, wrapped
from support.scene import NOW, key, runs, server
from support.written import tell_ranks


def test_every_key_has_words_and_a_group() -> None:
    for verb in KEYS.values():
        assert verb.word
        assert verb.help
        assert verb.group in GROUPS
        assert bind(verb.id).id == verb.id
        assert bind(verb.id).tooltip == verb.help


def test_keys_that_terminals_and_multiplexers_need_are_left_alone() -> None:
    taken = {"ctrl+s", "ctrl+q", "ctrl+z", "ctrl+c", "ctrl+a", "ctrl+b", "ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m"}
    for verb in KEYS.values():
        for one in verb.keys.split(","):
            assert one not in taken
            assert not one.startswith("alt+")


@pytest.mark.parametrize(
    ("keys", "text"), [("ctrl+p,colon", "^p"), ("question_mark", "?"), ("shift+down,V", "shift+down"), ("l", "l")]
)
def test_keys_are_shown_as_people_write_them(keys: str, text: str) -> None:
    assert shown(keys) == text


def test_a_keymap_replaces_keys_by_verb(tmp_path: Path) -> None:
    path = tmp_path / "keymap.toml"
    path.write_text('preset = "vim"\n[keys]\n"run.stop" = "="\n"app.palette" = ["ctrl+p", "f2"]\n"run.stpo" = "x"\n'
                    '"app.quit" = 5\n')  # fmt: skip
    keymap = load_keymap(path)
    assert keymap.keys["run.stop"] == "equals_sign"
    assert keymap.keys["app.palette"] == "ctrl+p,f2"
    assert keymap.keys["move.down"] == "down,j"
    assert [problem.message.rpartition(": ")[2] for problem in keymap.problems] == [
        "no such verb",
        "a key, or a list of keys, is expected",
        "run.stop takes equals_sign from chart.zoom_in",
    ]
    assert keymap.problems[0].remedy == "did you mean run.stop?"


def test_a_broken_keymap_is_a_problem_and_no_keymap_is_none(tmp_path: Path) -> None:
    assert load_keymap(tmp_path / "keymap.toml").problems == ()
    (tmp_path / "keymap.toml").write_text("= broken")
    broken = load_keymap(tmp_path / "keymap.toml")
    assert (len(broken.problems), broken.keys) == (1, {})


def test_letters_in_their_order_are_found_best_first() -> None:
    texts = ["qwen3-lora", "sequential", "llama"]
    rated = {text: match("ql", text) for text in texts}
    assert rated["llama"] is None
    assert (rated["qwen3-lora"] or (0.0, ()))[0] > (rated["sequential"] or (0.0, ()))[0]
    assert (match("lora", "qwen3-lora") or (0.0, ()))[1] == (6, 7, 8, 9)
    assert match("", "anything") == (0.0, ())


@given(st.text(max_size=8), st.text(max_size=30))
def test_what_is_found_stands_there(words: str, text: str) -> None:
    found = match(words, text)
    if found is not None and found[1] and len(text.lower()) == len(text) and len(words.lower()) == len(words):
        assert max(found[1]) < len(text) + len(words)


def stages(run: Run, stopping: Stopping, after: float) -> list[tuple[str, str]]:
    return [(step.word, step.state) for step in steps(run, stopping, NOW + after)]


def test_a_stop_of_training_saves_asks_and_forces() -> None:
    run = runs()[0]
    stopping = Stopping(NOW, None, 120, 10)
    assert [step.after for step in steps(run, Stopping(None, None, 120, 10), NOW)] == [0, 120, 130]
    assert stages(run, stopping, 5) == [
        ("asked", "done"), ("saving", "now"), ("then asked", "later"), ("then forced", "later"),
        ("then ended", "later"),
    ]  # fmt: skip
    assert stages(run, stopping, 125)[1:4] == [("saving", "done"), ("then asked", "now"), ("then forced", "later")]
    assert stages(run, stopping, 131)[3] == ("then forced", "now")
    forced = replace(stopping, forced=NOW + 20)
    assert stages(run, forced, 21)[1:4] == [("saving", "done"), ("then asked", "skipped"), ("then forced", "now")]
    ended = replace(run, state=RunState.FINISHED, result=RunResult.STOPPED, ended=time_text(NOW + 7))
    assert stages(ended, stopping, 60)[1:] == [
        ("saving", "done"), ("then asked", "skipped"), ("then forced", "skipped"), ("then ended", "done"),
    ]  # fmt: skip


def test_ranks_that_stand_alike_share_a_mark(tmp_path: Path) -> None:
    assert ranks(replace(runs()[0], folder=str(tmp_path))) == ()
    tell_ranks(tmp_path, stopping=True)
    found = ranks(replace(runs()[0], folder=str(tmp_path)))
    assert [(mark.ranks, mark.sign, mark.word) for mark in marks(found)] == [
        ("0", "running", "saving"), ("1-3", "passed", "ended"),
    ]  # fmt: skip
    assert {rank.checkpoint for rank in found} == {800}
    assert [mark.word for mark in marks([Rank(0, "saving", ended=True)])] == ["failed"]


def test_a_command_has_nothing_to_save() -> None:
    assert [word for word, _ in stages(runs()[1], Stopping(NOW, None, 120, 10), 1)] == [
        "asked", "ending", "then forced", "then ended",
    ]  # fmt: skip


def test_a_trail_keeps_gaps_and_what_was_before() -> None:
    trail = Trail()
    trail.add(server())
    trail.add(server())  # the same moment is no second point
    assert trail.points(key("19"), "utilization_percent") == [(NOW, 94.0)]
    assert trail.points(key("cc"), "utilization_percent") == [(NOW, None)]
    trail.fill({key("19"): {"utilization_percent": [[NOW - 2, 90.0], [NOW - 1, None], [NOW, 1.0]]}})
    assert trail.points(key("19"), "utilization_percent") == [(NOW - 2, 90.0), (NOW - 1, None), (NOW, 94.0)]
    assert trail.points(key("19"), "utilization_percent", NOW - 1.5)[0] == (NOW - 1, None)
    assert trail.points("nothing", "utilization_percent") == []


@given(st.text(max_size=80), st.integers(4, 40), st.integers(0, 3))
def test_wrapping_loses_no_word_and_exceeds_no_width(text: str, width: int, indent: int) -> None:
    lines = wrapped((Piece(text, "text"),), width, indent)
    for line in lines:
        assert cell_width(line) <= width
    joined = "".join("".join(piece.text for piece in line) for line in lines)
    whole = "".join(piece.text for piece in wrapped((Piece(text),), 10_000)[0])
    assert "".join(joined.split()) == "".join(whole.split())


def test_only_what_differs_is_drawn_again() -> None:
    one, other = (fit((Piece("12:41:07 "), Piece(text, "muted")), 20) for text in ("one", "ore"))
    assert changed_span(one, one) == (0, 0)
    assert changed_span(one, other) == (10, 11)
    assert changed_span(fit((Piece("漢字"),), 8), fit((Piece("漢子"),), 8)) == (2, 4)
