"""Logs do not fill the disk: the middle of a long one goes under its writer, old ones are compressed and removed."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from accel_tui.logs.packed import PackedSource
from accel_tui.logs.upkeep import NotReleasableError, release
from accel_tui.model.runs import RunResult
from support.command_line import CommandLine
from support.supervising import site
from support.waiting import wait_for

MIB = 1024 * 1024
WRITER = """
import os, sys, time
line = b"x" * 99 + b"\\n"
print("the beginning", flush=True)
for _ in range(24):
    os.write(1, line * 10_000)
path = sys.argv[1]
while not os.path.exists(path):
    time.sleep(0.02)
print("the end", flush=True)
"""


def test_the_middle_of_a_long_log_is_given_back_while_the_job_goes_on(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(range(256)) * 16 * 1024)
    try:
        release(probe, MIB)
    except NotReleasableError:
        pytest.skip("this file system cannot give a part of a file back")
    go = tmp_path / "go"
    with site(tmp_path / "base", ACCEL_TUI_LOG_CAP_BYTES=str(8 * MIB)) as place:
        identifier = place.submit([sys.executable, "-c", WRITER, str(go)])
        log = Path(place.new_client().run(identifier).folder) / "log"
        wait_for(lambda: log.exists() and log.stat().st_size > 20 * MIB, what="the long log")
        wait_for(lambda: log.stat().st_blocks * 512 <= 8 * MIB, what="the log to be capped")
        go.touch()
        run = place.finished(identifier)
        assert run.result is RunResult.SUCCEEDED
        data = place.new_client().log(identifier, log.stat().st_size - 8)
        assert data == b"the end\n"
        assert log.read_bytes()[:14] == b"the beginning\n"


@pytest.mark.slow
def test_old_logs_are_compressed_and_read_as_before_and_removed_later(tmp_path: Path) -> None:
    base = tmp_path / "base"
    with site(base) as place:
        identifier = place.submit([sys.executable, "-c", "for n in range(20_000): print('line', n)"])
        folder = Path(place.finished(identifier).folder)
    whole = (folder / "log").read_bytes()
    with site(base, ACCEL_TUI_LOG_COMPRESS_DAYS="0.0000001") as place:
        place.new_client().hello()
        wait_for((folder / "log.gz").exists, what="the packed log")
        wait_for(lambda: not (folder / "log").exists(), what="the plain log to go")
        client = place.new_client()
        assert client.log(identifier) == whole
        assert client.log(identifier, 10, 30) == whole[10:30]
        line = CommandLine("--state-dir", str(base))
        shown = line("logs", identifier, "--grep", "line 1999.$", environment=place.environment).expect(0)
        assert shown.out.splitlines() == [f"line {number}" for number in range(19_990, 20_000)]
    assert gzip.decompress((folder / "log.gz").read_bytes()) == whole
    with PackedSource(folder / "log.gz") as source:
        assert source.size() == len(whole)
    with site(base, ACCEL_TUI_LOG_REMOVE_DAYS="0.0000001") as place:
        place.new_client().hello()
        wait_for(lambda: not (folder / "log.gz").exists(), what="the old log to go")
        assert place.new_client().run(identifier).result is RunResult.SUCCEEDED, "the record stays"
