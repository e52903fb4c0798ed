"""Bad input: each with its message, its remedy and its exit code, and never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.schemas import check

COMMAND = '[[job]]\nname = "a"\nkind = "command"\n[job.command]\nargv = ["true"]\n'
SECOND = COMMAND.replace('"a"', '"b"')
TRAIN = (
    '[[job]]\nname = "t"\nkind = "train"\n[job.model]\npath = "{model}"\n[job.data]\npath = "{data}"\n'
    '[job.launch]\npython = "{python}"\n'
)

FILES = {
    "syntax": ("[[job]\nname = 1\n", 3, ["TOML", "bad.toml:1"]),
    "unknown key": (COMMAND.replace("kind", 'knd = "x"\nkind'), 3, ["knd", "kind"]),
    "unknown table": (COMMAND + "[job.lunch]\nprocesses = 2\n", 3, ["lunch", "launch"]),
    "unknown kind": (COMMAND.replace('"command"', '"comand"'), 3, ["comand", "command"]),
    "wrong type": (COMMAND + '[job.launch]\nprocesses = "two"\n', 3, ["launch.processes", "number"]),
    "out of range": (COMMAND + "[job.launch]\nprocesses = 0\n", 3, ["launch.processes"]),
    "literal secret": (COMMAND + '[job.launch.env]\nHF_TOKEN = "hf_abcdefghijklmnopqrstuvwx"\n', 3, ["env_from"]),
    "bad selector": (COMMAND.replace("kind", 'devices = "gaudi:x"\nkind'), 3, ["devices", "gaudi:x"]),
    "no job": ('[session]\ntitle = "x"\n', 3, ["job"]),
    "two of one name": (COMMAND + COMMAND, 3, ["'a'"]),
    "no name to choose by": (COMMAND + SECOND, 2, ["a, b", "#a"]),
    "empty argv": (COMMAND.replace('["true"]', "[]"), 3, ["argv"]),
    "null byte": (COMMAND.replace("true", "tr\\u0000ue"), 3, ["null"]),
    "not text": ("\udcff\udcfe", 3, ["UTF-8"]),
}


@pytest.mark.parametrize("case", FILES)
def test_session_files(cli: CommandLine, own_world: Path, case: str) -> None:
    content, code, words = FILES[case]
    file = own_world / "bad.toml"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    spoken = cli("plan", str(file)).expect(code)
    assert spoken.out == ""
    for word in words:
        assert word in spoken.err, spoken.err
    if case != "no name to choose by":
        assert "bad.toml" in spoken.err


@pytest.mark.parametrize("verb", ["plan", "run", "check"])
def test_every_verb_that_takes_a_file_judges_it_alike(cli: CommandLine, own_world: Path, verb: str) -> None:
    file = own_world / "bad.toml"
    file.write_text(FILES["unknown key"][0])
    document = cli(verb, str(file), "--json").expect(3)
    assert document.err == ""
    check("error", document.json())
    assert "kind" in document.json()["error"]["remedy"]
    assert cli.supervisor() is None  # nothing was started for it


COMMAND_LINES: dict[str, tuple[list[str], int, list[str]]] = {
    "missing file": (["plan", "nothing.toml"], 3, ["nothing.toml", "no such file"]),
    "a folder": (["plan", "."], 3, ["folder"]),
    "unknown job": (["plan", "good.toml#z"], 2, ["'z'", "a"]),
    "unknown set key": (["plan", "good.toml", "--set", "launch.proceses=2"], 2, ["processes"]),
    "set without value": (["plan", "good.toml", "--set", "launch"], 2, ["KEY=VALUE"]),
    "set of a wrong type": (["plan", "good.toml", "--set", "launch.processes=many"], 2, ["launch.processes"]),
    "set of a secret": (["plan", "good.toml", "--set", "launch.env.MY_TOKEN=abc"], 3, ["env_from"]),
    "bad devices": (["plan", "good.toml", "--devices", "gpu:0"], 2, ["gpu:0", "gaudi:0"]),
    "device twice": (["plan", "good.toml", "--devices", "gaudi:0,0"], 2, ["twice"]),
    "empty devices": (["plan", "good.toml", "--devices", ""], 2, ["empty"]),
    "json with shell": (["plan", "good.toml", "--shell", "--json"], 2, ["--shell"]),
    "all with a job": (["run", "good.toml#a", "--all"], 2, ["--all"]),
    "file with a command": (["run", "good.toml", "--", "true"], 2, ["--"]),
    "neither file nor command": (["run", "--devices", "cpu"], 2, ["--"]),
    "nothing after the dashes": (["run", "--devices", "cpu", "--"], 2, ["--"]),
    "launcher with a file": (["run", "good.toml", "--launcher", "torchrun"], 2, ["launch.launcher"]),
    "device not here": (["run", "--devices", "gaudi:0", "--", "true"], 4, ["gaudi:0"]),
    "file for a device not here": (["run", "good.toml", "--devices", "xpu:0", "--json"], 4, ["xpu:0"]),
    "exec on a device not here": (["exec", "--devices", "gaudi:0", "--", "true"], 4, ["gaudi:0"]),
    "env of a device not here": (["env", "--devices", "gaudi:0"], 4, ["gaudi:0"]),
    "secret argument": (
        ["run", "--devices", "none", "--", "true", "hf_abcdefghijklmnopqrstuvwx"], 6, ["secret-in-argv", "env_from"],
    ),
    "after what": (["run", "--devices", "none", "--after", "x:yes", "--", "true"], 2, ["RUN:ok"]),
    "missing log file": (["logs", "--file", "nothing.log"], 3, ["nothing.log"]),
    "log of what": (["logs"], 2, ["RUN"]),
    "log of both": (["logs", "x", "--file", "good.toml"], 2, ["--file"]),
    "bad grep": (["logs", "--file", "good.toml", "--grep", "("], 2, ["--grep"]),
    "bad rank": (["logs", "--file", "good.toml", "--rank", "-1"], 2, ["--rank"]),
    "bad since": (["logs", "--file", "good.toml", "--since", "noon"], 2, ["10m"]),
    "bad name filter": (["runs", "--name", "("], 2, ["--name"]),
    "unknown verb": (["devces"], 2, ["devices"]),
    "unknown flag": (["devices", "--json", "--jsn"], 2, ["--jsn"]),
    "unknown demo": (["devices", "--demo", "server9"], 2, ["server8", "max1550x2"]),
    "unknown theme": (["--theme", "pink"], 2, ["pink"]),
    "missing session": (["--session", "nothing.toml"], 3, ["nothing.toml"]),
    "json with csv": (["metrics", "x", "--json", "--csv"], 2, ["--csv"]),
    "no such run": (["show", "nobody", "--json"], 7, ["nobody"]),
    "no such run to stop": (["stop", "nobody"], 7, ["nobody"]),
    "an escape as a name": (["show", "\x1b]0;x\x07"], 7, []),
    "a name with a slash": (["show", "../../etc/passwd"], 7, []),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMAND_LINES)
def test_command_lines(cli: CommandLine, own_world: Path, case: str) -> None:
    argv, code, words = COMMAND_LINES[case]
    (own_world / "good.toml").write_text(COMMAND)
    spoken = cli(*argv, cwd=own_world).expect(code)
    said = spoken.err
    if "--json" in argv:
        check("error", spoken.json())
        said = str(spoken.json()["error"])
    else:
        assert spoken.out == ""
    for word in words:
        assert word in said, said


def _unwritable(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o500)
    return folder / "state"


def _foreign(folder: Path) -> Path:
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder, 12345, 12345)
    return folder


def _symlink(folder: Path) -> Path:
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to(folder.parent / "elsewhere")
    return folder


def _file(folder: Path) -> Path:
    folder.write_text("")
    return folder


@pytest.mark.parametrize("make", [_foreign, _symlink, _file, _unwritable], ids=lambda make: make.__name__[1:])
def test_state_folders_that_cannot_be_used(own_world: Path, make: Callable[[Path], Path]) -> None:
    if make is _unwritable and os.geteuid() == 0:
        pytest.skip("root writes anywhere")
    state = make(own_world / "bad")
    cli = CommandLine("--state-dir", str(state))
    spoken = cli("devices").expect(9)
    assert str(state) in spoken.err
    assert "ACCEL_TUI_STATE_DIR" in spoken.err
    check("error", cli("runs", "--json").expect(9).json())
    assert cli("doctor", "--json").code in (0, 1)


def test_a_state_folder_that_was_open_is_closed(cli: CommandLine, own_world: Path) -> None:
    state = own_world / "state"
    state.mkdir(mode=0o755)
    state.chmod(0o755)
    cli("devices").expect(0)
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_long_state_path_works(own_world: Path) -> None:
    deep = own_world
    while len(str(deep)) < 200:
        deep = deep / "a-rather-long-name-of-a-folder"
    cli = CommandLine("--state-dir", str(deep))
    try:
        cli("run", "--devices", "none", "--wait", "--", "true").expect(0)
    finally:
        cli.close()


def test_a_symlink_in_place_of_the_lock_folder(cli: CommandLine, own_world: Path) -> None:
    (own_world / "elsewhere").mkdir()
    (own_world / "link").symlink_to(own_world / "elsewhere")
    link = {"ACCEL_TUI_LOCK_DIR": str(own_world / "link")}
    refused = cli("exec", "--devices", "cpu", "--", "true", environment=link)
    assert refused.code in (0, 9)  # the CPU device has no lock file
    findings = cli("doctor", "--json", environment=link).json()["checks"]
    assert any("link" in finding["message"] for finding in findings if finding["level"] in ("refusal", "warning"))


def test_no_torch_stack_in_the_chosen_interpreter(cli: CommandLine, own_world: Path) -> None:
    bare = own_world / "bare"
    import venv

    venv.create(bare, with_pip=False, symlinks=True)
    (own_world / "model").mkdir()
    (own_world / "model/config.json").write_text('{"model_type": "qwen3"}')
    (own_world / "text.txt").write_text("words " * 100)
    file = own_world / "train.toml"
    file.write_text(TRAIN.format(model=own_world / "model", data=own_world / "text.txt", python=bare))
    refused = cli("run", str(file), "--devices", "cpu").expect(6)
    assert "pip install" in refused.err
    assert cli("check", str(file), "--devices", "cpu").expect(6).out
    assert cli("plan", str(file), "--devices", "cpu").expect(0).out
    quick = cli("quickstart", "--python", str(bare)).expect(6)
    assert "pip install" in quick.err


def test_missing_model_and_empty_data(cli: CommandLine, own_world: Path) -> None:
    (own_world / "empty.txt").write_text("")
    file = own_world / "train.toml"
    content = TRAIN.format(model=own_world / "no-model", data=own_world / "empty.txt", python=sys.executable)
    file.write_text(content)
    refused = cli("run", str(file), "--devices", "cpu", "--json").expect(6).json()
    check("error", refused)
    planned = cli("plan", str(file), "--devices", "cpu", "--json").expect(0).json()
    check("plan", planned)
    for findings in (refused["error"]["checks"], planned["checks"]):
        messages = " ".join(finding["message"] for finding in findings)
        assert "no-model" in messages
        assert "empty.txt" in messages
    shown = cli("plan", str(file), "--devices", "cpu").expect(0).out
    assert "refusal  model:" in shown
    assert "refusal  data:" in shown


def test_a_program_in_place_of_a_session_file(cli: CommandLine, own_world: Path) -> None:
    (own_world / "train.py").write_text("import sys\n")
    for verb in ("run", "plan", "check"):
        refused = cli(verb, "train.py", cwd=own_world).expect(3)
        assert "accel-tui run -- python train.py" in refused.err
