"""What a new run folder holds, put on the disk as a whole."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from accel_tui.keeper.processes import boot_id
from accel_tui.model.runs import RunState
from accel_tui.store.documents import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


def first_state(created: str, position: float | None, held: str | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "state": RunState.QUEUED.value, "created": created, "started": None, "ended": None,
        "boot_id": boot_id(), "keeper": None, "main": None, "held": held,
        "position": time.time() if position is None else position, "locks": [],
    }  # fmt: skip


def fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder with these files, closed to others and on the disk."""
    folder.mkdir(mode=0o700)
    for name in ("events", "artefacts"):
        (folder / name).mkdir(mode=0o700)
    with contextlib.ExitStack() as opened:
        descriptors = [opened.enter_context(_directory(folder))]
        for name, data in files.items():
            mode = 0o700 if name == "run.sh" else 0o600
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            file = opened.enter_context(os.fdopen(descriptor, "wb"))
            file.write(data)
            file.flush()
            descriptors.append(descriptor)
        _sync_together(descriptors)


@functools.cache
def _syncers() -> ThreadPoolExecutor:
    """Kept: threads of their own for each run cost more than what they do."""
    return ThreadPoolExecutor(8, thread_name_prefix="sync")


def _sync_together(descriptors: Sequence[int]) -> None:
    """All at once, so that the disk makes one commit of them: one after the other takes six times as long when others
    write too, and beginning to write without waiting (`keeper.files.sync_all`, for who has no threads) four times.
    """
    syncs = [_syncers().submit(os.fsync, descriptor) for descriptor in descriptors]
    wait(syncs)  # every one, also when one fails: nobody may sync a descriptor that means another file by then
    for sync in syncs:
        sync.result()


@contextlib.contextmanager
def _directory(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
