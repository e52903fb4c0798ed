"""The planned command lines under the real launchers: ranks, prefixes, and no word from the user's own defaults."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from accel_tui.config.settings import Settings
from accel_tui.jobs.facts import facts
from accel_tui.jobs.planning import environment_for, plan
from accel_tui.jobs.spec import parse_job
from support import hosts

pytestmark = pytest.mark.torch

SCRIPT = """\
import os, sys
names = ("RANK", "WORLD_SIZE", "OMP_NUM_THREADS", "ACCELERATE_USE_CPU", "ACCELERATE_MIXED_PRECISION")
print("told", *(os.environ.get(name) for name in names), *map(repr, sys.argv[1:]))
"""
# What `accelerate config` may have left behind: all of it would change the run.
DEFAULTS = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: bf16
use_cpu: false
num_processes: 5
num_machines: 1
gpu_ids: '3,4'
main_process_port: 1
debug: true
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def told(folder: Path, python: str, launcher: str, processes: int, argv: list[str]) -> list[str]:
    """What the ranks print, in order; each line is cleared of what stands before `told`, which must be its rank."""
    (folder / "script.py").write_text(SCRIPT)
    cache = folder / "cache" / "accelerate"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "default_config.yaml").write_text(DEFAULTS)
    base = {**os.environ, "HF_HOME": str(folder / "cache")}
    job = parse_job({"name": "x", "kind": "command", "command": {"argv": argv},
                     "launch": {"python": python, "launcher": launcher, "processes": processes}})  # fmt: skip
    made = plan(job, select="cpu", inventory=hosts.inventory(), base=base, cwd=str(folder), folder=str(folder / "run"),
                identifier="20260131-124107-abcd", settings=Settings(), port=free_port())  # fmt: skip
    (folder / "run").mkdir(exist_ok=True)
    environment = environment_for(made, base, {})
    done = subprocess.run(made.argv, env=environment, cwd=made.cwd, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "told" in line)
    for line in lines:
        prefix, _, rest = line.partition("told ")
        assert prefix in ("", f"[rank{rest[0]}]:")
    return [line.partition("told ")[2] for line in lines]


def test_torchrun_starts_the_ranks_of_a_script(torch_python: str, tmp_path: Path) -> None:
    lines = told(tmp_path, torch_python, "torchrun", 2, ["script.py", "--role=mine", "a b", ""])
    assert lines == [f"{rank} 2 8 true None '--role=mine' 'a b' ''" for rank in (0, 1)]
    assert len(list((tmp_path / "run" / "ranks").rglob("stdout.log"))) == 2


def test_torchrun_starts_a_program_that_is_no_python(torch_python: str, tmp_path: Path) -> None:
    lines = told(tmp_path, torch_python, "torchrun", 2, ["sh", "-c", 'echo "told $RANK $WORLD_SIZE"'])
    assert lines == ["0 2", "1 2"]


def test_accelerate_takes_nothing_from_the_users_defaults(torch_python: str, tmp_path: Path) -> None:
    lines = told(tmp_path, torch_python, "accelerate", 2, ["script.py", "--num_processes=7"])
    assert lines == [f"{rank} 2 8 true no '--num_processes=7'" for rank in (0, 1)]


def test_accelerate_starts_one_process_on_the_cpu(torch_python: str, tmp_path: Path) -> None:
    assert told(tmp_path, torch_python, "accelerate", 1, ["script.py"]) == ["None None 16 True no"]


def test_the_stack_of_an_interpreter_is_told(torch_python: str) -> None:
    answer = facts(torch_python, dict(os.environ))
    assert answer.fault is None
    assert all(answer.version(name) for name in ("torch", "transformers", "accelerate"))
