"""The index of runs: a cache in SQLite that can be rebuilt from the run folders at any time."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import UsageError
from accel_tui.model.runs import Run
from accel_tui.protocol.messages import dump, read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

LAYOUT = 1
PAGE = 200
"""Runs that are read at a time."""

_TABLE = """
create table if not exists runs (
    id text primary key, name text not null, state text not null, result text, created text not null,
    document text not null
) without rowid;
create index if not exists by_created on runs (created desc, id desc);
create index if not exists by_name on runs (name, created desc);
"""


class Index:
    """Runs by id, name and time; live ones only by their id, so that the next supervisor knows what was left alive.

    Safe to be used from several threads. A broken file is thrown away: the folders say all that stands in it. One that
    cannot be written any more, as on a full disk, goes on in memory: the next supervisor reads what it lacks.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self.on_loss: Callable[[], None] = lambda: None
        """Called, from any thread, when the file was damaged while it was open: what it held must be put anew."""
        try:
            self._base = _open(path)
        except sqlite3.Error:
            for suffix in ("", "-wal", "-journal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + suffix).unlink()
            try:
                self._base = _open(path)
            except sqlite3.Error:  # a full disk or a file system without locks: it is only a cache
                self._base = _open(None)

    def states(self) -> dict[str, str]:
        """Run id to the state that was last put."""
        return dict(self._all("select id, state from runs"))

    def put(self, runs: Iterable[Run]) -> None:
        """Add or replace runs."""
        rows = [
            (run.id, run.name, run.state.value, run.result and run.result.value, run.created, dump(run.to_json()))
            for run in runs
        ]
        self._change("insert or replace into runs values (?,?,?,?,?,?)", rows)

    def discard(self, ids: Iterable[str]) -> None:
        self._change("delete from runs where id = ?", [(one,) for one in ids])

    # Finished runs alone, from here on.

    def get(self, identifier: str) -> Run | None:
        rows = self._all("select document from runs where id = ? and state = 'finished'", identifier)
        return Run.from_json(read_object(rows[0][0].encode())) if rows else None

    def named(self, name: str) -> tuple[str, str] | None:
        """`(created, id)` of the newest run of that name."""
        rows = self._all(
            "select created, id from runs where name = ? and state = 'finished' order by created desc, id desc limit 1",
            name,
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def newest(self) -> tuple[str, str] | None:
        rows = self._all("select created, id from runs where state = 'finished' order by created desc, id desc limit 1")
        return (rows[0][0], rows[0][1]) if rows else None

    def with_prefix(self, prefix: str) -> list[str]:
        # The characters of an id sort below "~", so the range is exactly the ids that begin with the prefix.
        query = "select id from runs where id >= ? and id < ? and state = 'finished' limit 50"
        return [row[0] for row in self._all(query, prefix, prefix + "~")]

    def documents(
        self, *, since: str | None, state: str | None, name: re.Pattern[str] | None
    ) -> Iterator[tuple[str, str, str]]:
        """`(created, id, JSON text)`, newest first, read page by page so that a long past needs little memory.

        `state` is a state or a result; `since` a time of creation.
        """
        before = ("~", "~")
        clauses = ["state = 'finished'", "(created, id) < (?, ?)"]
        values = []
        if since is not None:
            clauses.append("created >= ?")
            values.append(since)
        if state is not None:
            clauses.append("(state = ? or result = ?)")
            values += [state, state]
        query = (
            f"select created, id, document, name from runs where {' and '.join(clauses)}"  # noqa: S608 - all ours
            f" order by created desc, id desc limit {PAGE}"
        )
        while rows := self._all(query, *before, *values):
            yield from (row[:3] for row in rows if name is None or name.search(row[3]))
            before = rows[-1][:2]

    def close(self) -> None:
        with self._lock:
            self._base.close()

    def _change(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        with self._lock:
            try:
                self._write(query, rows)
            except sqlite3.Error:
                self._go_on_in_memory()
                self._write(query, rows)

    def _write(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        with self._base:
            self._base.execute("begin")
            self._base.executemany(query, rows)

    def _go_on_in_memory(self) -> None:
        memory = _open(None)
        try:
            self._base.backup(memory)
            lost = False
        except sqlite3.Error:
            memory.close()
            memory, lost = _open(None), True
        self._base.close()
        self._base = memory
        if lost:
            self.on_loss()

    def _all(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._base.execute(query, values).fetchall()
            except sqlite3.DatabaseError:
                self._go_on_in_memory()
                return self._base.execute(query, values).fetchall()


def _open(path: Path | None) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False, isolation_level=None)
    try:
        base.execute("pragma locking_mode = exclusive")
        base.execute("pragma journal_mode = wal")
        base.execute("pragma synchronous = off")
        base.execute("pragma cache_size = -1024")
        if base.execute("pragma user_version").fetchone()[0] not in (0, LAYOUT):
            base.execute("drop table if exists runs")
        base.executescript(_TABLE)
        base.execute(f"pragma user_version = {LAYOUT}")
        if base.execute("pragma quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("damaged")
    except sqlite3.Error:
        base.close()
        raise
    return base


def compile_name(pattern: str | None) -> re.Pattern[str] | None:
    """A name filter.

    Raises:
        UsageError: it is no regular expression, or an overlong one.
    """
    if pattern is None:
        return None
    if len(pattern) > 200:
        raise UsageError("the name filter is longer than 200 characters")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"the name filter is no regular expression: {error}") from None
