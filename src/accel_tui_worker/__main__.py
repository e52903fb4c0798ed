"""Sub-commands of the worker: `run`, `tiny-model`, `facts`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    """Run one sub-command and return its exit code; imports nothing that the sub-command does not need."""
    options = _parser().parse_args(argv)
    if options.verb == "facts":
        from accel_tui_worker.facts import facts

        print(json.dumps(facts(deep=options.deep, training=options.training)))
        return 0
    if options.verb == "tiny-model":
        from accel_tui_worker.errors import WorkerError
        from accel_tui_worker.tiny import make

        try:
            make(options.dest)
        except WorkerError as error:
            print(error, file=sys.stderr)
            return 3
        return 0
    from accel_tui_worker.run import run

    return run(options.folder, options.device)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="accel_tui_worker", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run the job of a run folder as one rank")
    # Not --run: torchrun takes that for an abbreviation of its own --run-path, also behind the module's name.
    run.add_argument("--folder", type=Path, required=True, metavar="FOLDER", help="the run folder")
    run.add_argument("--device", required=True, help="torch device type: cpu, xpu, hpu")
    tiny = verbs.add_parser("tiny-model", help="make a tiny real model and a text to train it on, offline")
    tiny.add_argument("dest", type=Path, metavar="DEST")
    facts = verbs.add_parser("facts", help="print one JSON object about this interpreter's torch stack")
    facts.add_argument("--deep", action="store_true", help="import torch and count devices")
    facts.add_argument("--training", action="store_true", help="also ask where a Trainer would work")
    return parser


if __name__ == "__main__":
    sys.exit(main())
