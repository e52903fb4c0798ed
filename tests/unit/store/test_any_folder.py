"""Whatever stands in a run folder, reading it gives a run that every face can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.model.runs import Cause, Run, RunState
from accel_tui.store.folders import RunFolders
from support.runs import make_run

ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)
STATES = st.sampled_from([state.value for state in RunState])
CAUSES = st.sampled_from([cause.value for cause in Cause])
TIMES = st.sampled_from(["2026-11-30T12:00:00.000Z", "0001-01-01T00:00:00+14:00", "now", "9999-12-31T23:59:59-14:00"])


def document(**likely: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """A JSON object with fields that are right, wrong or missing; or no JSON at all."""
    fields = {name: st.one_of(strategy, strategy, ANY) for name, strategy in likely.items()}
    optional = st.fixed_dictionaries({"schema": st.just(1)}, optional=fields)
    return st.one_of(optional.map(lambda found: json.dumps(found).encode()), st.binary(max_size=20))


NAME, KIND = st.just("job"), st.just("train")
SPEC = document(name=NAME, kind=KIND, created=TIMES, attempt=st.integers(), after=ANY, priority=ANY)
STATE = document(state=STATES, boot_id=st.text(), started=TIMES, held=ANY, waiting_for=ANY)
EXIT = document(cause=CAUSES, exit_code=st.integers(), signal=ANY, stopped=ANY, started=TIMES, ended=TIMES, message=ANY)
PLAN = document(devices=ANY, processes=st.sampled_from([-3, 0, 1, 2, 10**9, 10**400]))
KINDS = st.sampled_from(["start", "phase", "step", "log", "generation", "error", "result", "signal"])
FIGURE = ANY | st.just(10**400)
EVENT = document(
    event=KINDS, t=FIGURE, ok=ANY, stopped=ANY, step=FIGURE, total=ANY, loss=FIGURE, index=ANY, type=ANY, message=ANY
)


@settings(max_examples=150, deadline=None)
@given(
    spec=st.none() | SPEC,
    state=st.none() | STATE,
    record=st.none() | EXIT,
    plan=st.none() | PLAN,
    told=st.lists(EVENT, max_size=5),
    worker=st.booleans(),
)
def test_reading_never_fails_and_gives_what_can_be_shown(
    tmp_path_factory: pytest.TempPathFactory,
    spec: bytes | None,
    state: bytes | None,
    record: bytes | None,
    plan: bytes | None,
    told: list[bytes],
    worker: bool,
) -> None:
    folders = RunFolders(tmp_path_factory.getbasetemp() / "any")
    identifier = make_run(folders, worker=b"zip" if worker else None)
    folder = folders.path(identifier)
    try:
        for name, content in (("spec", spec), ("state", state), ("exit", record), ("plan", plan)):
            if content is not None:
                (folder / f"{name}.json").write_bytes(content)
        (folder / "events" / "rank-0.jsonl").write_bytes(b"\n".join(told) + b"\n")
        run = folders.read_run(identifier)
        shown = json.dumps(run.to_json(), allow_nan=False)
        assert Run.from_json(json.loads(shown)) == run
        json.dumps(folders.metrics(identifier), allow_nan=False)
        settled = folders.settle_lost(identifier)
        assert settled.state is run.state
        if run.state is RunState.FINISHED:
            assert run.result is not None
            assert run.cause is not None
    finally:
        _delete(folder)


def _delete(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
