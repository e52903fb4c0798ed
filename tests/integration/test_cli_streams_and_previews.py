"""What a preview may do, and what becomes of a verb whose streams are closed or full."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from accel_tui.client.connection import Client
from accel_tui.config.settings import Settings
from accel_tui.jobs.session import load_session
from accel_tui.protocol.messages import Submission
from support.command_line import PROGRAM, CommandLine, changed

COMMAND = '[[job]]\nname = "a"\nkind = "command"\n[job.command]\nargv = ["true"]\n'
TRAIN = (
    '[[job]]\nname = "t"\nkind = "train"\n[job.model]\npath = "{model}"\n[job.data]\npath = "{data}"\n'
    '[job.launch]\npython = "{python}"\n'
)


def test_a_preview_executes_nothing(cli: CommandLine, own_world: Path) -> None:
    interpreter = own_world / "python"
    interpreter.write_text(f"#!/bin/sh\ntouch {own_world}/executed\n")
    interpreter.chmod(0o700)
    file = own_world / "train.toml"
    file.write_text(TRAIN.format(model=own_world, data=own_world, python=interpreter))
    cli("plan", str(file), "--devices", "cpu").expect(0)
    cli("devices").expect(0)
    job = load_session(str(file)).jobs[0].model_dump(mode="json")
    with Client(own_world / "state", None, Settings(), dict(os.environ), may_start=False) as client:
        client.plan(Submission(job=job, select="cpu", base={}, secrets={}, cwd=str(own_world)))
    assert not (own_world / "executed").exists()
    cli("check", str(file), "--devices", "cpu").expect(6)
    assert (own_world / "executed").exists()


def test_a_secret_that_is_not_set_is_a_refusal_and_no_fault_of_the_plan(cli: CommandLine, own_world: Path) -> None:
    file = own_world / "secret.toml"
    file.write_text(COMMAND + '[job.launch]\nenv_from = ["HF_TOKEN"]\n')
    assert "env-from-missing" in cli("plan", str(file)).expect(0).out
    assert '"${HF_TOKEN:?set HF_TOKEN}"' in cli("plan", str(file), "--shell").expect(0).out
    assert "env-from-missing" in cli("check", str(file)).expect(6).out
    assert "export HF_TOKEN" in cli("run", str(file)).expect(6).err


@pytest.mark.parametrize("argv", [("devices",), ("devices", "--json"), ("env", "--devices", "cpu"), ("show", "nobody")])
def test_closed_and_full_streams_are_no_fault(cli: CommandLine, argv: tuple[str, ...]) -> None:
    code = cli(*argv).code
    for shell, expected in (
        ("exec 1>&-", code),
        ("exec 2>&-", code),
        ("exec 0<&- 1>&- 2>&-", code),
        ("exec 2>/dev/full", code),
        ("exec 1>/dev/full", code or 3),
    ):
        done = subprocess.run(
            ["sh", "-c", f'{shell}; exec "$@"', "sh", *PROGRAM, *argv],
            capture_output=True, env=changed(None), timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == expected, (shell, done)
        assert b"Traceback" not in done.stderr, shell
        assert b"internal error" not in done.stderr, shell
        if shell == "exec 1>/dev/full" and not code:
            assert b"cannot be written" in done.stderr
