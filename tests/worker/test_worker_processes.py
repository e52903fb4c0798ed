"""The worker as a process: ranks, signals, launchers, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accel_tui.keeper import processes
from accel_tui_worker import archive, checkpoints
from support import world
from support.waiting import wait_for
from support.working import MakeJob, WorkerProcess, events, make_run, of

pytestmark = pytest.mark.torch

FOREVER = 100_000


@pytest.mark.slow  # the whole product does the same in the default tier
def test_two_ranks_stop_at_the_same_step_and_are_resumed(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    """One long way: train, stop one rank, see both saved and torchrun content, go on from there."""
    output = tmp_path / "out"
    torchrun = {"launch": {"launcher": "torchrun", "processes": 2}}
    job = {**train_job(max_steps=FOREVER, save_steps=FOREVER, train={"output": str(output)}), **torchrun}
    first = WorkerProcess(torch_python, make_run(tmp_path / "first", job), ranks=2)
    first.wait_for_event("step", step=3)
    first.signal(signal.SIGTERM)
    assert first.end() == 0, first.log()
    saved = [of("checkpoint", first.folder, rank) for rank in (0, 1)]
    results = [events(first.folder, rank)[-1] for rank in (0, 1)]
    assert len(saved[0]) == len(saved[1]) == 1
    assert saved[0][0]["step"] == saved[1][0]["step"]
    assert all(result["event"] == "result" and result["ok"] and result["stopped"] for result in results)
    assert [of("signal", first.folder, rank) != [] for rank in (0, 1)] == [True, False]
    for rank in (0, 1):
        (device,) = of("device", first.folder, rank)
        assert (device["world"], device["backend"], device["wrapper"]) == (2, "gloo", "DistributedDataParallel")
        assert of("start", first.folder, rank)[0]["world"] == 2
    step = saved[0][0]["step"]
    assert checkpoints.flaw(output / f"checkpoint-{step}") is None
    assert (output / f"checkpoint-{step}/rng_state_1.pth").is_file()

    job = {**train_job(max_steps=step + 2, train={"resume_from": str(output)}), **torchrun}
    second = WorkerProcess(torch_python, make_run(tmp_path / "second", job), ranks=2)
    assert second.end() == 0, second.log()
    assert [event["step"] for event in of("step", second.folder)] == [step + 1, step + 2]
    assert not of("step", second.folder, 1), "figures come from rank 0 alone"
    assert [of("result", second.folder, rank)[0]["ok"] for rank in (0, 1)] == [True, True]


def test_a_failed_rank_tells_torchrun_why(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    job = {**train_job(data={"path": str(tmp_path / "none.txt")}), "launch": {"launcher": "torchrun"}}
    process = WorkerProcess(torch_python, make_run(tmp_path / "run", job), ranks=1)
    assert process.end() == 1
    assert "data.path" in process.log()
    assert "To enable traceback see" not in process.log()
    (error,) = of("error", process.folder)
    assert error["type"] == "BadInputError"
    assert "none.txt does not exist" in error["message"]
    assert events(process.folder)[-1]["ok"] is False


def test_the_archive_runs_a_job_from_a_path_with_spaces(
    tmp_path: Path, torch_python: str, generate_job: MakeJob
) -> None:
    folder = make_run(tmp_path / "a run folder", generate_job())
    (folder / "worker.pyz").write_bytes(archive.build())
    process = WorkerProcess(torch_python, folder, path=folder / "worker.pyz")
    assert process.end() == 0, process.log()
    (start,), (result,) = of("start", folder), of("result", folder)
    assert events(folder)[0] == start
    assert events(folder)[-1] == result
    assert start["kind"] == "generate"
    assert start["pid"] == process.process.pid
    assert start["start_time"] > 0
    assert start["versions"]["torch"]
    assert result["ok"] is True
    text = json.loads((folder / "artefacts/results.jsonl").read_text("utf-8"))["text"]
    assert text in process.log()


# What an impatient shell script leaves behind: both signals ignored in the children of a background job.
IGNORING = (
    "import os, signal, sys; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_training_ends_it_at_once(
    tmp_path: Path, torch_python: str, train_job: MakeJob, number: signal.Signals
) -> None:
    wrap = [sys.executable, "-c", IGNORING]
    process = WorkerProcess(torch_python, make_run(tmp_path, train_job(max_steps=FOREVER)), wrap=wrap)
    process.wait_for_event("phase", phase="importing")
    process.signal(number)
    assert process.end() == 128 + number, process.log()
    assert events(tmp_path)[-1].items() >= {"event": "result", "ok": False, "stopped": True}.items()
    assert of("signal", tmp_path)[0]["signal"] == number.name


LAUNCHER = """
import subprocess, sys
subprocess.Popen(sys.argv[1:])
sys.stdin.read()
"""


def _start_below(launcher: list[Any], folder: Path, python: str) -> None:
    """Start the worker as a child of `launcher`, and kill that one in mid-import."""
    argv = [*launcher, python, "-m", "accel_tui_worker", "run", "--folder", str(folder), "--device", "cpu"]
    with subprocess.Popen([str(part) for part in argv], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as parent:
        wait_for(lambda: of("phase", folder), what="the first phase")
        parent.kill()


def test_a_rank_does_not_outlive_its_launcher(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    job = {**train_job(max_steps=FOREVER), "launch": {"launcher": "torchrun"}}
    _start_below([sys.executable, "-c", LAUNCHER], make_run(tmp_path, job), torch_python)
    _wait_for_the_end(tmp_path)
    assert of("error", tmp_path)[0]["type"] == "LauncherDied"
    assert of("result", tmp_path)[0]["ok"] is False


def _wait_for_the_end(folder: Path, rank: int = 0) -> None:
    """Wait for the result of a rank that is no child of ours, and for its exit."""
    wait_for(lambda: of("result", folder, rank), seconds=90, what=f"the result of rank {rank}")
    start = of("start", folder, rank)[0]
    wait_for(lambda: not processes.alive(start["pid"], start["start_time"]), what=f"the exit of rank {rank}")


def test_a_worker_outlives_its_keeper(tmp_path: Path, torch_python: str, generate_job: MakeJob) -> None:
    _start_below([sys.executable, "-c", LAUNCHER], make_run(tmp_path, generate_job()), torch_python)
    _wait_for_the_end(tmp_path)
    assert of("result", tmp_path)[0]["ok"] is True


@pytest.mark.slow
def test_ranks_do_not_outlive_a_killed_torchrun(tmp_path: Path, torch_python: str, train_job: MakeJob) -> None:
    job = {**train_job(max_steps=FOREVER), "launch": {"launcher": "torchrun"}}
    process = WorkerProcess(torch_python, make_run(tmp_path, job), ranks=2)
    process.wait_for_event("step", step=2)
    process.process.kill()
    process.end()
    for rank in (0, 1):
        _wait_for_the_end(tmp_path, rank)
        assert of("error", tmp_path, rank)[0]["type"] == "LauncherDied"


@pytest.mark.parametrize(("job", "words"), [(None, "spec.json"), ({"kind": "nap"}, "kind 'nap'")])
def test_a_run_folder_without_a_job_still_gets_its_events(
    tmp_path: Path, job: dict[str, Any] | None, words: str
) -> None:
    if job is not None:
        make_run(tmp_path, job)
    argv = [sys.executable, "-m", "accel_tui_worker", "run", "--folder", str(tmp_path), "--device", "cpu"]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(world.SOURCE)}, capture_output=True, text=True)
    assert done.returncode == 3
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert [event["event"] for event in events(tmp_path)] == ["start", "error", "result"]
