"""Run by tests in a mount namespace of its own: jobs on a full disk, and where the kernel counts kills for memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.keeping import KeptRun, python
from support.namespaces import mount

FILL = """
import os
fd = os.open("filler", os.O_WRONLY | os.O_CREAT)
try:
    while True: os.write(fd, b"x" * 65536)
except OSError: pass
try:
    while True: os.write(fd, b"x")
except OSError: pass
while True:
    print("y" * 4000, flush=True)
"""

# What the kernel does when the memory is used up: it counts, and kills without a word.
USE_UP = """
import os, signal, sys
with open(sys.argv[1], "w") as file:
    file.write("under_oom 0\\noom_kill 3\\n")
os.kill(os.getpid(), signal.SIGKILL)
"""


def full_disk(folder: Path) -> dict[str, Any]:
    mount(folder, "1m")
    run = KeptRun(folder, python(FILL), cwd=folder)
    assert run.start()["started"]
    return run.ended()


def limit_on_full_disk(folder: Path) -> dict[str, Any]:
    """Neither the request nor the state nor a remark can be written: the limit holds all the same."""
    mount(folder, "1m")
    run = KeptRun(folder, python(FILL.rpartition("while")[0] + "import time; time.sleep(600)"), cwd=folder)
    assert run.start(time_limit=1)["started"]
    return run.ended()


def no_room(folder: Path) -> dict[str, Any]:
    """The disk is full before the start."""
    mount(folder, "64k")
    run = KeptRun(folder, ["true"], cwd=folder)
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return run.start()


def out_of_memory(folder: Path) -> dict[str, Any]:
    mount(Path("/sys/fs/cgroup"), "1m")
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    old = [path for _, controllers, path in lines if "memory" in controllers.split(",")]
    new = [path for _, controllers, path in lines if not controllers]
    place = f"memory{old[0]}" if old else new[0].lstrip("/")
    counter = Path("/sys/fs/cgroup", place, "memory.oom_control" if old else "memory.events")
    counter.parent.mkdir(parents=True, exist_ok=True)
    counter.write_text("under_oom 0\noom_kill 2\n")
    run = KeptRun(folder, python(USE_UP, str(counter)))
    assert run.start()["started"]
    return run.ended()


SCENES = {"full-disk": full_disk, "limit": limit_on_full_disk, "no-room": no_room, "out-of-memory": out_of_memory}

if __name__ == "__main__":
    print(json.dumps(SCENES[sys.argv[1]](Path(sys.argv[2]))))
