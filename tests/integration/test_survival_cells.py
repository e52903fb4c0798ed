"""Cells of the survival matrix that need a terminal, a slow reader, or many hands at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from accel_tui.model.errors import AccelError, NotPossibleError
from accel_tui.model.runs import RunResult, RunState
from support.command_line import PROGRAM, CommandLine, changed
from support.supervising import Site, site
from support.terminal import Terminal
from support.waiting import wait_for

LISTENER = """
import signal, sys, time, pathlib
place = pathlib.Path(sys.argv[1])
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
    signal.signal(number, lambda got, frame: place.joinpath("got").open("a").write(f"{got}\\n"))
print("listening", flush=True)
while not place.joinpath("gate").exists():
    time.sleep(0.02)
"""
"""A job that writes down which signals of a terminal reach it."""

FLOOD = """
import sys, pathlib, time
gate = pathlib.Path(sys.argv[1])
line = "x" * 1023 + "\\n"
while not gate.exists():
    sys.stdout.write(line * 64)
    sys.stdout.flush()
    time.sleep(0.0625)
"""
"""One megabyte a second."""


def test_a_terminal_that_goes_away_is_not_felt_by_the_job(cli: CommandLine, tmp_path: Path) -> None:
    argv = [*PROGRAM, "run", "--devices", "none", "--name", "x", "--follow", "--"]
    with Terminal([*argv, sys.executable, "-c", LISTENER, str(tmp_path)], changed(None)) as terminal:
        terminal.read_until(b"listening")
        terminal.hang_up()
        assert terminal.process.wait(30) != 0, "the client follows its terminal"
    assert cli.show("x")["state"] == "running"
    (tmp_path / "gate").touch()
    assert cli.wait_state("x", "finished")["result"] == "succeeded"
    assert not (tmp_path / "got").exists()


def test_readers_that_are_halted_do_not_slow_the_job(cli: CommandLine, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    ident = cli.queue(sys.executable, "-c", FLOOD, str(gate))
    log = Path(cli.wait_state(ident, "running")["folder"]) / "log"
    halted = [cli.start("logs", "-f", ident), cli.start("--plain", environment={"TERM": "xterm"})]
    try:
        for reader in halted:
            assert reader.stdout is not None
            assert reader.stdout.read(1)
            os.kill(reader.pid, signal.SIGSTOP)
        before = log.stat().st_size
        # More than all pipes and sockets between could hold: the job's output waits for nobody.
        wait_for(lambda: log.stat().st_size > before + (8 << 20), seconds=60, what="8 MB more in the log")
        assert cli.show(ident)["state"] == "running"
    finally:
        for reader in halted:
            reader.kill()
            reader.communicate()
    gate.touch()
    assert cli.wait_state(ident, "finished")["result"] == "succeeded"


def test_many_hands_on_one_run_do_what_one_would(own_world: Path) -> None:
    with site(own_world / "state") as here:
        blocker = here.submit(["sleep", "600"], "cpu")
        here.reach(blocker, RunState.RUNNING)
        wanted = here.submit(["sleep", "600"], "cpu")
        refusals: list[AccelError] = []

        def act(number: int) -> None:
            hand = here.new_client()
            for step in range(6):
                try:
                    if number == 0:
                        hand.hold(wanted)
                    elif number == 1:
                        hand.release(wanted)
                    elif number == 2:
                        hand.move(wanted)
                    elif step == 5:
                        hand.stop(wanted, now=number == 4)
                    else:
                        hand.run(wanted)
                except AccelError as error:
                    refusals.append(error)

        hands = [threading.Thread(target=act, args=(number,)) for number in range(5)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        assert here.finished(wanted).result is RunResult.STOPPED
        assert all(isinstance(error, NotPossibleError) for error in refusals), refusals
        assert here.client.run(blocker).state is RunState.RUNNING
        assert not (here.state / "reports").exists()


def test_another_version_meets_live_runs_in_both_directions(own_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later version wrote beside what we know is kept; what it wrote otherwise is set aside and told."""
    with site(own_world / "state") as here:
        live = here.submit(["sleep", "600"])
        here.reach(live, RunState.RUNNING)
        past = here.finished(here.submit(["true"])).id
        strange = here.finished(here.submit(["true"])).id
        here.kill()
        path = here.state / "runs" / live / "spec.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "of_version_9": {"x": 1}}))
        path = here.state / "runs" / strange / "spec.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))
        kept = here.state / "runs" / live / "spec.json"
        for index in here.state.glob("index.sqlite3*"):
            index.unlink()
        here.client.connect()
        assert here.reach(live, RunState.RUNNING).id == live
        assert here.client.run(past).result is RunResult.SUCCEEDED
        damaged = here.client.run(strange)
        assert damaged.cause is not None
        assert damaged.cause.value == "record-damaged"
        here.client.stop(live, now=True)
        here.finished(live)
        assert "of_version_9" in kept.read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_at_once_for_one_card_that_shows_its_use_late(own_world: Path) -> None:
    """Each begins to use the card 3 s after it started: until then only the lock tells that it has it."""
    holders = own_world / "holders"
    script = (
        f"sleep 3; mkdir {holders} 2>/dev/null || echo two >>{own_world}/violations;"
        f"echo $$ >>{own_world}/used; sleep 0.1; rmdir {holders}"
    )
    with site(own_world / "state", "gaudi3") as here:
        clients = [here.new_client() for _ in range(4)]
        found: Counter[str] = Counter()

        def put(where: Site, number: int) -> None:
            for _ in range(5):
                answer = clients[number].submit(where.submission(["sh", "-c", script], "gaudi:0", yes=True))
                found[str(answer["id"])] += 1

        hands = [threading.Thread(target=put, args=(here, number)) for number in range(4)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        assert len(found) == 20
        for identifier in found:
            assert here.client.run(identifier, wait=400).result is RunResult.SUCCEEDED
    assert not (own_world / "violations").exists()
    assert len((own_world / "used").read_text().split()) == 20


@pytest.mark.slow
def test_a_planted_secret_is_nowhere(cli: CommandLine, own_world: Path) -> None:
    secret = "planted-7f3a9c51"
    told = {"HF_TOKEN": secret}
    argv = ("sh", "-c", 'test -n "$HF_TOKEN" && sleep 2')
    ident = cli("run", "--devices", "none", "--json", "--", *argv, environment=told).expect(0).json()["id"]
    cli.wait_state(ident, "running")
    seen = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    state = Path(os.environ["ACCEL_TUI_STATE_DIR"])
    with site(state) as here:
        seen += here.client.metrics() + json.dumps(here.client.run(ident).to_json())
    seen += cli("show", ident, "--json").out + cli("plan", "--help").out
    assert secret not in seen
    cli.wait_state(ident, "finished")
    holding = [path for path in own_world.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert not holding, "neither folder, history, logs nor audit"
