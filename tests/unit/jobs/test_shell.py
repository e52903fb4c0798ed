"""The script of a plan: the same arguments and environment, byte for byte, as the run; nothing acts on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accel_tui.config.settings import Settings
from accel_tui.jobs.planning import environment_for, plan
from accel_tui.jobs.shell import quote, script
from accel_tui.jobs.spec import parse_job
from accel_tui.model.plans import Plan
from support import hosts
from support.planning import job, planned

ECHO = """
import os, sys
told = [*map(os.fsencode, sys.argv[1:]), b"--", *sorted(k + b"=" + v for k, v in os.environb.items()), os.getcwdb()]
sys.stdout.buffer.write(b"\\0".join(told))
"""
HARD = [
    "two words",
    "it's",
    '"',
    "$HOME `id` \\",
    "a\nb\r\t",
    "",
    "é ünï 漢",
    "\x1b]0;x\x07",
    "-n",
    "!x",
    "\udcff\udc80raw",
    "\u202e",
    "\x9b1m",
    "~",
    "*",
    "{a,b}",
    "#x",
    "\\x41",
]

arguments = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def run_bash(text: str, environment: dict[str, str], folder: Path) -> bytes:
    file = folder / "run.sh"
    file.write_bytes(text.encode())
    done = subprocess.run(["bash", str(file)], env=environment, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def command(
    argv: list[str], tmp_path: Path, env: dict[str, str] | None = None, base: dict[str, str] | None = None
) -> tuple[Plan, dict[str, str]]:
    given = parse_job({"name": "x", "kind": "command", "launch": {"env": env or {}}, "command": {"argv": argv}})
    base = {"PATH": "/usr/bin:/bin", "RANK": "3", "LC_ALL": "C.UTF-8", **(base or {})}
    made = plan(
        given,
        select="cpu",
        inventory=hosts.inventory(),
        base=base,
        cwd=str(tmp_path / "work"),
        folder=str(tmp_path / "run folder"),
        identifier="20260131-124107-abcd",
        settings=Settings(),
    )
    return made, base


def test_arguments_and_environment_are_those_of_the_run(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    values = {f"V{number}": value for number, value in enumerate(HARD)}
    made, base = command([sys.executable, "-I", "-S", "-c", ECHO, *HARD], tmp_path, values)
    direct = subprocess.run(
        made.argv, env=environment_for(made, base, {}), cwd=made.cwd, capture_output=True, check=True
    )
    # bash knows where it was started; the run has the submitter's word on that, here none.
    scripted = b"\0".join(part for part in run_bash(script(made, base), base, work).split(b"\0") if part[:4] != b"PWD=")
    assert scripted == direct.stdout


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(arguments, min_size=1, max_size=8))
def test_quoted_words_reach_bash_unchanged(words: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(map(quote, words))
    for locale in ("C.UTF-8", "C"):
        done = subprocess.run(["bash", "-c", line.encode()], capture_output=True, check=True, env={"LC_ALL": locale})
        assert done.stdout == b"".join(word.encode() + b"\0" for word in words)


@given(st.text(max_size=50))
def test_quoted_words_are_clean_on_a_terminal(text: str) -> None:
    quoted = quote(text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"))
    assert quoted.isprintable()
    assert quoted.encode()


def test_hostile_names_stay_inside_their_comment(tmp_path: Path) -> None:
    made, base = command(["true"], tmp_path, base={"SYCL_DEVICE_FILTER": "\x1b[2J\nrm -rf /"})
    text = script(made, base)
    assert all(line.isprintable() for line in text.splitlines())
    assert "rm -rf" not in text


def test_secrets_are_asked_for_and_never_written(tmp_path: Path) -> None:
    token = "hf_" + "a" * 30
    given = parse_job({"name": "x", "kind": "command", "launch": {"env_from": ["HF_TOKEN"]},
                       "command": {"argv": [sys.executable, "-I", "-S", "-c", ECHO, token]}})  # fmt: skip
    base = {"PATH": "/usr/bin:/bin"}
    made = plan(
        given,
        select="none",
        inventory=hosts.inventory(),
        base=base,
        cwd=str(tmp_path),
        folder=str(tmp_path / "f"),
        identifier="20260131-124107-abcd",
        settings=Settings(),
        secrets={"HF_TOKEN"},
    )
    text = script(made, base, {"HF_TOKEN"})
    assert token not in text
    assert token not in str(made.to_json())
    (tmp_path / "run.sh").write_text(text)
    refused = subprocess.run(["bash", str(tmp_path / "run.sh")], env=base, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "set HF_TOKEN" in refused.stderr
    index = made.secret_arguments[0]
    output = run_bash(text, {**base, "HF_TOKEN": token, f"ACCEL_TUI_ARGUMENT_{index}": token}, tmp_path)
    parts = output.split(b"\0")
    assert parts[0] == token.encode()
    assert b"HF_TOKEN=" + token.encode() in parts
    assert not [part for part in parts if part.startswith(b"ACCEL_TUI_ARGUMENT")]


def test_a_worker_script_makes_its_own_folder(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nexec ls -A "$ACCEL_TUI_RUN_FOLDER"\n')
    python.chmod(0o755)
    given = job("generate", python=str(python))
    folder = tmp_path / "by hand"
    made = plan(given, select="cpu", inventory=hosts.inventory(), base=dict(os.environ), cwd=str(tmp_path),
                folder=str(folder), identifier="20260131-124107-abcd", settings=Settings())  # fmt: skip
    text = script(made, {}, job=given, worker=b"\x00\xffarchive" * 40)
    assert run_bash(text, {"PATH": "/usr/bin:/bin"}, tmp_path).split() == [
        b"artefacts",
        b"events",
        b"spec.json",
        b"worker.pyz",
    ]
    assert (folder / "worker.pyz").read_bytes() == b"\x00\xffarchive" * 40


def test_a_script_of_a_run_leaves_the_record_of_the_run_alone(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" "$ACCEL_TUI_RUN" "$PYTHONPATH"\n')
    python.chmod(0o755)
    made = plan(
        job("train", python=str(python)),
        select="cpu",
        inventory=hosts.inventory(),
        base={},
        cwd=str(tmp_path),
        folder=str(tmp_path / "20260131-124107-abcd"),
        identifier="20260131-124107-abcd",
        settings=Settings(),
    )
    run = Path(made.folder)
    run.mkdir()
    for name in ("spec.json", "worker.pyz"):
        (run / name).write_text(name)
    again = run / "by hand"
    text = script(made, {}, folder=str(again))
    output = run_bash(text, {"PATH": "/usr/bin:/bin"}, tmp_path).decode()
    assert str(again) in output
    assert output.splitlines()[-2:] == ["20260131-124107-abcd-by-hand", f"{again}/worker.pyz"]
    assert sorted(path.name for path in run.iterdir()) == ["by hand", "spec.json", "worker.pyz"]
    assert (again / "spec.json").read_text() == "spec.json"


def test_a_launcher_gets_a_port_that_is_free_at_that_moment(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$1" in -I) exec {sys.executable} "$@";; esac\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    made = planned(job("command", launcher="torchrun", python=str(python)), "cpu", hosts.inventory())
    text = script(made, {}).replace("--chdir=/home/test", f"--chdir={tmp_path}")
    output = run_bash(text, {"PATH": "/usr/bin:/bin"}, tmp_path).decode()
    endpoint = next(line for line in output.splitlines() if line.startswith("--rdzv-endpoint="))
    assert int(endpoint.rpartition(":")[2]) > 1023


@pytest.mark.parametrize("complete", [False, True])
def test_the_submitters_environment_is_written_out_on_request(tmp_path: Path, complete: bool) -> None:
    made, base = command(["true"], tmp_path, base={"MY_SETTING": "a b"})
    assert ("export MY_SETTING='a b'" in script(made, base, complete=complete)) is complete
