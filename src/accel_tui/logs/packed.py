"""Compressed logs: packed in pieces that are read one by one, so that any place is as near as in the plain file.

A packed log is an ordinary `.gz` file that any tool unpacks: one member for each MiB, whose header says (RFC 1952,
extra field, subfield `AT`) how long the member is, how long what is in it, and whether that was given back to the disk.
"""

from __future__ import annotations

import bisect
import os
import struct
import tempfile
import zlib
from array import array
from collections import OrderedDict
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from accel_tui.logs.source import FileSource
from accel_tui.model.errors import FileError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

SUFFIX = ".gz"
PIECE = 1024 * 1024
MOST_UNPACKED = 4 * 1024**3
"""Of a foreign compressed file so much is unpacked, into a file without a name."""
_MAGIC = b"\x1f\x8b\x08"
_HEADER = struct.Struct("<3sBIBBHccHIIB")
"""Magic, flags (extra field), time, two bytes, length of the extra field, and the subfield: `A`, `T`, length, sizes."""
_TAIL = struct.Struct("<II")
_FLAG_EXTRA, _OS_UNIX = 4, 3
_SUBFIELD = 9
_KEPT_PIECES = 4


def pack(path: Path, *, level: int = 6) -> Path:
    """Replace a file that nobody writes any more by its packed form beside it, which is returned.

    The file goes only after the packed one is whole and on the disk. Its time of change is passed on.

    Raises:
        OSError: it cannot be read, or there is no room; everything is as before then.
    """
    target = path.with_name(path.name + SUFFIX)
    beside = path.with_name(f".{path.name}{SUFFIX}.{os.getpid()}")
    try:
        with FileSource(path) as source, beside.open("xb") as file:
            before = path.stat()
            os.fchmod(file.fileno(), before.st_mode & 0o777)
            position, size = 0, source.size()
            while position < size:
                end = min(source.hole_end(position), size)
                hole = end > position
                data = b"" if hole else source.read(position, min(PIECE, size - position))
                if not hole and not data:
                    raise OSError(f"{path} was cut while it was packed")
                length = min(end - position, 0xFFFF_0000) if hole else len(data)
                file.write(_member(data, length, hole=hole, level=level))
                position += length
            file.flush()
            os.fsync(file.fileno())
            os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
        if path.stat().st_size != size:
            raise OSError(f"{path} grew while it was packed")
        beside.replace(target)
        path.unlink()
    finally:
        beside.unlink(missing_ok=True)
    return target


def _member(data: bytes, length: int, *, hole: bool, level: int) -> bytes:
    """One member. A hole is an empty one: unpacked by another tool it is left out."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    whole = _HEADER.size + len(body) + _TAIL.size
    head = _HEADER.pack(_MAGIC, _FLAG_EXTRA, 0, 0, _OS_UNIX, 4 + _SUBFIELD, b"A", b"T", _SUBFIELD, whole, length, hole)
    return head + body + _TAIL.pack(zlib.crc32(data), len(data))


class PackedSource:
    """The bytes of a packed log; a `ByteSource`. It does not grow."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            FileError: it cannot be read, or `pack` did not write it.
        """
        self.path = path
        try:
            self._file: IO[bytes] = path.open("rb")
        except OSError as fault:
            raise FileError(f"{path}: cannot be read: {fault.strerror}") from fault
        self._starts, self._places, self._lengths = array("Q"), array("Q"), array("Q")
        self._holes = array("B")
        self._size = 0
        self._pieces: OrderedDict[int, bytes] = OrderedDict()
        place = 0
        while (member := self._head(place)) is not None:
            whole, length, hole = member
            self._starts.append(self._size)
            self._places.append(place)
            self._lengths.append(whole)
            self._holes.append(hole)
            self._size += length
            place += whole
        if place != os.fstat(self._file.fileno()).st_size:
            self._file.close()
            raise FileError(f"{path}: compressed by another program, or cut")

    def _head(self, place: int) -> tuple[int, int, int] | None:
        data = os.pread(self._file.fileno(), _HEADER.size, place)
        if len(data) < _HEADER.size:
            return None
        magic, flags, _, _, _, extra, one, other, field, whole, length, hole = _HEADER.unpack(data)
        ours = (magic, flags, extra, one, other, field) == (_MAGIC, _FLAG_EXTRA, 4 + _SUBFIELD, b"A", b"T", _SUBFIELD)
        return (whole, length, hole) if ours and whole > _HEADER.size else None

    @property
    def generation(self) -> int:
        return 0

    def size(self) -> int:
        return self._size

    def hole_end(self, offset: int) -> int:
        number = bisect.bisect_right(self._starts, offset) - 1
        while 0 <= number < len(self._holes) and offset < self._size and self._holes[number]:
            number += 1
            offset = self._starts[number] if number < len(self._starts) else self._size
        return offset

    def read(self, offset: int, length: int) -> bytes:
        parts = []
        number = bisect.bisect_right(self._starts, offset) - 1
        while 0 <= number < len(self._starts) and length > 0:
            end = self._starts[number + 1] if number + 1 < len(self._starts) else self._size
            begin, stop = offset - self._starts[number], min(end, offset + length) - self._starts[number]
            part = bytes(max(0, stop - begin)) if self._holes[number] else self._piece(number)[begin:stop]
            if not part:
                break
            parts.append(part)
            offset, length, number = offset + len(part), length - len(part), number + 1
        return b"".join(parts)

    def _piece(self, number: int) -> bytes:
        kept = self._pieces.get(number)
        if kept is None:
            data = os.pread(self._file.fileno(), self._lengths[number], self._places[number])
            try:
                kept = zlib.decompress(data[_HEADER.size : -_TAIL.size], -15)
            except zlib.error:  # damaged: what it held is lost, the rest is not
                kept = b""
            self._pieces[number] = kept
            if len(self._pieces) > _KEPT_PIECES:
                self._pieces.popitem(last=False)
        self._pieces.move_to_end(number)
        return kept

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class UnpackedSource(FileSource):
    """A file that another program compressed, unpacked into a file without a name."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            FileError: it cannot be read, is no gzip file, or is too large.
        """
        self._unpacked: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        try:
            _unpack(path, self._unpacked)
        except FileError:
            self._unpacked.close()
            raise
        super().__init__(Path(f"/proc/self/fd/{self._unpacked.fileno()}"))

    def close(self) -> None:
        super().close()
        self._unpacked.close()


def _unpack(path: Path, target: IO[bytes]) -> None:
    unpacker, begun, count = zlib.decompressobj(31), False, 0
    try:
        with path.open("rb") as file:
            while data := file.read(PIECE):
                while data:
                    out, begun = unpacker.decompress(data), True
                    count += len(out)
                    target.write(out)
                    data = unpacker.unused_data
                    if unpacker.eof:
                        unpacker, begun = zlib.decompressobj(31), False
                    else:
                        data = b""
                if count > MOST_UNPACKED:
                    raise FileError(f"{path}: holds more than 4 GiB", remedy="unpack it with gunzip")
            target.flush()
        if begun:
            raise FileError(f"{path}: damaged: its end is missing")
    except zlib.error as fault:
        raise FileError(f"{path}: damaged: {fault}") from fault
    except OSError as fault:
        raise FileError(f"{path}: cannot be unpacked: {fault.strerror}") from fault


def standing(path: Path) -> Path:
    """Where the log that belongs to `path` lies: there, or packed beside it."""
    packed = path.with_name(path.name + SUFFIX)
    return packed if not path.exists() and packed.exists() else path


LogSource: TypeAlias = "FileSource | PackedSource"


def open_log(path: Path, *, look_bytes: int | None = None) -> LogSource:
    """The bytes of a log, packed or not; one that is not there yet is empty until it comes. A folder's are those of
    the files of its ranks, merged, at most `look_bytes` of them at a look.

    Raises:
        FileError: it is compressed and cannot be unpacked, or a folder without files of ranks.
    """
    if path.is_dir():
        from accel_tui.logs.rankfiles import MergedSource

        return MergedSource(path, look_bytes=look_bytes)
    place = standing(path)
    try:
        with place.open("rb") as file:
            packed = file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        packed = False
    if not packed:
        return FileSource(path)
    try:
        return PackedSource(place)
    except FileError:
        return UnpackedSource(place)
