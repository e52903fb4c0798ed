"""The small world of one test: its own folders, none of the developer's settings, and no process left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from support.waiting import wait_for

SOURCE = Path(__file__).resolve().parents[2] / "src"
TAG = "ACCEL_TUI_TEST_WORLD"

# Whatever starts so could change what a test sees: our own variables, vendors' masks, ranks, allocations, hubs, looks.
_LEAKS = (
    "ACCEL_TUI_", "HABANA", "HLS_", "PT_HPU", "ZE_", "ZES_", "ONEAPI_", "SYCL_", "CCL_", "HCCL_", "SLURM_", "PBS_",
    "LSB_", "KUBERNETES_", "TORCHELASTIC_", "ACCELERATE_", "HF_", "TRANSFORMERS_", "XDG_", "TEXTUAL_",
)  # fmt: skip
_LEAK_NAMES = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "NO_COLOR",
    "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "PYTHONWARNINGS", "PYTHONPATH", "PYTHONHOME", "container",
}  # fmt: skip
# What the person who runs the tests says to them.
_KEPT = ("ACCEL_TUI_TEST_PYTHON", "ACCEL_TUI_TEST_LOW_PYTHON")


def leaks(name: str) -> bool:
    """Whether a variable of this name must not reach a test."""
    return name not in _KEPT and (name.startswith(_LEAKS) or name in _LEAK_NAMES)


def variables(folder: Path, tag: str) -> dict[str, str]:
    """The variables of a test whose files lie below `folder`; processes that it starts carry `tag`."""
    return {
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "home/.local/state"),
        "XDG_CONFIG_HOME": str(folder / "home/.config"),
        "ACCEL_TUI_STATE_DIR": str(folder / "state"),
        "ACCEL_TUI_CONFIG_DIR": str(folder / "config"),
        "ACCEL_TUI_LOCK_DIR": str(folder / "locks"),
        "ACCEL_TUI_RETRY_SECONDS": "0",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(SOURCE),
        TAG: tag,
    }


def tagged_processes(tag: str) -> list[int]:
    """Processes other than this one that were started with the tag in their environment and still run."""
    mark = f"\0{TAG}={tag}\0".encode()
    return [pid for pid in _processes() if pid != os.getpid() and mark in b"\0" + _environment(pid) + b"\0"]


def end_leftovers(tag: str) -> list[str]:
    """End every process with the tag; returns the command lines of those that did not end by themselves soon."""
    try:
        wait_for(lambda: not tagged_processes(tag), seconds=5)
    except AssertionError:
        left = [(pid, _command(pid)) for pid in tagged_processes(tag)]
        for pid, _ in left:
            _kill(pid)
        wait_for(lambda: not tagged_processes(tag), seconds=10, what="the end of killed processes")
        return [f"{pid}: {command}" for pid, command in left]
    return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself after all


def _processes() -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            yield int(entry.name)


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()  # empty for a zombie: it holds nothing any more
    except OSError:
        return b""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "(ended)"
