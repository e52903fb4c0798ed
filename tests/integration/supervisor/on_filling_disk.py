"""Run by a test in a mount namespace of its own: logs that fill their disk, and one that nothing can be taken from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from accel_tui.logs.upkeep import CAP_NOTE, DISK_NOTE, DISK_QUESTION
from accel_tui.model.runs import RunState
from support.namespaces import mount
from support.supervising import site

MIB = 1024 * 1024
WRITER = """
import sys, time
for _ in range(int(sys.argv[1])):
    print("x" * (1024 * 1024 - 1), flush=True)
while True:
    print("goes on", flush=True)
    time.sleep(0.1)
"""


def filling(folder: Path) -> dict[str, object]:
    """The notes of the run that fills the disk and of one beside it, and where the disk has room again."""
    mount(folder, "32m")
    with site(folder / "state", ACCEL_TUI_MINIMUM_FREE_BYTES="0") as here:
        quiet = here.submit(["sleep", "600"])
        here.reach(quiet, RunState.RUNNING)
        writer = here.submit([sys.executable, "-c", WRITER, "31"])
        loud = here.when(writer, lambda run: any(DISK_QUESTION in note for note in run.notes))
        told: dict[str, object] = {"loud": list(loud.notes), "quiet": list(here.client.run(quiet).notes)}
        here.client.stop(writer, now=True)
        here.finished(writer)
        here.client.remove(writer)
        calm = here.when(quiet, lambda run: not any(note.startswith(DISK_NOTE) for note in run.notes))
        told["calm"] = list(calm.notes)
        return told


def uncapped(folder: Path) -> dict[str, object]:
    """The notes of a run whose log is longer than it may be, where no file system call gives any of it back."""
    subprocess.run(["mount", "-t", "ramfs", "none", str(folder)], check=True)
    with site(folder / "state", ACCEL_TUI_LOG_CAP_BYTES=str(8 * MIB), ACCEL_TUI_MINIMUM_FREE_BYTES="0") as here:
        writer = here.submit([sys.executable, "-c", WRITER, "12"])
        run = here.when(writer, lambda run: any(note.startswith(CAP_NOTE) for note in run.notes))
        log = Path(run.folder) / "log"
        told: dict[str, object] = {"notes": list(run.notes), "whole": log.read_bytes().count(b"x") >= 12 * (MIB - 1)}
        here.client.stop(writer, now=True)
        here.finished(writer)
        return told


if __name__ == "__main__":
    base = Path(sys.argv[1])
    for name in ("small", "rigid"):
        (base / name).mkdir()
    print(json.dumps({"filling": filling(base / "small"), "uncapped": uncapped(base / "rigid")}))
