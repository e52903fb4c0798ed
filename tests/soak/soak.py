"""Random submits, stops and kills of our own processes for a while; then an oracle looks at what is left.

    python tests/soak/soak.py [--seconds 1800] [--seed N]

Ends with 1 where a run was lost, was run twice, ended otherwise than it can have, shared a card, or where a process or
a held lock is left. The last lines are the figures. A run whose keeper was killed may be lost by its exit code alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "src"), str(Path(__file__).resolve().parents[1])]

from accel_tui.keeper import locks, processes  # noqa: E402 - run as a script, it finds its parts first
from accel_tui.model.errors import AccelError  # noqa: E402
from accel_tui.model.runs import Cause, Run, RunResult, RunState  # noqa: E402
from accel_tui.store.identifiers import new_id  # noqa: E402
from support import world  # noqa: E402
from support.supervising import Site  # noqa: E402

JOB = """
echo "$$" >>"$LEDGER/$ACCEL_TUI_RUN"
for card in $CARDS; do
  exec 9>"$LEDGER/card-$card"; flock -n 9 || echo "card $card, run $ACCEL_TUI_RUN" >>"$LEDGER/violations"
done
sleep "$1" & wait $!
exit "$2"
"""
"""Writes down that it began, takes its card as a program would, and ends as it is told."""

MOST_LIVE = 40


@dataclass
class Wish:
    """What was asked for."""

    code: int
    acknowledged: bool = False
    stopped: bool = False
    after: str | None = None


@dataclass
class Soak:
    """One run of it."""

    here: Site
    ledger: Path
    dice: random.Random
    wishes: dict[str, Wish] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    keepers_killed: bool = False

    def play(self, seconds: float) -> None:
        """Do this and that until the time is over."""
        end = time.monotonic() + seconds
        acts: list[tuple[int, Callable[[], None]]] = [
            (50, self.submit), (12, self.stop), (6, self.hold_and_release), (4, self.move),
            (3, self.kill_supervisor), (4, self.kill_keeper), (4, self.kill_main), (1, self.kill_nursery),
            (1, self.kill_everything),
        ]  # fmt: skip
        while time.monotonic() < end:
            (act,) = self.dice.choices([act for _, act in acts], [weight for weight, _ in acts])
            with contextlib.suppress(AccelError):  # what is refused, or not answered, changes nothing that is promised
                act()
                self.done[act.__name__] += 1
            time.sleep(self.dice.uniform(0, 0.1))

    def live(self) -> list[Run]:
        return [run for run in self.here.client.runs() if run.state is not RunState.FINISHED]

    def one(self, *states: RunState) -> Run | None:
        found = [run for run in self.live() if run.state in states]
        return self.dice.choice(found) if found else None

    def submit(self) -> None:
        if len(self.live()) >= MOST_LIVE:
            return
        code = self.dice.choice([0, 0, 0, 3])
        cards = self.dice.sample(range(8), self.dice.choice([0, 1, 1, 2]))
        after = self.dice.choice([*self.wishes, None]) if self.wishes and self.dice.random() < 0.1 else None
        identifier = new_id()
        wish = self.wishes[identifier] = Wish(code, after=after)
        variables = {"LEDGER": str(self.ledger), "CARDS": " ".join(map(str, cards))}
        submission = self.here.submission(
            ["sh", "-c", JOB, "job", f"{self.dice.uniform(0, 1.5):.2f}", str(code)],
            f"gaudi:{','.join(map(str, sorted(cards)))}" if cards else "none",
            variables=variables, yes=True, id=identifier,
            after=((after, "any"),) if after is not None and self.wishes[after].acknowledged else (),
        )  # fmt: skip
        self.here.client.submit(submission)
        wish.acknowledged = True

    def stop(self) -> None:
        run = self.one(RunState.QUEUED, RunState.RUNNING, RunState.STOPPING)
        if run is not None:
            self.wishes[run.id].stopped = True
            self.here.client.stop(run.id, now=self.dice.random() < 0.5)

    def hold_and_release(self) -> None:
        run = self.one(RunState.QUEUED)
        if run is not None:
            self.here.client.hold(run.id)
            self.here.client.release(run.id)

    def move(self) -> None:
        run = self.one(RunState.QUEUED)
        if run is not None:
            self.here.client.move(run.id)

    def kill_supervisor(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.here.pid(), signal.SIGKILL)

    def kill_nursery(self) -> None:
        for pid in world.tagged_processes(os.environ[world.TAG]):
            if b"keeper.nursery" in command(pid) and processes.ancestry(pid) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_part(self, part: str) -> None:
        run = self.one(RunState.RUNNING)
        if run is None:
            return
        with contextlib.suppress(OSError, ValueError, TypeError):
            pid, start = json.loads((Path(run.folder) / "state.json").read_bytes())[part]
            processes.signal_exact(pid, start, signal.SIGKILL)

    def kill_keeper(self) -> None:
        self.keepers_killed = True
        self._kill_part("keeper")

    def kill_main(self) -> None:
        self._kill_part("main")

    def kill_everything(self) -> None:
        """All of ours at once; what the jobs are goes on."""
        self.keepers_killed = True
        for pid in world.tagged_processes(os.environ[world.TAG]):
            if b"accel_tui" in command(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def settle(self) -> None:
        """Wait until everything is over."""
        end = time.monotonic() + 300
        while True:
            with contextlib.suppress(AccelError):
                for run in self.live():
                    if run.held:
                        self.here.client.release(run.id)
                if not self.live():
                    return
            if time.monotonic() > end:
                return
            time.sleep(0.2)

    def faults(self) -> list[str]:
        """What must not be."""
        runs = {run.id: run for run in self.here.client.runs(everything=True)}
        found = [f"run {one} is lost" for one, wish in self.wishes.items() if wish.acknowledged and one not in runs]
        for identifier, run in runs.items():
            begun = self.begun(identifier)
            wish = self.wishes[identifier]
            self.done[f"result {run.result.value if run.result else run.state.value}"] += 1
            if begun > 1:
                found.append(f"run {identifier} was begun {begun} times")
            if not possible(run, wish, begun, keepers_killed=self.keepers_killed):
                found.append(f"run {identifier} cannot have ended like that: {run}, begun {begun}, {wish}")
        violations = self.ledger / "violations"
        if violations.exists():
            found += [f"two holders: {line}" for line in violations.read_text().splitlines()]
        return found

    def begun(self, identifier: str) -> int:
        path = self.ledger / identifier
        return len(path.read_text().split()) if path.exists() else 0

    def left(self) -> list[str]:
        """Processes, held locks and claims that are there although nothing runs."""
        folder = self.here.state / "locks"
        found = [f"claim {path.name}" for path in folder.glob("*.wait")]
        found += [f"lock {path.name} is held" for path in folder.glob("*.lock") if locks.held(str(path))]
        return found + [f"process: {line}" for line in world.end_leftovers(os.environ[world.TAG])]


def possible(run: Run, wish: Wish, begun: int, *, keepers_killed: bool) -> bool:
    """Whether a run that was asked for like this can have ended like that."""
    if run.state is not RunState.FINISHED:
        return False
    if run.result is RunResult.STOPPED:
        return wish.stopped
    if run.result is RunResult.LOST:
        return keepers_killed and run.cause is Cause.KEEPER_LOST
    if run.result is RunResult.SUCCEEDED:
        return wish.code == 0 and begun == 1
    if run.result is RunResult.FAILED:
        return begun == 1 and (run.exit_code == wish.code != 0 or run.signal == "SIGKILL" or wish.stopped)
    return False


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def soak(folder: Path, seconds: float, seed: int) -> tuple[list[str], Counter[str]]:
    """Faults, and how often what was done."""
    ledger = folder / "ledger"
    ledger.mkdir()
    played = Soak(Site(folder / "state", "gaudi3"), ledger, random.Random(seed))
    try:
        played.play(seconds)
        played.settle()
        faults = played.faults()
    finally:
        played.here.close()
    return faults + played.left(), played.done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800, help="how long things are done")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="the same again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        os.environ.update(world.variables(folder, uuid.uuid4().hex))
        (folder / "home").mkdir()
        begin = time.monotonic()
        faults, done = soak(folder, arguments.seconds, arguments.seed)
    print(f"seed {arguments.seed}, {time.monotonic() - begin:.0f} s: " + ", ".join(f"{v} {k}" for k, v in done.items()))
    print("\n".join(faults) if faults else "nothing lost, nothing twice, nothing left")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
