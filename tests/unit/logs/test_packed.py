"""Packed logs read as the plain ones did, and any tool unpacks them; the middle of a long log goes under its writer."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accel_tui.logs.lines import LineIndex, iterate, start_of_last
from accel_tui.logs.packed import PIECE, PackedSource, UnpackedSource, open_log, pack
from accel_tui.logs.source import FileSource
from accel_tui.logs.upkeep import NotReleasableError, release, used_share
from accel_tui.model.errors import FileError

MIB = 1024 * 1024


def holes_are_possible(path: Path) -> bool:
    with path.open("wb") as file:
        file.truncate(8 * MIB)
    return path.stat().st_blocks == 0


def test_a_packed_log_reads_as_the_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    data = b"".join(b"line %d\n" % number for number in range(400_000))
    path.write_bytes(data)
    os.utime(path, (1000, 2000))
    path.chmod(0o600)
    packed = pack(path)
    assert not path.exists()
    assert packed.stat().st_size < len(data) / 3
    assert (packed.stat().st_mtime, packed.stat().st_mode & 0o777) == (2000, 0o600)
    assert gzip.decompress(packed.read_bytes()) == data
    source = open_log(path)
    assert isinstance(source, PackedSource)
    assert source.size() == len(data)
    assert source.read(0, len(data)) == data
    assert source.read(PIECE - 3, 6) == data[PIECE - 3 : PIECE + 3]
    assert (source.read(len(data), 5), source.read(len(data) - 2, 5)) == (b"", data[-2:])
    assert next(iterate(source, start_of_last(source, 1))).data == b"line 399999"
    index = LineIndex(source)
    while not index.extend():
        continue
    assert index.line_ends == 400_000
    source.close()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 500), st.integers(0, 500))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, offset: int, length: int) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(data)
    with PackedSource(pack(path)) as source:
        assert source.read(offset, length) == data[offset : offset + length]


def test_a_hole_stays_one(tmp_path: Path) -> None:
    if not holes_are_possible(tmp_path / "probe"):
        pytest.skip("this file system has no holes")
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b"begin\n" * 2000)
        file.seek(20 * MIB)
        file.write(b"end\n")
    with FileSource(path) as plain:
        before = [(line.offset, line.end, line.discarded) for line in iterate(plain)]
    with PackedSource(pack(path)) as source:
        assert [(line.offset, line.end, line.discarded) for line in iterate(source)] == before
    assert any(discarded for _, _, discarded in before)


def test_what_another_program_compressed_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "old.log.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    source = open_log(path)
    assert isinstance(source, UnpackedSource)
    assert [line.data for line in iterate(source)] == [b"one", b"two"]
    source.close()
    path.write_bytes(gzip.compress(b"x" * 5000)[:-30] + b"broken")
    with pytest.raises(FileError, match="damaged"):
        open_log(path)


def test_a_damaged_piece_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(os.urandom(PIECE) + b"the end\n")
    packed = pack(path)
    data = bytearray(packed.read_bytes())
    data[1000:1100] = bytes(100)
    packed.write_bytes(data)
    with PackedSource(packed) as source:
        assert source.read(PIECE, 8) == b"the end\n"


def test_a_log_that_cannot_be_packed_stays(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="log"):
        pack(tmp_path / "log")
    path = tmp_path / "log"
    path.write_bytes(b"x")
    tmp_path.chmod(0o500)
    try:
        if os.getuid():
            with pytest.raises(OSError, match="Permission"):
                pack(path)
            assert path.read_bytes() == b"x"
    finally:
        tmp_path.chmod(0o700)


def test_the_middle_goes_while_the_writer_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as writer:
        for number in range(12):
            writer.write(b"".join(b"%08d %0150d\n" % (number, part) for part in range(8_000)))
        # While a file system writes a span out, what it says of a file's blocks may lack that span for a moment.
        os.fsync(writer.fileno())
        size = path.stat().st_size
        try:
            released = release(path, 8 * MIB)
        except NotReleasableError:
            pytest.skip("this file system cannot give a part of a file back")
        writer.write(b"the writer noticed nothing\n")
        os.fsync(writer.fileno())
    assert released >= size - 8 * MIB
    assert path.stat().st_size == size + 27
    assert path.stat().st_blocks * 512 <= 8 * MIB
    with FileSource(path) as source:
        lines = list(iterate(source))
        assert lines[0].data.split() == [b"0" * 8, b"0" * 150]
        assert lines[-1].data == b"the writer noticed nothing"
        gone = [line for line in lines if line.discarded]
        assert len(gone) == 1, "one marker where lines were given back"
    assert release(path, 8 * MIB) == 0


def test_an_index_made_before_still_leads_somewhere(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"%079d\n" % number for number in range(200_000)))
    with FileSource(path) as source:
        index = LineIndex(source)
        while not index.extend():
            continue
        try:
            release(path, 4 * MIB)
        except NotReleasableError:
            pytest.skip("this file system cannot give a part of a file back")
        assert source.read(index.offset_of(199_999) + 72, 8) == b"0199999\n"
        assert index.line_at(source.size() - 1) == 199_999
        middle = index.offset_of(70_000)
        assert next(iterate(source, middle)).discarded, "what was line 70 000 is in the hole"


def test_how_full_a_disk_is(tmp_path: Path) -> None:
    share = used_share(tmp_path)
    assert share is not None
    assert 0 <= share <= 1
    assert used_share(tmp_path / "missing") is None
