"""The JSON files of a run folder, read as if anybody could have written them."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, TypeVar

from accel_tui.keeper.files import decode, encode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = 1
MOST_BYTES = 16 * 1024 * 1024
"""No document of ours comes near; reading more would only help whoever put it there."""

OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that say something of this process and nothing of the file: they are passed on as they are."""

T = TypeVar("T")


class DamagedError(Exception):
    """A file of a run folder is not what it should be; the message names file and reason."""


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of at most `most` bytes.

    Raises:
        FileNotFoundError: there is none.
        DamagedError: a link, a pipe, too large, or unreadable.
        OSError: this process lacks descriptors or memory.
    """
    try:
        # Without O_NONBLOCK a pipe in place of the file would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as fault:
        if fault.errno in OURS:
            raise
        raise DamagedError(f"{path.name} cannot be read: {fault.strerror}") from fault
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedError(f"{path.name} is not a regular file")
        if status.st_size > most:
            raise DamagedError(f"{path.name} has {status.st_size} bytes, more than such a file can have")
        return _read_whole(descriptor, status.st_size)
    except OSError as fault:
        raise DamagedError(f"{path.name} cannot be read: {fault.strerror}") from fault
    finally:
        os.close(descriptor)


def _read_whole(descriptor: int, expected: int) -> bytes:
    """All bytes up to the end; one byte more is asked for, so that the end is seen in one call."""
    data = os.read(descriptor, expected + 1)
    while data and (more := os.read(descriptor, MOST_BYTES)):
        data += more
        if len(data) > MOST_BYTES:
            break
    return data


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run folder; unknown fields are kept.

    Raises:
        FileNotFoundError: there is none.
        DamagedError: it is no JSON object of a schema that we know.
    """
    data = read_bytes(path)
    if not data.strip():
        raise DamagedError(f"{path.name} is empty")
    return _object(path, data)


def read_record(path: Path) -> dict[str, Any] | None:
    """The record in a reserved file, or None while it is missing or still reserved.

    Raises:
        DamagedError: something else stands there.
    """
    for attempt in (1, 2, 3):  # it is overwritten in place, so a reader may meet one half of a write
        try:
            data = read_bytes(path)
            return _object(path, data) if data.strip() else None
        except FileNotFoundError:
            return None
        except DamagedError:
            if attempt == 3:
                raise
    raise AssertionError("unreachable")


def _object(path: Path, data: bytes) -> dict[str, Any]:
    try:
        document = decode(data)
    except ValueError as fault:
        raise DamagedError(f"{path.name} is not JSON: {fault}") from fault
    if not isinstance(document, dict):
        raise DamagedError(f"{path.name} holds no JSON object")
    if document.get("schema") != SCHEMA:
        raise DamagedError(f"{path.name} has schema {document.get('schema')!r}; this version knows {SCHEMA}")
    return document


def same(path: Path, document: Mapping[str, Any]) -> bool:
    """Whether the file says this already; how long the checks took does not count."""
    try:
        return encode(_timeless(read_document(path))) == encode(_timeless(document))
    except (FileNotFoundError, DamagedError):
        return False


def _timeless(document: Mapping[str, Any]) -> dict[str, Any]:
    checks = document.get("checks")
    if not isinstance(checks, list):
        return dict(document)
    return {**document, "checks": [{**check, "seconds": 0} for check in checks if isinstance(check, dict)]}


def required(document: dict[str, Any], name: str, kind: type[T], file: str) -> T:
    """A field that must be there and of that kind.

    Raises:
        DamagedError: it is missing or of another kind.
    """
    value = document.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DamagedError(f"{file}: {name} is missing or wrong")
    return value


def optional(document: dict[str, Any], name: str, kind: type[T]) -> T | None:
    """A field that may be missing or null; one of another kind counts as missing."""
    value = document.get(name)
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else None


def texts(document: dict[str, Any], name: str) -> tuple[str, ...]:
    """A field that is a list of texts; of a list of lists the first entries are taken; others are left out."""
    value = document.get(name)
    found = []
    for entry in value if isinstance(value, list) else ():
        first = entry[0] if isinstance(entry, list) and entry else entry
        if isinstance(first, str):
            found.append(first)
    return tuple(found)
