"""Searching forward and back agrees with looking at every line, wherever pieces end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs import search
from accel_tui.logs.lines import LONGEST_LINE, iterate, last_frame
from accel_tui.logs.matches import Matches
from accel_tui.logs.search import Finder, Hit, Needle, backward, forward
from accel_tui.logs.source import FileSource
from accel_tui.model.errors import UsageError
from support.bytes_source import FakeSource

PIECES = [b"\n", b"a", b"ab", b"B", b"ba\n", b"\r", b" ", b"step 3", b"\r\n", b"\n\n", "\u00e9".encode(), b"\0"]
LOG = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
LITERALS = ["a", "ab", "B", "A", "3", "p 3", "\u00e9", "zz", "ba"]
EXPRESSIONS = [
    "a", "^a", "a$", "^ab?$", "a|b", "b*", "[^x]b", "a\\s*b", "\\s+", "(?<!a)b", "(?=a)a", r"\Aa", r"b\Z", "a.b",
    "(ab)+", "^$", "|a", r"\bb", "B", "s..p", r"\d",
]  # fmt: skip


def naive(data: bytes, text: str, *, regex: bool) -> list[Hit]:
    """The first match of every line as it is seen in the end."""
    flags = re.ASCII | (re.IGNORECASE if text == text.lower() else 0)
    pattern = re.compile((text if regex else re.escape(text)).encode(), flags)
    found = []
    for line in iterate(FakeSource(data)):
        seen = last_frame(line.data).lstrip(b"\0")
        begin = line.offset + len(data[line.offset : line.end].rstrip(b"\n").rstrip(b"\r")) - len(seen)
        spans = [match.span() for match in pattern.finditer(seen) if match.end() > match.start()]
        if spans:
            found.append(Hit(begin + spans[0][0], begin + spans[0][1]))
    return found


def there(data: bytes, finder: Finder, chunk: int, after: int = -1) -> list[Hit]:
    return [hit for hit in forward(FakeSource(data), finder, after, len(data), chunk=chunk) if hit is not None]


def back(data: bytes, finder: Finder, chunk: int, end: int | None = None) -> list[Hit]:
    found = backward(FakeSource(data), finder, len(data) if end is None else end, chunk=chunk)
    return [hit for hit in found if hit is not None]


@settings(max_examples=400, deadline=None)
@given(LOG, st.sampled_from(LITERALS), st.integers(1, 40))
def test_a_text_is_found_as_by_looking_at_every_line(data: bytes, text: str, chunk: int) -> None:
    expected = naive(data, text, regex=False)
    assert there(data, Needle(text), chunk) == expected
    assert back(data, Needle(text), chunk) == expected[::-1]


@settings(max_examples=400, deadline=None)
@given(LOG, st.sampled_from(EXPRESSIONS), st.integers(1, 40))
def test_an_expression_is_found_as_by_looking_at_every_line(data: bytes, text: str, chunk: int) -> None:
    needle = Needle(text, regex=True)
    expected = naive(data, text, regex=True)
    assert there(data, needle, chunk) == expected
    assert back(data, needle, chunk) == expected[::-1]


@settings(max_examples=100, deadline=None)
@given(LOG, st.sampled_from(LITERALS), st.integers(1, 40), st.integers(0, 60))
def test_the_next_and_the_previous_of_a_hit(data: bytes, text: str, chunk: int, pick: int) -> None:
    needle, expected = Needle(text), naive(data, text, regex=False)
    if expected:
        pick %= len(expected)
        assert there(data, needle, chunk, expected[pick].start) == expected[pick + 1 :]
        start = data.rfind(b"\n", 0, expected[pick].start) + 1
        assert back(data, needle, chunk, start) == expected[:pick][::-1]


@settings(max_examples=200, deadline=None)
@given(st.lists(LOG, max_size=5), st.sampled_from(LITERALS), st.integers(1, 40), st.integers(1, 30))
def test_counting_goes_on_while_the_log_grows(parts: list[bytes], text: str, chunk: int, reach: int) -> None:
    source = FakeSource(b"")
    matches = Matches(source, Needle(text), chunk=chunk, reach=reach)
    for part in parts:
        source.data += part
        while not matches.step():
            pass
        expected = naive(source.data, text, regex=False)
        assert matches.count == len(expected)
        for number, hit in enumerate(expected):
            assert matches.hit(number) == hit
            assert matches.number_at(hit.start) == number
            assert matches.number_at(hit.start + 1) == number + 1
        assert matches.hits(1, 3) == expected[1:4]
        assert matches.hit(len(expected)) is None


def test_a_replaced_log_is_counted_anew() -> None:
    source = FakeSource(b"a\na\nb\n")
    matches = Matches(source, Needle("a"))
    while not matches.step():
        pass
    assert matches.count == 2
    source.replace(b"b\na\n")
    while not matches.step():
        pass
    assert matches.count == 1
    assert matches.hit(0) == Hit(2, 3)


@pytest.mark.parametrize("chunk", [1000, 4096, LONGEST_LINE])
def test_of_a_huge_line_the_tail_counts(chunk: int) -> None:
    line = b"early" + b"x" * (LONGEST_LINE - 3) + b"late"
    data = b"before\n" + line + b"\nafter\n" + line
    late = [data.index(b"late"), data.rindex(b"late")]
    assert there(data, Needle("early"), chunk) == back(data, Needle("early"), chunk) == []
    assert [hit.start for hit in there(data, Needle("late"), chunk)] == late
    assert [hit.start for hit in back(data, Needle("late"), chunk)] == late[::-1]
    assert [hit.start for hit in back(data, Needle("r"), chunk)] == [data.index(b"after") + 4, 4]


def test_what_was_given_back_to_the_disk_is_leapt_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b"head a\n")
        file.seek(1 << 40)
        file.write(b"tail a\n")
    with FileSource(path) as source:
        size = source.size()
        steps = list(forward(source, Needle(" a"), -1, size))
        found = [source.read(hit.start - 4, 6) for hit in steps if hit is not None]
        assert found == [b"head a", b"tail a"]
        assert len(steps) < 100
        last = next(hit for hit in backward(source, Needle(" a"), size) if hit is not None)
        assert last.start == size - 3


def test_searching_stops_when_nobody_asks_on() -> None:
    data = b"x\n" * 100_000 + b"needle\n"
    search_ = forward(FakeSource(data), Needle("needle"), -1, len(data), chunk=1000)
    assert [next(search_) for _ in range(5)] == [None] * 5
    search_.close()  # type: ignore[attr-defined] # it is a generator


@pytest.mark.parametrize(
    "text", ["(", "[a", "a{2,1}", "(?P<n>a)(?P<n>b)", "(a+)+b", "(a*)*", "([ab]+x?)+$", "(\\d+,)+;", "(a|b+){2,}c"]
)
def test_an_expression_that_is_broken_or_never_ends_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Needle(text, regex=True)
    assert Needle(text).pattern.search(f"say {text} once")


def test_small_letters_stand_for_capitals_and_capitals_for_themselves() -> None:
    data = b"Error\nerror\nERROR\n"
    assert len(there(data, Needle("error"), 100)) == 3
    assert len(there(data, Needle("Error"), 100)) == 1
    assert Needle("error").pattern.search("ERROR")
    assert not Needle("Error").pattern.search("ERROR")


def test_nothing_is_found_without_a_text() -> None:
    assert there(b"a\n", Needle(""), 10) == there(b"a\n", Needle("", regex=True), 10) == []
    assert search.CHUNK <= LONGEST_LINE
