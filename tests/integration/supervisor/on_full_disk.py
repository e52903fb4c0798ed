"""Run by a test in a mount namespace of its own: a state folder whose disk gets full while runs live and wait."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accel_tui.model.errors import AccelError
from accel_tui.model.runs import Run, RunState
from support.namespaces import mount
from support.supervising import Site, site
from support.waiting import wait_for


def refused(ask: Callable[[], object]) -> dict[str, Any]:
    """The error of a request that cannot be done."""
    try:
        ask()
    except AccelError as error:
        return {**error.to_json(), "exit": int(error.exit_code)}
    return {}


def short(run: Run) -> list[Any]:
    return [run.state.value, run.result and run.result.value, run.exit_code, run.signal, run.cause and run.cause.value]


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return


def scene(here: Site, disk: Path) -> dict[str, Any]:
    gate = disk / "gate"
    gate.mkdir()  # removing it is the signal: that needs no room
    ending = here.submit(["sh", "-c", f"while test -e {gate}; do sleep 0.05; done; exit 3"])
    asked, killed = here.submit(["sleep", "600"]), here.submit(["sleep", "600"])
    first = here.submit(["sleep", "600"], "cpu")
    queued, waiting = here.submit(["true"], "cpu"), here.submit(["true"], "cpu")
    for identifier in (ending, asked, killed, first):
        here.reach(identifier, RunState.RUNNING)
    before = sorted(path.name for path in (here.state / "runs").iterdir())
    fill(disk / "filler")
    told: dict[str, Any] = {
        "submit": refused(lambda: here.submit(["true"])),
        "hold": refused(lambda: here.client.hold(waiting)),
        "held": here.client.run(waiting).held,
        "move": refused(lambda: here.client.move(waiting)),
    }
    here.client.stop(asked)
    here.client.stop(killed, now=True)
    here.client.stop(queued)
    gate.rmdir()
    told["ended"] = [short(here.finished(identifier)) for identifier in (ending, asked, killed, queued)]
    here.client.stop(first)  # now the last one would start
    here.finished(first)
    told["waits"] = here.when(waiting, lambda run: run.waiting_for).waiting_for
    here.kill()
    told["again"] = [short(here.client.run(identifier)) for identifier in (ending, asked, killed, queued)]
    told["left"] = sorted(path.name for path in (here.state / "runs").iterdir()) == before
    (disk / "filler").unlink()
    told["at last"] = short(here.finished(waiting))
    told["retried"] = retried(here, disk)
    told["temporary"] = [str(path) for path in here.state.rglob("*.tmp")]
    told["reports"] = (here.state / "reports").exists()
    return told


def retried(here: Site, disk: Path) -> list[Any]:
    """The second attempt of a run whose first one ended while there was no room to queue another."""
    gate = disk / "gate"
    gate.mkdir()
    first = here.submit(["sh", "-c", f"while test -e {gate}; do sleep 0.05; done; exit 3"], launch={"retries": 1})
    here.reach(first, RunState.RUNNING)
    fill(disk / "filler")
    gate.rmdir()
    here.when(first, lambda run: run.state is RunState.FINISHED)
    (disk / "filler").unlink()
    second = wait_for(
        lambda: [run for run in here.client.runs(everything=True) if run.retry_of == first], what="the second attempt"
    )[0]
    return [*short(here.finished(second.id)), second.attempt]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    mount(folder, "4m")
    with site(folder / "state", ACCEL_TUI_MINIMUM_FREE_BYTES="0") as opened:
        print(json.dumps(scene(opened, folder)))
