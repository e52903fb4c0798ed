"""What is promised when processes of ours are killed by force: each, and all together."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from accel_tui.keeper.processes import alive
from support.command_line import CommandLine
from support.waiting import wait_for

SCRIPT = (
    "echo begun; i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo tick $i; sleep 0.05; [ -e {gate} ] && exit {code}; done"
)


def started(cli: CommandLine, folder: Path, code: int = 0) -> tuple[str, Path]:
    """A run that ticks until the gate opens, then ends with `code`."""
    gate = folder / f"gate-{code}"
    ident = cli.queue("sh", "-c", SCRIPT.format(gate=gate, code=code))
    cli.wait_state(ident, "running")
    return ident, gate


def state(cli: CommandLine, ident: str) -> dict[str, list[int]]:
    document: dict[str, list[int]] = json.loads((Path(cli.show(ident)["folder"]) / "state.json").read_bytes())
    return document


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def growing(cli: CommandLine, ident: str) -> None:
    log = Path(cli.show(ident)["folder"]) / "log"
    size = log.stat().st_size
    wait_for(lambda: log.stat().st_size > size, what="the log to grow")


def test_the_client_is_killed(cli: CommandLine, own_world: Path) -> None:
    gate = own_world / "gate-0"
    script = SCRIPT.format(gate=gate, code=0)
    client = cli.start("run", "--devices", "none", "--name", "x", "--follow", "--", "sh", "-c", script)
    assert client.stdout is not None
    while b"tick 2" not in client.stdout.readline():
        pass
    client.kill()
    client.communicate()
    growing(cli, "x")
    gate.touch()
    assert cli.wait_state("x", "finished")["result"] == "succeeded"


def test_the_supervisor_is_killed(cli: CommandLine, own_world: Path) -> None:
    ident, gate = started(cli, own_world, 3)
    waiting = cli.start("show", ident)
    waiting.communicate()
    following = cli.start("logs", "-f", ident)
    first = cli.supervisor()
    kill(first)
    growing(cli, ident)
    assert cli.show(ident)["state"] == "running"
    assert cli.supervisor() not in (None, first)
    gate.touch()
    ended = cli.wait_state(ident, "finished")
    assert (ended["result"], ended["exit_code"], ended["cause"]) == ("failed", 3, "exit")
    out, _ = following.communicate(timeout=30)
    assert b"tick 1\n" in out


def test_the_supervisor_is_killed_under_a_waiting_client(cli: CommandLine, own_world: Path) -> None:
    gate = own_world / "gate-0"
    script = SCRIPT.format(gate=gate, code=0)
    client = cli.start("run", "--devices", "none", "--name", "x", "--wait", "--json", "--", "sh", "-c", script)
    wait_for(lambda: cli("show", "x").code == 0, what="the run")
    cli.wait_state("x", "running")
    kill(cli.supervisor())
    growing(cli, "x")
    gate.touch()
    out, err = client.communicate(timeout=40)
    assert client.returncode == 0, (out, err)
    assert json.loads(out)["result"] == "succeeded"


def test_the_keeper_is_killed(cli: CommandLine, own_world: Path) -> None:
    ident, gate = started(cli, own_world)
    kill(state(cli, ident)["keeper"][0])
    growing(cli, ident)
    running = cli.show(ident)
    assert running["state"] == "running"
    gate.touch()
    ended = cli.wait_state(ident, "finished")
    assert (ended["result"], ended["cause"], ended["exit_code"]) == ("lost", "keeper-lost", None)


def test_a_run_without_its_keeper_can_be_stopped(cli: CommandLine, own_world: Path) -> None:
    ident, _ = started(cli, own_world)
    records = state(cli, ident)
    kill(records["keeper"][0])
    cli("stop", ident, "--wait").expect(0)
    assert not alive(*records["main"])
    assert cli.show(ident)["result"] in ("stopped", "lost")


def test_the_main_process_is_killed(cli: CommandLine, own_world: Path) -> None:
    ident, _ = started(cli, own_world)
    kill(state(cli, ident)["main"][0])
    ended = cli.wait_state(ident, "finished")
    assert (ended["result"], ended["signal"], ended["exit_code"]) == ("failed", "SIGKILL", None)


def test_all_of_ours_are_killed_together(cli: CommandLine, own_world: Path) -> None:
    ident, gate = started(cli, own_world)
    following = cli.start("logs", "-f", ident)
    for pid in (following.pid, cli.supervisor(), state(cli, ident)["keeper"][0]):
        kill(pid)
    following.communicate()
    growing(cli, ident)
    assert cli.show(ident)["state"] == "running"
    gate.touch()
    ended = cli.wait_state(ident, "finished")
    assert (ended["result"], ended["cause"]) == ("lost", "keeper-lost")


def test_a_stop_that_was_asked_for_completes_whatever_dies(cli: CommandLine, own_world: Path) -> None:
    script = f"trap 'sleep 1; echo saved > {own_world}/saved; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
    ident = cli.queue("sh", "-c", script)
    cli.wait_state(ident, "running")
    log = Path(cli.show(ident)["folder"]) / "log"
    wait_for(lambda: b"begun" in log.read_bytes(), what="the program to be ready")
    cli("stop", ident).expect(0)
    kill(cli.supervisor())
    wait_for((own_world / "saved").exists, what="the program to save")
    assert cli.wait_state(ident, "finished")["result"] == "stopped"


def test_queued_runs_go_on_without_anybody(cli: CommandLine, own_world: Path) -> None:
    gate, mark = own_world / "gate-0", own_world / "mark"
    blocker = cli.queue("sh", "-c", SCRIPT.format(gate=gate, code=0), devices="cpu")
    cli.wait_state(blocker, "running")
    cli.queue("sh", "-c", f"echo one >> {mark}", devices="cpu")
    cli.queue("sh", "-c", f"echo two >> {mark}", devices="cpu")
    kill(cli.supervisor())
    assert cli.supervisor() is None
    gate.touch()  # from here on nobody connects: the keeper's end must start a supervisor
    wait_for(lambda: mark.exists() and mark.read_text() == "one\ntwo\n", what="the queued runs")


def test_a_queued_run_outlives_its_supervisor_and_its_secret_is_asked_for(cli: CommandLine, own_world: Path) -> None:
    blocker, gate = started(cli, own_world)
    del blocker
    told = own_world / "told"
    secret = {"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz"}
    first = cli("run", "--devices", "none", "--after", "last", "--json", "--", "sh", "-c", f'echo "$HF_TOKEN" > {told}',
                environment=secret).expect(0).json()["id"]  # fmt: skip
    for path in (own_world / "state").rglob("*"):
        if path.is_file():
            assert b"hf_abcdef" not in path.read_bytes(), path
    kill(cli.supervisor())
    gate.touch()
    wait_for(lambda: cli.show(first)["held"], what="the run to be held")
    assert "HF_TOKEN" in cli.show(first)["held"]
    cli("release", first, environment=secret).expect(0)
    cli.wait_state(first, "finished")
    assert told.read_text().strip() == secret["HF_TOKEN"]
