"""What a run left behind for its owner: where its output is, and the checkpoint that a training can go on from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.store.documents import DamagedError, read_document

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHECKPOINT = re.compile(r"checkpoint-(\d{1,12})")
_STATE, _INCOMPLETE = "trainer_state.json", "checkpoint-is-incomplete.txt"


@dataclass(frozen=True)
class Artefacts:
    """Paths that exist; None where there is nothing."""

    output: Path | None = None
    """The folder of a training, the results file of a generation."""
    checkpoint: Path | None = None
    """The newest complete one."""


def training_output(folder: Path, job: Mapping[str, Any]) -> Path:
    """Where the training of a run folder puts checkpoints and model."""
    return Path((job.get("train") or {}).get("output") or folder / "artefacts")


def newest_checkpoint(output: Path) -> Path | None:
    """The complete checkpoint of the highest step; the worker looks closer when it goes on from it."""
    try:
        found = [(int(match[1]), path) for path in output.iterdir() if (match := _CHECKPOINT.fullmatch(path.name))]
        ready = (path for _, path in sorted(found, reverse=True) if (path / _STATE).is_file())
        return next((path for path in ready if not (path / _INCOMPLETE).exists()), None)
    except OSError:
        return None


def artefacts_of(folder: Path) -> Artefacts:
    """What the run of this folder left; nothing for a damaged record or a program of the user's own."""
    try:
        job = read_document(folder / "spec.json").get("job")
    except (FileNotFoundError, DamagedError):
        return Artefacts()
    if not isinstance(job, dict):
        return Artefacts()
    if job.get("kind") == "train":
        output = training_output(folder, job)
        return Artefacts(output if output.is_dir() else None, newest_checkpoint(output))
    if job.get("kind") == "generate":
        results = Path((job.get("generate") or {}).get("output") or folder / "artefacts/results.jsonl")
        return Artefacts(results if results.is_file() else None)
    return Artefacts()
