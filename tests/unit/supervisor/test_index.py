"""The index of runs: listing, filtering, finding; and what a broken file costs."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from pathlib import Path

import pytest

from accel_tui.model.errors import RunNotFoundError, UsageError
from accel_tui.model.runs import Cause, Run, RunResult, RunState
from accel_tui.model.times import time_text
from accel_tui.store.identifiers import created_seconds
from accel_tui.supervisor.book import Book, Entry
from accel_tui.supervisor.hub import Hub
from accel_tui.supervisor.index import Index, compile_name

COUNT = 1234
FIRST = 1_900_000_000.0  # later than any clock: nothing falls out of the last 7 days


def _run(number: int) -> Run:
    result = RunResult.FAILED if number % 10 == 0 else RunResult.SUCCEEDED
    return Run(
        f"20300101-{number:06d}-abcd", f"job-{number % 7}", "command", RunState.FINISHED, "/x",
        time_text(FIRST + number), result=result, cause=Cause.EXIT,
    )  # fmt: skip


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index.sqlite3")
    index.put(_run(number) for number in range(COUNT))
    return index


def _listed(book: Book, **query: object) -> list[str]:
    asked = {"everything": True, "state": None, "name": None, "limit": None, **query}
    text = "".join(book.listing(book.live_documents(None, None), **asked))  # type: ignore[arg-type]
    return [run["id"] for run in json.loads(text)["runs"]]


def test_a_listing_is_complete_newest_first_and_filtered(index: Index) -> None:
    async def look() -> None:
        book = Book(index, Hub())
        everything = [_run(number).id for number in reversed(range(COUNT))]
        assert _listed(book) == everything
        assert _listed(book, limit=501) == everything[:501]
        assert _listed(book, state="failed") == everything[3::10]
        assert len(_listed(book, name=re.compile("-3$"))) == len(range(3, COUNT, 7))
        assert _listed(book, name=re.compile("nothing")) == []
        assert _listed(book, limit=0) == []

    asyncio.run(look())
    index.close()


def test_a_live_run_stands_in_its_place_and_only_once(index: Index) -> None:
    async def look() -> None:
        book = Book(index, Hub())
        live = dataclasses.replace(_run(700), state=RunState.RUNNING, result=None, cause=None)
        book.live[live.id] = Entry(live, {}, 0.0, 0)
        listed = _listed(book)
        assert listed == [_run(number).id for number in reversed(range(COUNT))]

    asyncio.run(look())
    index.close()


def test_references_find_one_run_or_say_why_not(index: Index) -> None:
    async def look() -> None:
        book = Book(index, Hub())
        assert book.find(_run(5).id) == _run(5).id
        assert book.find("job-5") == _run(COUNT - 1 - (COUNT - 1 - 5) % 7).id
        assert book.find("last") == _run(COUNT - 1).id
        assert book.find("20300101-000005") == _run(5).id
        with pytest.raises(UsageError, match="fits"):
            book.find("20300101-00")
        for absent in ("203", "20400101", "job", "'; drop table runs; --", "%", "_" * 20):
            with pytest.raises(RunNotFoundError):
                book.find(absent)

    asyncio.run(look())
    index.close()


def test_a_past_that_is_still_being_read_is_told_truly(tmp_path: Path) -> None:
    """By id at once, by name when nothing unread can be newer, a listing when all of its time is read."""

    async def play() -> None:
        book = Book(Index(tmp_path / "index.sqlite3"), Hub())
        ids = [_run(number).id for number in reversed(range(30))]
        book.read_past = lambda identifier: _run(int(identifier[9:15]))
        waiting = asyncio.create_task(book.ready("job-1"))
        await asyncio.sleep(0)
        assert not waiting.done(), "what lives is not known yet"
        book.index.put([_run(1)])
        book.set_ready(unread=ids)
        assert book.run(ids[20]) == _run(9)
        assert book.find("last") == ids[0]
        assert book.find("20300101-000007") == ids[22]
        recent = asyncio.create_task(book.ready_since(created_seconds(ids[9])))
        everything = asyncio.create_task(book.ready_since(None))
        await asyncio.sleep(0)
        assert not waiting.done(), "an older job-1 is known, but the newest may be unread"
        book.forget(ids[1])
        book.file_past(ids[:3], [_run(number) for number in (29, 28, 27)])
        await waiting
        assert book.find("job-1") == _run(29).id
        with pytest.raises(RunNotFoundError):
            book.run(ids[1])
        assert not recent.done()
        book.file_past(ids[3:25], [_run(number) for number in range(5, 27)])
        await recent
        assert not everything.done()
        book.file_past(ids[25:], [_run(number) for number in range(5)])
        await everything
        assert _listed(book) == [one for one in ids if one != ids[1]]
        book.index.close()

    asyncio.run(play())


def test_a_broken_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    path.write_bytes(b"no database" * 1000)
    index = Index(path)
    assert index.states() == {}
    index.put([_run(1)])
    index.close()
    again = Index(path)
    assert again.states() == {_run(1).id: "finished"}
    again.discard([_run(1).id])
    assert again.get(_run(1).id) is None
    again.close()


def test_a_place_that_cannot_be_written_costs_only_the_cache(tmp_path: Path) -> None:
    index = Index(tmp_path / "absent" / "index.sqlite3")
    index.put([_run(1)])
    assert index.get(_run(1).id) == _run(1)
    index.close()


def test_a_file_that_is_damaged_under_it_costs_no_run(index: Index, tmp_path: Path) -> None:
    losses: list[bool] = []
    index.on_loss = lambda: losses.append(True)
    for path in tmp_path.glob("index.sqlite3*"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    assert (len(index.states()) == COUNT) != bool(losses), "either everything is there, or it was said"
    index.put([_run(1)])
    assert index.get(_run(1).id) == _run(1)
    assert index.newest() is not None
    index.close()


@pytest.mark.parametrize("pattern", ["(", "x" * 201, "(?P<a>x)(?P<a>y)"])
def test_a_filter_that_is_no_expression_is_said(pattern: str) -> None:
    with pytest.raises(UsageError):
        compile_name(pattern)
