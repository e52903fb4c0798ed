"""Runs with logs on the disk: one in training, one that failed. Invented, with fixed times."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from accel_tui.model.runs import Diagnosis, Progress, Run
from support.scene import NOW, runs


class Written:
    """A run whose folder is real."""

    def __init__(self, base: Path, template: Run) -> None:
        folder = base / "runs" / template.id
        folder.mkdir(parents=True)
        self.run = replace(template, folder=str(folder))
        self.log, self.times = folder / "log", folder / "log.times"

    def write(self, text: str | bytes, seconds_ago: float = 0.0) -> None:
        """Append to the log, and note the time as the keeper does."""
        with self.log.open("ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        with self.times.open("a") as file:
            file.write(f"{NOW - seconds_ago:.3f} {self.log.stat().st_size}\n")


def step(number: int) -> str:
    loss = 1.283 - number / 4000
    return f"{{'loss': {loss:.3f}, 'grad_norm': 0.8, 'learning_rate': 1.8e-05, 'epoch': {number / 500:.3f}}}\n"


def training(base: Path) -> Written:
    """A run in training, with a warning of rank 3."""
    written = Written(base, runs()[0])
    for number in range(40):
        written.write(f"[rank{number % 4}]: {step(number)}", 400 - number * 4)
    written.write("[rank3]: WARNING torch.utils.data: worker 2 was 1.8 s late with a batch\n", 200)
    for number in range(40, 80):
        written.write(f"[rank{number % 4}]: {step(number)}", 190 - number * 2)
    return written


def failure(base: Path) -> Written:
    """A run of four ranks of which one ran out of memory."""
    memory = Diagnosis(
        "out-of-device-memory", "The card ran out of memory.", "halve the batch and double the accumulation", 2, 84
    )
    template = replace(runs()[4], diagnosis=memory, progress=Progress(step=118, total=1500, loss=2.091))
    written = Written(base, template)
    for number in range(80):
        written.write(f"[rank0]: {step(number)}", 2300 - number)
    written.write("[rank1]: WARNING grad_norm of layer 31 is 48.2, clipped to 1.0\n", 2100)
    written.write("[rank0]: \rTraining:   1%|          | 16/1500\rTraining:   8%|8         | 118/1500\n", 2090)
    written.write("[rank2]: Traceback (most recent call last):\n", 2040)
    written.write('[rank2]:   File "train.py", line 212, in main\n[rank2]:     trainer.train()\n', 2040)
    written.write("[rank2]: RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed\n", 2040)
    written.write("[launcher] sent SIGTERM to 3 processes, all ended in 0.9 s\n", 2036)
    written.write("ChildFailedError: train.py FAILED, root cause rank 2, Allocation failed\n", 2036)
    return written


def tell_ranks(folder: Path, *, stopping: bool) -> None:
    """Four ranks in training; or told to stop, of which the first still saves."""
    events = folder / "events"
    events.mkdir()
    for rank in range(4):
        told = [{"event": "phase", "phase": "training"}, {"event": "checkpoint", "step": 800}]
        if stopping:
            told.append({"event": "result", "ok": False, "stopped": True} if rank else _SAVING)
        (events / f"rank-{rank}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in told))


_SAVING = {"event": "phase", "phase": "saving"}
