"""The user's own tables: taken before the shipped ones, and a broken one costs itself alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.diagnosis import patterns
from accel_tui.diagnosis.recognise import Ending, Evidence, recognise
from accel_tui.diagnosis.scan import of_text
from accel_tui.diagnosis.table import read, shipped, tables
from accel_tui.model.errors import FileError

GOOD = """
[[failure]]
id = "licence"
any = ["licence server", { regex = 'LIC-(?P<code>\\d{1,6})' }]
all = ["refused"]
near = 1
where = "end"
kinds = "command"
summary = "no licence is left ({code})"
next_step = "ask ana, then: accel-tui rerun {id}"
priority = 99

[[failure]]
id = "file"
any = ["FileNotFoundError"]
summary = "the share is not mounted"
next_step = "mount /data"
"""


def _own(folder: Path, text: str, name: str = "own.toml") -> Path:
    (folder / "failures").mkdir(exist_ok=True)
    file = folder / "failures" / name
    file.write_text(text, encoding="utf-8")
    return file


def test_own_entries_come_first_and_take_the_place_of_shipped_ones(tmp_path: Path) -> None:
    _own(tmp_path, GOOD)
    found = tables(str(tmp_path))
    assert not found.faults
    assert len(found.entries) == len(shipped()) + 1
    log = of_text("begin\nLIC-0042: asked\nlicence server: refused\nFileNotFoundError: x\n")
    told = recognise(Evidence("20261130-1", log, ending=Ending(kind="command")), found.entries)
    assert told
    assert (told.id, told.line) == ("licence", 2)
    assert told.summary == "no licence is left (0042): LIC-0042: asked"
    assert told.next_step == "ask ana, then: accel-tui rerun 20261130-1"
    other = recognise(Evidence("20261130-1", log, ending=Ending(kind="train")), found.entries)
    assert other
    assert other.summary == "the share is not mounted: FileNotFoundError: x"


def test_a_broken_file_is_named_and_the_others_count(tmp_path: Path) -> None:
    _own(tmp_path, GOOD)
    _own(tmp_path, "[[failure]]\nid = 3\n", "broken.toml")
    found = tables(str(tmp_path))
    assert len(found.faults) == 1
    assert "broken.toml" in found.faults[0]
    assert "licence" in {entry.id for entry in found.entries}
    assert tables(None).entries == tables(str(tmp_path / "nowhere")).entries == shipped()


WORDS = 'summary = "x"\nnext_step = "y"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "x: only [[failure]]"),
        ("failure = 3\n", "only [[failure]]"),
        (f'[[failure]]\n{WORDS}any = "abc"\n', "failure 1: id"),
        (f'[[failure]]\nid = "A b"\n{WORDS}any = "abc"\n', "id: small letters"),
        (f'[[failure]]\nid = "a"\n{WORDS}', "any: what to look for"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = ["ab"]\n', "at least 3 characters"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = [{{ regex = "(" }}]\n', "no regular expression"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = [{{ regex = "(a+)+b" }}]\n', "repeat inside a repeat"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = [{{ regex = "a.*b.*c.*d" }}]\n', "more than 2 repeats"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = "abc"\nwhere = "start"\n', "where: 'start' is none of"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = "abc"\nanny = "abc"\n', "anny: unknown"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = "abc"\npriority = "high"\n', "priority: a whole number"),
        (f'[[failure]]\nid = "a"\n{WORDS}any = "abc"\ncauses = "aliens"\n', "causes: 'aliens'"),
        ('[[failure]]\nid = "a"\nsummary = "{who}"\nnext_step = "y"\nany = "abc"\n', "{who} is captured by no pattern"),
        ('[[failure]]\nid = "a"\nsummary = "x"\nany = "abc"\n', "next_step: one line of text"),
        ("[[failure]\n", "not valid TOML"),
    ],
)
def test_a_fault_is_told_by_file_entry_and_field(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read(_own(tmp_path, text))
    assert "own.toml" in caught.value.message
    assert said in caught.value.message


@pytest.mark.parametrize(
    "source", [r"(a|b+)*c", r"(?:x{2,}){3}", r"(a)\1", r"(?P<q>a)(?P=q)", r"a*b*c*", r"[", r"(\d+,)+"]
)
def test_an_expression_that_could_take_for_ever_is_not_taken(source: str) -> None:
    with pytest.raises(patterns.UnsafePatternError):
        patterns.expression(source)


@pytest.mark.parametrize(
    ("source", "line", "captured"),
    [
        (r"pid (?P<pid>\d+)\b", "the pid 41 died", {"pid": "41"}),
        (r"(?i)OUT of mem", "out OF MEM", {}),
        (r"(?:rank|worker) \d{1,3}: (?P<what>.*)$", "worker 3: gone", {"what": "gone"}),
        (r"a(?P<b>b)?c", "ac", {}),
        (r"^x", "yx", None),
    ],
)
def test_an_expression_captures(source: str, line: str, captured: dict[str, str] | None) -> None:
    assert patterns.expression(source).search(line) == captured


def test_a_line_is_looked_at_to_a_bounded_length() -> None:
    assert patterns.expression(r"end$").search("x" * patterns.SEARCHED + "end") is None
