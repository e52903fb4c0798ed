"""What a run left: its output, and the checkpoint that a training goes on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accel_tui.store.artefacts import Artefacts, artefacts_of


def left_by(folder: Path, job: dict[str, Any]) -> Artefacts:
    (folder / "spec.json").write_text(json.dumps({"schema": 1, "job": job}))
    return artefacts_of(folder)


def checkpoint(output: Path, step: int, *, state: bool = True, incomplete: bool = False) -> Path:
    place = output / f"checkpoint-{step}"
    place.mkdir(parents=True)
    if state:
        (place / "trainer_state.json").write_text("{}")
    if incomplete:
        (place / "checkpoint-is-incomplete.txt").write_text("")
    return place


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_newest_complete_checkpoint(tmp_path: Path, elsewhere: bool) -> None:
    output = tmp_path / ("out" if elsewhere else "artefacts")
    checkpoint(output, 9)
    newest = checkpoint(output, 20)
    checkpoint(output, 30, incomplete=True)
    checkpoint(output, 40, state=False)
    (output / "checkpoint-x").mkdir()
    job = {"kind": "train", "train": {"output": str(output) if elsewhere else None}}
    assert left_by(tmp_path, job) == Artefacts(output, newest)


def test_where_nothing_was_left(tmp_path: Path) -> None:
    assert artefacts_of(tmp_path) == Artefacts()
    for job in ({"kind": "train", "train": {}}, {"kind": "generate"}, {"kind": "command"}):
        assert left_by(tmp_path, job) == Artefacts()
    (tmp_path / "spec.json").write_text("[")
    assert artefacts_of(tmp_path) == Artefacts()


def test_the_results_of_a_generation(tmp_path: Path) -> None:
    results = tmp_path / "artefacts/results.jsonl"
    results.parent.mkdir()
    results.write_text("")
    assert left_by(tmp_path, {"kind": "generate", "generate": {"output": None}}) == Artefacts(results)
