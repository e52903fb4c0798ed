"""Writing small files so that a reader sees the old or the new content, and a full disk cannot lose a result.

Only modules that a keeper may afford: it stays resident for as long as its run.
"""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]

RECORD_BYTES = 4096
"""Size of a reserved record: one block of the usual file systems."""

RESERVED = b" " * RECORD_BYTES
"""What a reserved record holds until it is written."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_atomic(
    path: StrPath, data: bytes, *, sync: bool = True, sync_folder: bool = True, beside: Sequence[int] = ()
) -> None:
    """Replace the file at `path` by `data`, mode 0600, in one step.

    `beside` are open files that are made durable together with it.

    `sync_folder=False` leaves out the last sync: after a crash of the host the old content may then stand there.
    `sync=False` leaves out both: the caller sees to them (`sync_file`), or can do without the file after a crash.

    Raises:
        OSError: it could not be written; the old content is untouched.
    """
    target = os.fspath(path)
    temporary = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        try:
            _write_all(descriptor, data)
            if sync:
                sync_all([*beside, descriptor])
        finally:
            os.close(descriptor)
        os.rename(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync and sync_folder:
        sync_directory(os.path.dirname(target) or ".")


def write_json(
    path: StrPath, document: object, *, sync: bool = True, sync_folder: bool = True, beside: Sequence[int] = ()
) -> None:
    """`write_atomic` of a JSON document; bytes that are not UTF-8 survive as lone surrogates, escaped."""
    write_atomic(path, encode(document), sync=sync, sync_folder=sync_folder, beside=beside)


def read_json(path: StrPath) -> Any:
    """The JSON document in the file at `path`.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds no JSON document, or one nested too deep to be one of ours.
    """
    with open(path, "rb") as file:
        data = file.read()
    return decode(data)


def reserve(path: StrPath, *, sync: bool = True) -> int:
    """Make a file of `RECORD_BYTES` spaces whose blocks are on the disk; the descriptor to overwrite it with.

    One that is reserved already is taken as it is: its blocks must not be given up, not even for a moment. With
    `sync=False` they are on the disk once the caller has synced the descriptor.

    Raises:
        OSError: it cannot be made, as on a full disk.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.pread(descriptor, RECORD_BYTES + 1, 0) != RESERVED:
            os.ftruncate(descriptor, 0)
            _write_all(descriptor, RESERVED)
        if sync:
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def overwrite(descriptor: int, document: dict[str, Any]) -> None:
    """Put `document` in the place that `reserve` kept, without needing a new block.

    A `message` that does not fit is cut.
    """
    data = encode(document)
    message = document.get("message")
    while len(data) > RECORD_BYTES and isinstance(message, str) and message:
        # In proportion, and a little more: escaped characters differ in length.
        message = message[: max(0, min(len(message) - 1, len(message) * RECORD_BYTES // len(data) - 40))]
        data = encode({**document, "message": message + "…"})
    padded = data.rstrip(b"\n").ljust(RECORD_BYTES - 1) + b"\n"
    written = 0
    while written < len(padded):
        written += os.pwrite(descriptor, padded[written:], written)
    os.fsync(descriptor)


def read_record(path: StrPath) -> dict[str, Any] | None:
    """The record in a reserved file; None while it is missing, or reserved and not written yet.

    Raises:
        OSError: it cannot be read.
        ValueError: something else than a record stands there.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    if not data.strip():
        return None
    document = decode(data)
    if not isinstance(document, dict):
        raise ValueError(f"{os.fspath(path)} holds no record")  # noqa: TRY004 - about content, not a caller's type
    return document


def remark(text: str) -> None:
    """One line for the keeper's own log. It may be lost: on a full disk the run matters, not what we say of it."""
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "backslashreplace") + b"\n")


def encode(document: object) -> bytes:
    """One line of JSON, ASCII only."""
    return json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"


def decode(data: bytes) -> Any:
    """The JSON document in `data`.

    Raises:
        ValueError: it is none, or one nested too deep.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("JSON nested too deep") from None


def sync_all(descriptors: Sequence[int]) -> None:
    """Make several open files and folders durable, in the time of one where the file system allows it.

    Raises:
        OSError: one of them could not be written.
    """
    for descriptor in descriptors if len(descriptors) > 1 else ():
        # This begins to write and does not wait, so that the first sync below finds all of it under way.
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    for descriptor in descriptors:
        os.fsync(descriptor)


def sync_paths(paths: Sequence[StrPath], *descriptors: int) -> None:
    """Make files and folders durable, by path and by open descriptor, in the time of one where that can be.

    Raises:
        OSError: one of them could not be opened or written.
    """
    opened: list[int] = []
    try:
        for path in paths:
            opened.append(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
        sync_all([*opened, *descriptors])
    finally:
        for descriptor in opened:
            os.close(descriptor)


def sync_file(path: StrPath) -> None:
    """Make the content of a file durable.

    Raises:
        OSError: it cannot be opened or synced.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: StrPath) -> None:
    """Make the names in a folder durable.

    Raises:
        OSError: the folder cannot be opened or synced.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
