"""Checkpoints on disk: which are complete, which one a training goes on from, who writes there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
from typing import TYPE_CHECKING

from accel_tui_worker.errors import BadInputError, OutputInUseError
from accel_tui_worker.job import missing_shards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

INCOMPLETE = "checkpoint-is-incomplete.txt"
"""Lies in a checkpoint while it is written; transformers' own just-in-time checkpoints use the same name."""

STATE = "trainer_state.json"

_NAME = re.compile(r"checkpoint-(\d+)")
_WEIGHTS = ("*.safetensors", "pytorch_model*", "adapter_model.*", "global_step*")


def checkpoints(output: Path) -> list[Path]:
    """Folders named like checkpoints, the highest step first."""
    if not output.is_dir():
        return []
    found = [(int(match[1]), path) for path in output.iterdir() if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(found, reverse=True) if path.is_dir()]


def flaw(checkpoint: Path) -> str | None:
    """Why a checkpoint cannot be gone on from, None when it can."""
    if (checkpoint / INCOMPLETE).exists():
        return f"{INCOMPLETE} says that writing it was interrupted"
    if step_of(checkpoint) is None:
        return f"{STATE} is missing or damaged"
    if not any(any(checkpoint.glob(pattern)) for pattern in _WEIGHTS):
        return "it has no weights"
    missing = missing_shards(checkpoint)
    return f"its weight file {missing[0]} is missing" if missing else None


def step_of(checkpoint: Path) -> int | None:
    """The step that the checkpoint's own state names."""
    try:
        step = json.loads((checkpoint / STATE).read_bytes())["global_step"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None


def resume_point(path: Path) -> Path:
    """The checkpoint that `path` means: itself, or the newest complete one of an output folder.

    Raises:
        BadInputError: there is none; says why of the newest.
    """
    if not path.is_dir():
        raise BadInputError(f"train.resume_from: the folder {path} does not exist")
    inside = checkpoints(path)
    if not inside:
        if not (path / STATE).is_file() and not _NAME.fullmatch(path.name):
            raise BadInputError(f"train.resume_from: {path} holds no checkpoint")
        reason = flaw(path)
        if reason:
            raise BadInputError(f"train.resume_from: {path} cannot be gone on from: {reason}")
        return path
    point = newest_complete(path)
    if point is None:
        raise BadInputError(
            f"train.resume_from: {path} holds no complete checkpoint; {inside[0].name}: {flaw(inside[0])}"
        )
    return point


def newest_complete(output: Path) -> Path | None:
    """The complete checkpoint with the highest step."""
    return next((path for path in checkpoints(output) if flaw(path) is None), None)


@contextlib.contextmanager
def being_written(checkpoint: Path) -> Iterator[None]:
    """Mark a checkpoint as incomplete until the block is left without an exception."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    mark = checkpoint / INCOMPLETE
    mark.write_text("This checkpoint is being written, or writing it was interrupted.\n", "utf-8")
    yield
    mark.unlink()


@contextlib.contextmanager
def holding(output: Path, warn: Callable[[str, str], None]) -> Iterator[None]:
    """Hold the output folder, so that no second run writes there; where it cannot be locked, warn and go on.

    Raises:
        OutputInUseError: another live process holds it.
        BadInputError: the folder cannot be made or written.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(output / ".accel-tui-lock", flags, 0o600)
    except OSError as error:
        raise BadInputError(f"train.output: cannot write to {output}: {error.strerror}") from error
    try:
        _lock(descriptor, output, warn)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, output: Path, warn: Callable[[str, str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise OutputInUseError(f"train.output: another live run writes to {output}; name another folder") from error
        warn("output-not-locked", f"{output} cannot be locked ({error.strerror}); do not start a second run there")
