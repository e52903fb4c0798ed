"""`exec` and `env`: a program in the foreground with devices reserved, and the exports alone."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

from support.command_line import PROGRAM, CommandLine, changed
from support.terminal import Terminal
from support.waiting import wait_for

DEMO = ("--demo", "server8")


def begun(mark: Path) -> bool:
    return mark.exists() and "up" in mark.read_text()


def demo() -> CommandLine:
    return CommandLine(*DEMO)


def reserved(cli: CommandLine, module: int) -> bool:
    devices = cli("devices", "--json").expect(0).json()["devices"]
    return next(card for card in devices if card["module_id"] == module)["reserved_by"] is not None


def test_exit_codes_are_passed_on(cli: CommandLine) -> None:
    cli("exec", "--devices", "cpu", "--", "true").expect(0)
    cli("exec", "--devices", "cpu", "--", "sh", "-c", "exit 42").expect(42)
    cli("exec", "--devices", "cpu", "--", "sh", "-c", "kill -TERM $$").expect(128 + 15)
    assert cli("exec", "--devices", "none", "--", "printf", "%s|", "a b", "", "é").expect(0).out == "a b||é|"
    missing = cli("exec", "--devices", "cpu", "--", "/no/such/program").expect(2)
    assert "/no/such/program" in missing.err


def test_the_planned_environment_and_the_reservation(own_world: Path) -> None:
    cli = demo()
    try:
        shown = cli("exec", "--devices", "gaudi:0,1", "--", "env").expect(0).out
        assert "HABANA_VISIBLE_MODULES=0,1\n" in shown
        assert "ACCEL_TUI_RUN=" not in shown
        held = cli.start("exec", "--devices", "gaudi:0", "--", "sleep", "600")
        wait_for(lambda: reserved(cli, 0), what="the reservation of module 0")
        waiting = subprocess.Popen(
            [*PROGRAM, *DEMO, "exec", "--devices", "gaudi:0", "--", "true"], stderr=subprocess.PIPE, env=changed(None)
        )
        assert waiting.stderr is not None
        said = waiting.stderr.readline().decode()
        assert "waits for" in said
        assert str(held.pid) in said or "exec" in said
        held.send_signal(signal.SIGKILL)  # gives the card back all the same
        held.communicate()
        assert waiting.wait(30) == 0
        waiting.stderr.close()
        wait_for(lambda: not reserved(cli, 0), what="the end of the reservation")
    finally:
        cli.close()


def test_a_run_waits_for_a_card_that_exec_holds(own_world: Path) -> None:
    cli = demo()
    try:
        held = cli.start("exec", "--devices", "gaudi:2", "--", "sleep", "600")
        wait_for(lambda: reserved(cli, 2), what="the reservation of module 2")
        queued = cli.queue("true", devices="gaudi:2")
        assert cli.show(queued)["state"] == "queued"
        held.terminate()
        assert held.wait(30) == 128 + 15
        held.communicate()
        assert cli.wait_state(queued, "finished")["result"] == "succeeded"
    finally:
        cli.close()


def test_exec_on_the_cpu_takes_a_slot_of_the_queue(cli: CommandLine) -> None:
    session = cli.start("exec", "--devices", "cpu", "--", "sleep", "600")
    folder = Path(os.environ["ACCEL_TUI_STATE_DIR"], "sessions")
    wait_for(lambda: folder.exists() and list(folder.iterdir()), what="the session")
    wait_for(lambda: "exec" in Path(os.environ["ACCEL_TUI_STATE_DIR"], "audit.log").read_text(), what="its slot")
    queued = cli.queue("true", devices="cpu")
    wait_for(lambda: "CPU slot" in str(cli.show(queued)["waiting_for"]), what="the wait for the slot")
    os.kill(cli.supervisor() or 0, 9)  # the next one finds the session
    assert "CPU slot" in str(cli.wait_state(queued, "queued")["waiting_for"] or "CPU slot")
    second = cli.start("exec", "--devices", "cpu", "--", "true")
    assert second.stderr is not None
    assert b"waits for a CPU slot" in second.stderr.readline()
    session.kill()
    session.communicate()
    assert cli.wait_state(queued, "finished")["result"] == "succeeded"
    assert second.wait(30) == 0
    second.communicate()
    assert not list(folder.iterdir())


def test_signals_reach_the_program(cli: CommandLine, own_world: Path) -> None:
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        mark = own_world / f"mark-{number}"
        script = f"trap 'echo got >> {mark}; exit 9' {int(number)}; echo up > {mark}; while :; do sleep 0.05; done"
        started = cli.start("exec", "--devices", "none", "--", "sh", "-c", script)
        wait_for(partial(begun, mark), what="the start of the program")
        started.send_signal(number)
        assert started.wait(30) == 9
        started.communicate()
        assert "got" in mark.read_text()


def test_on_a_terminal_job_control_and_hang_up_work(cli: CommandLine, own_world: Path) -> None:
    cli("devices").expect(0)
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(shell, changed({"PS1": "READY> ", "TERM": "xterm", "HISTFILE": None})) as terminal:
        terminal.read_until(b"READY> ")
        start = " ".join(PROGRAM) + " exec --devices none -- "
        terminal.press((start + "sh -c 'echo begun; exec sleep 600'\n").encode())
        terminal.read_until(b"begun\r\n")
        terminal.press(b"\x1a")
        terminal.read_until(b"Stopped")
        terminal.read_until(b"READY> ")
        terminal.press(b"fg\n")
        terminal.read_until(b"fg\r\n")
        wait_for(lambda: terminal.foreground() != terminal.process.pid, what="the program to be in front again")
        terminal.press(b"\x03")
        terminal.read_until(b"READY> ")
        terminal.press(b"echo code=$?\n")
        terminal.read_until(b"code=130")
        mark = own_world / "hung-up"
        inner = f"trap 'echo yes > {mark}; exit' HUP; echo again; while :; do sleep 0.05; done"
        terminal.press((start + f'sh -c "{inner}"\n').encode())
        terminal.read_until(b"again\r\n")
        terminal.hang_up()
        wait_for(mark.exists, what="the hang-up to reach the program")


def test_env_prints_exports(own_world: Path) -> None:
    cli = demo()
    try:
        answer = cli("env", "--devices", "gaudi:0,1").expect(0)
        assert "nothing is reserved" in answer.err
        code = 'eval "$1"; echo "$HABANA_VISIBLE_MODULES"'
        done = subprocess.run(["bash", "-c", code, "x", answer.out], capture_output=True, text=True, check=True)
        assert done.stdout == "0,1\n"
    finally:
        cli.close()
