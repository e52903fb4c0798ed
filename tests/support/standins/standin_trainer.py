"""A Python without torch that plays the worker: it answers what it has installed, and `trains` until it is stopped."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

PACKAGES = {"torch": "2.9.0", "transformers": "4.57.1", "accelerate": "1.11.0", "tokenizers": "0.22.1"}
STEP_SECONDS = 0.1


def main(arguments: list[str]) -> None:
    if arguments[:3] == ["-m", "accel_tui_worker", "facts"]:
        print(json.dumps({"schema": 1, "python": "3.11.9", "executable": sys.argv[0], "packages": PACKAGES}))
    else:
        train(Path(arguments[arguments.index("--folder") + 1]))


def train(folder: Path) -> None:
    """Steps with a falling loss, as events and in the log; SIGTERM has it save and end."""
    total = json.loads((folder / "spec.json").read_text())["job"]["train"]["arguments"]["max_steps"]
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    (folder / "events").mkdir(exist_ok=True)
    with (folder / "events/rank-0.jsonl").open("a", buffering=1) as file:

        def tell(event: str, **fields: Any) -> None:
            file.write(json.dumps({"t": time.time(), "rank": 0, "event": event, **fields}) + "\n")

        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        tell("start", pid=os.getpid(), start_time=started, world=1, kind="train", versions=PACKAGES)
        tell("phase", phase="training")
        for step in itertools.count(1):
            loss = 1 + 6 / step**0.5
            tell("step", step=step, total=total, eta_seconds=(total - step) * STEP_SECONDS)
            tell("log", step=step, loss=loss, learning_rate=1e-3, tokens_per_second=1000.0)
            print({"loss": f"{loss:.3f}", "step": step}, flush=True)
            if stop or step == total:
                break
            time.sleep(STEP_SECONDS)
        tell("phase", phase="saving")
        tell("checkpoint", step=step, folder=str(folder / "artefacts"))
        tell("result", ok=not stop, stopped=bool(stop), steps=step)


if __name__ == "__main__":
    main(sys.argv[1:])
