"""What a new run folder holds, put on the disk as a whole."""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.keeper.processes import boot_id
from accel_tui.model.errors import StateFolderError
from accel_tui.model.runs import RunState
from accel_tui.store.documents import SCHEMA, DamagedError, read_document
from accel_tui.store.identifiers import is_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def first_state(created: str, position: float | None, held: str | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "state": RunState.QUEUED.value, "created": created, "started": None, "ended": None,
        "boot_id": boot_id(), "keeper": None, "main": None, "held": held,
        "position": time.time() if position is None else position, "locks": [],
    }  # fmt: skip


ARTEFACTS = "artefacts"


def make_artefacts(root: str, identifier: str) -> Path:
    """The folder of a run's results where they go elsewhere; the run folder gets a link to it.

    Raises:
        StateFolderError: it cannot be made.
    """
    place = Path(root, identifier)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(mode=0o700)
    except OSError as fault:
        message = f"{place} cannot be made: {fault.strerror}"
        raise StateFolderError(message, remedy="correct the setting artefacts_root, or the folder's rights") from None
    return place


def remove_artefacts(folder: Path) -> None:
    """Delete the results of the run in `folder` where they lie elsewhere: only what was made for that very run."""
    try:
        place = Path(str(read_document(folder / "spec.json").get(ARTEFACTS) or ""))
        ours = place.is_absolute() and is_id(place.name) and place.lstat().st_uid == os.geteuid()
        if ours and (folder / ARTEFACTS).is_symlink() and (folder / ARTEFACTS).readlink() == place:
            shutil.rmtree(place, ignore_errors=True)
    except (OSError, DamagedError):
        return


class Fresh:
    """A folder that was made this moment: everybody sees it, and the disk has it once `settle` has returned."""

    def __init__(self, identifier: str, descriptors: list[int]) -> None:
        self.id = identifier
        self._descriptors = descriptors

    def settle(self) -> None:
        """Have it on the disk, files and names; to be called once.

        Raises:
            OSError: the disk did not take it.
        """
        try:
            _sync_together(self._descriptors)
        finally:
            self.close()

    def close(self) -> None:
        """Leave it to the kernel."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def make(root: Path, identifier: str, files: Mapping[str, bytes], artefacts: Path | None) -> Fresh:
    """The folder of a run below `root`, seen by others as a whole or not at all.

    Raises:
        OSError: it could not be written; nothing is left of it.
    """
    temporary = root / f".new-{identifier}-{secrets.token_hex(4)}"
    descriptors: list[int] = []
    try:
        descriptors += fill(temporary, files, artefacts)
        descriptors.append(_directory(root))
        temporary.rename(root / identifier)
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        shutil.rmtree(temporary, ignore_errors=True)
        if artefacts is not None:
            artefacts.rmdir()
        raise
    return Fresh(identifier, descriptors)


def fill(folder: Path, files: Mapping[str, bytes], artefacts: Path | None = None) -> list[int]:
    """Make the folder with these files, closed to others; open descriptors of all of it, for the caller to sync."""
    folder.mkdir(mode=0o700)
    (folder / "events").mkdir(mode=0o700)
    if artefacts is None:
        (folder / ARTEFACTS).mkdir(mode=0o700)
    else:
        (folder / ARTEFACTS).symlink_to(artefacts)
    descriptors = [_directory(folder)]
    try:
        for name, data in files.items():
            mode = 0o700 if name == "run.sh" else 0o600
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            descriptors.append(descriptor)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


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


def _directory(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
