"""Where the bytes of a log come from: a contract, and the local file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from accel_tui.model.errors import FileError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class ByteSource(Protocol):
    """Bytes that grow at their end while they are being read. A reader keeps offsets, never the bytes."""

    def size(self) -> int:
        """How many bytes there are now. Asked many times a second."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer at the end, none behind it. Never raises for a short source."""

    def hole_end(self, offset: int) -> int:
        """Where data starts again when the bytes at `offset` were discarded; `offset` itself when they were not."""

    @property
    def generation(self) -> int:
        """Counts how often the bytes were replaced or cut, as noticed by `size`; offsets hold within one generation."""


class FileSource:
    """A file, read by `pread`: a mapping would raise SIGBUS when the file is cut.

    A file that is missing at first is an empty source until it appears. One that is deleted while it is open can still
    be read to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._last_size = 0
        self._generation = 0
        self._deleted = False

    @property
    def deleted(self) -> bool:
        """Whether the file was taken away, as noticed by `size`: what is open can still be read, and does not grow."""
        return self._deleted

    @classmethod
    def existing(cls, path: Path) -> FileSource:
        """The source of a file that must be there.

        Raises:
            FileError: it is missing, not a regular file, or unreadable.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as fault:
            raise FileError(
                f"{path}: cannot be read: {fault.strerror}", remedy="check the path and its rights"
            ) from fault
        os.close(descriptor)
        if not path.is_file():
            raise FileError(f"{path}: not a regular file", remedy="name a log file")
        return cls(path)

    @property
    def generation(self) -> int:
        return self._generation

    def size(self) -> int:
        self._follow_path()
        if self._descriptor is None:
            return 0
        size = os.fstat(self._descriptor).st_size
        if size < self._last_size:
            self._generation += 1
        self._last_size = size
        return size

    def read(self, offset: int, length: int) -> bytes:
        if self._descriptor is None:
            self._follow_path()
        if self._descriptor is None:
            return b""
        parts = []
        while length > 0:
            try:
                part = os.pread(self._descriptor, length, offset)
            except OSError as fault:
                if fault.errno in (errno.EIO, errno.ESTALE):  # a bad disk or a file server that forgot the file
                    break
                raise
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def hole_end(self, offset: int) -> int:
        if self._descriptor is None:
            return offset
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as fault:
            # No data behind: all the rest is a hole. Anything else: the file system cannot tell.
            return max(offset, self._last_size) if fault.errno == errno.ENXIO else offset

    def close(self) -> None:
        """Give the descriptor back; the next look opens the file again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _follow_path(self) -> None:
        """Open what stands at the path now, when it is another file than the open one."""
        try:
            named = self.path.stat()
        except OSError as fault:  # not there yet, or deleted: what is open stays readable
            self._deleted = self._descriptor is not None and fault.errno == errno.ENOENT
            return
        self._deleted = False
        if self._descriptor is not None:
            opened = os.fstat(self._descriptor)
            if (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino):
                return
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._generation += 1
        self._descriptor, self._last_size = descriptor, 0
