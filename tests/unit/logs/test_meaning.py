"""Ranks, times and severity of lines, on logs of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.logs.ranks import merged, of_rank, split_rank
from accel_tui.logs.severity import ErrorFilter, Severity, severity_of
from accel_tui.logs.times import moment_of, offset_at, read_times
from accel_tui.model.errors import UsageError
from accel_tui.model.times import time_text
from accel_tui.text import sanitise

DATA = Path(__file__).parents[2] / "data" / "logs"


def lines(name: str) -> list[str]:
    return [sanitise(line) for line in (DATA / name).read_bytes().split(b"\n")]


@pytest.mark.parametrize(
    ("line", "rank", "text"),
    [
        ("[default1]:loss", 1, "loss"),
        ("[default1]:[rank9]: Traceback", 9, "Traceback"),
        ("[rank0]:   File x", 0, "  File x"),
        ("[rank1]:[rank1]: RuntimeError: no", 1, "RuntimeError: no"),
        ("[rank1]:[rank2]: odd", 1, "[rank2]: odd"),
        ("[rank12]:[W1130 11:46:04 x] y", 12, "[W1130 11:46:04 x] y"),
        ("[rank 3] text", 3, "text"),
        ("[default]:x", None, "[default]:x"),
        ("[ranked1]: x", None, "[ranked1]: x"),
        ("plain", None, "plain"),
        ("", None, ""),
    ],
)
def test_rank_prefixes(line: str, rank: int | None, text: str) -> None:
    assert split_rank(line) == (rank, text)
    assert merged(line) == (line if rank is None else f"[rank {rank}] {text}")
    assert of_rank(line, rank or 0) == text
    assert of_rank(line, 77) is None


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("Traceback (most recent call last):", Severity.ERROR),
        ("[default1]:[rank1]: RuntimeError: simulated", Severity.ERROR),
        ("[rank1]:[rank1]: RuntimeError: simulated", Severity.ERROR),
        ("torch.OutOfMemoryError: XPU out of memory.", Severity.ERROR),
        ("KeyboardInterrupt", Severity.ERROR),
        ("2026-11-30 12:00:00,1 - trainer - ERROR - no", Severity.ERROR),
        ("ERROR:    [Errno 98] address already in use", Severity.ERROR),
        ("E1130 11:49:35.817000 17786 torch/distributed] failed (exitcode: 1)", Severity.ERROR),
        ("[rank0]:[E1130 11:46:04.9 ProcessGroup.cpp:1] Watchdog", Severity.ERROR),
        ("HCCL_ERROR: hcclSystemError", Severity.ERROR),
        ("2026:11:30-12:00:00:(1) |CCL_ERROR| exec.cpp:1", Severity.ERROR),
        ("oneCCL: allreduce failed", Severity.ERROR),
        ("Native API failed: UR_RESULT_ERROR_DEVICE_LOST", Severity.ERROR),
        ("ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", Severity.ERROR),
        ("synStatus 26 [Generic failure]", Severity.ERROR),
        ("Segmentation fault (core dumped)", Severity.ERROR),
        ("Killed", Severity.ERROR),
        ("[ 8123.456789] xe 0000:03:00.0: [drm] *ERROR* GT0: Engine reset failed", Severity.ERROR),
        ("[ 8123.456789] python[4242]: segfault at 0 ip 00007f", Severity.ERROR),
        ("[ 8123.456789] BUG: unable to handle page fault", Severity.ERROR),
        ("Nov 30 12:00:00 gaudi-07 kernel: habanalabs hl0: Command submission failed", Severity.ERROR),
        ("[ 8123.456789] habanalabs hl0: wait timed out", Severity.WARNING),
        ("[ 8123.456789] oom-kill:constraint=CONSTRAINT_NONE,task=python", Severity.ERROR),
        ("<3>habanalabs hl0: lost", Severity.ERROR),
        ("<4>habanalabs hl0: hot", Severity.WARNING),
        ("<6>habanalabs hl0: fine", None),
        ("[ 8123.456789] xe 0000:03:00.0: enabled", None),
        ("[rank1]:[E1130 11:46:04.901 ProcessGroupHCCL.cpp:1] [Rank 1] Watchdog caught", Severity.ERROR),
        ("/x.py:3: UserWarning: old", Severity.WARNING),
        ("WARNING:root:old", Severity.WARNING),
        ("W1130 11:43:08.263000 10391 torch/distributed] Received 15", Severity.WARNING),
        ("{'loss': 1.0, 'errors': 0}", None),
        ("error rate 0.1", None),
        ("no errors found", None),
        ("INFO:     Started server process [1]", None),
        ("", None),
    ],
)
def test_severity_of_single_lines(line: str, severity: Severity | None) -> None:
    assert severity_of(line) is severity


def test_errors_of_a_real_launch_are_whole_tracebacks_of_each_rank() -> None:
    keep = ErrorFilter()
    kept = [line for line in lines("torchrun_python_exception_tee3.log") if keep.takes(line)]
    text = "\n".join(kept)
    assert "simulated out of memory on rank 1" in text
    assert '[default1]:[rank1]:   File "/home/user/run/boom.py", line 3' in text
    assert "Root Cause (first observed failure):" in text


@pytest.mark.parametrize(
    "name", ["torchrun_tee_stdout_2rank.log", "trainer_stderr_single_raw_cr.log", "transformers_serve_stderr.log"]
)
def test_logs_of_good_runs_have_no_errors(name: str) -> None:
    keep = ErrorFilter()
    assert [line for line in lines(name) if keep.takes(line)] == []


def test_traceback_ends_with_the_line_that_names_the_exception() -> None:
    keep = ErrorFilter()
    given = [*lines("trainer_bf16_without_use_cpu_error.log"), "{'loss': 1}"]
    kept = [line for line in given if keep.takes(line)]
    assert kept[0].startswith("Traceback")
    assert kept[-1].startswith("ValueError: Your setup")


def test_rule_without_a_failure_is_no_summary() -> None:
    keep = ErrorFilter()
    assert [line for line in ("=" * 40, "Results", "=" * 40, "text") if keep.takes(line)] == []


def test_times_give_the_place_for_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "log.times"
    assert read_times(path) == []
    path.write_bytes(b"100.5 10\n101.5 20\nnonsense\n99 5\nnan 7\n102.5 30\n103")
    entries = read_times(path)
    assert entries == [(100.5, 10), (101.5, 20), (102.5, 30)]
    assert [offset_at(entries, moment) for moment in (0, 100.5, 102, 1e9)] == [0, 10, 20, 30]
    assert offset_at([], 5) == 0


def test_moments_as_people_write_them() -> None:
    assert moment_of("10m", 1000.0) == 400.0
    assert moment_of("1h 30m", 10_000.0) == 4600.0
    assert time_text(moment_of("2026-11-30T12:00:00Z", 0)) == "2026-11-30T12:00:00.000Z"
    assert moment_of("2026-11-30 12:00:00+00:00", 0) == moment_of("2026-11-30T12:00:00Z", 0)
    for text in ("", "soon", "5", "10 parsecs", "2026-11-30T12:00:00"):
        with pytest.raises(UsageError, match="is no time"):
            moment_of(text, 0)
