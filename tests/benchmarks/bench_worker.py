"""Training steps per second through the worker against the same plain Trainer script.

    PYTHONPATH=src python tests/benchmarks/bench_worker.py [--steps 300] [--rounds 4]

Needs the torch stack in the interpreter that runs it. Each training is a process of its own with one thread; the two
take turns and the best round of each counts. The bar is 0.99, by processor time: on a machine with other load the time
on the clock says little (both are printed). What the worker writes is part of its time; the kernel's share too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from support.figures import figure

BAR = 0.99

TIMED = """
import time
import transformers

original = transformers.Trainer.train

def train(self, *arguments, **options):
    clock, processor = time.perf_counter(), time.process_time()
    result = original(self, *arguments, **options)
    print("SECONDS", time.perf_counter() - clock, time.process_time() - processor, flush=True)
    return result

transformers.Trainer.train = train
"""

WORKER = """
import sys
from pathlib import Path
from accel_tui_worker.run import run

sys.exit(run(Path(sys.argv[1]), "cpu"))
"""

PLAIN = """
import json, sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

model_folder, output, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
tokenizer = AutoTokenizer.from_pretrained(model_folder)
ids = tokenizer(open(f"{model_folder}/train.txt", encoding="utf-8").read(), verbose=False)["input_ids"]
blocks = [torch.tensor(ids[start : start + 128]) for start in range(0, len(ids) - 127, 128)]
dataset = [{"input_ids": block, "labels": block} for block in blocks]
trainer = Trainer(
    model=AutoModelForCausalLM.from_pretrained(model_folder),
    args=TrainingArguments(output_dir=output, use_cpu=True, report_to="none", **arguments),
    train_dataset=dataset,
)
trainer.train()
"""

Seconds = tuple[float, float]
"""By the clock, and of the processor."""


def main() -> int:
    options = _options()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    arguments = {
        "max_steps": options.steps,
        "per_device_train_batch_size": 4,
        "logging_steps": 10,
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = folder / "model"
        _call(["-m", "accel_tui_worker", "tiny-model", str(model)], environment)
        rounds: dict[str, list[Seconds]] = {"plain": [], "worker": []}
        for number in range(options.rounds):
            rounds["plain"].append(_plain(folder, model, arguments, environment))
            rounds["worker"].append(_worker(folder / f"run-{number}", model, arguments, environment))
            print({name: values[-1] for name, values in rounds.items()}, file=sys.stderr, flush=True)
    clock, processor = ({name: min(pair[part] for pair in pairs) for name, pairs in rounds.items()} for part in (0, 1))
    ratio = processor["plain"] / processor["worker"]
    figures = {f"{name}_steps_per_second": round(options.steps / value, 2) for name, value in clock.items()}
    by_clock = round(clock["plain"] / clock["worker"], 4)
    more = ", ".join(f"{name} {value}" for name, value in {**figures, "ratio_by_clock": by_clock}.items())
    peer = f"{figures['plain_steps_per_second']} steps/s Trainer"
    figure("training through the worker, share of a plain script", ratio, "", bar=BAR, least=True, peer=peer, more=more)
    return 0 if ratio >= BAR else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=4)
    return parser.parse_args()


def _call(argv: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, *argv], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def _seconds(printed: str) -> Seconds:
    clock, processor = printed.rpartition("SECONDS")[2].split()[:2]
    return float(clock), float(processor)


def _plain(folder: Path, model: Path, arguments: dict[str, Any], environment: dict[str, str]) -> Seconds:
    argv = ["-c", TIMED + PLAIN, str(model), str(folder / "plain"), json.dumps(arguments)]
    return _seconds(_call(argv, environment))


def _worker(folder: Path, model: Path, arguments: dict[str, Any], environment: dict[str, str]) -> Seconds:
    data = {"path": str(model / "train.txt"), "block_size": 128, "eval_fraction": 0}
    job = {"kind": "train", "model": {"path": str(model)}, "data": data, "train": {"arguments": arguments}}
    folder.mkdir()
    (folder / "spec.json").write_text(json.dumps({"job": job}), "utf-8")
    return _seconds(_call(["-c", TIMED + WORKER, str(folder)], environment))


if __name__ == "__main__":
    sys.exit(main())
