"""Session files: what is read, and that each fault names file, line, field and remedy."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accel_tui.jobs.adhoc import command_job
from accel_tui.jobs.session import Session, apply_sets, load_session, select_job, split_reference
from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.errors import AccelError, FileError, UsageError

GOOD = """\
[session]
title = "Two jobs"

[devices]
select = "gaudi:0-1"

[[job]]
name = "tune"
kind = "train"
[job.model]
path = "tiny"
[job.data]
path = "text.txt"
[job.train.arguments]
max_steps = 3
[job.launch]
env = { OMP_NUM_THREADS = 4 }
time_limit = "1h 30m"

[[job]]
name = "say"
kind = "command"
devices = "cpu"
[job.command]
argv = ["echo", "hello"]
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "session.toml"
    file.write_text(text)
    return file


def load(folder: Path, text: str = GOOD) -> Session:
    return load_session(write(folder, text))


def test_a_session_is_read_with_its_paths_resolved(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    session = load(tmp_path)
    tune, say = (job.model_dump() for job in session.jobs)
    assert session.title == "Two jobs"
    assert tune["model"]["path"] == str(tmp_path / "tiny")
    assert tune["data"]["path"] == str(tmp_path / "text.txt")
    assert tune["launch"]["env"] == {"OMP_NUM_THREADS": "4"}
    assert tune["launch"]["time_limit"] == 5400
    assert [session.selector(job) for job in session.jobs] == ["gaudi:0-1", "cpu"]
    assert session.selector(session.jobs[1], "none") == "none"
    assert say["command"]["argv"] == ["echo", "hello"]


def test_a_job_survives_its_stored_form(tmp_path: Path) -> None:
    for job in load(tmp_path).jobs:
        assert parse_job(job.model_dump(mode="json")) == job


@pytest.mark.parametrize(
    ("written", "folder_there", "read"),
    [
        ("org/tiny", False, "org/tiny"),
        ("org/tiny", True, "{folder}/org/tiny"),
        ("./tiny", False, "{folder}/tiny"),
        ("~/tiny", False, "{home}/tiny"),
        ("/models/tiny", False, "/models/tiny"),
    ],
)
def test_a_model_is_a_folder_or_a_name_on_the_hub(tmp_path: Path, written: str, folder_there: bool, read: str) -> None:
    if folder_there:
        (tmp_path / written).mkdir(parents=True)
    job = load(tmp_path, GOOD.replace('path = "tiny"', f'path = "{written}"')).jobs[0]
    path = job.model_dump()["model"]["path"]
    assert path == read.format(folder=tmp_path, home=os.path.expanduser("~"))  # noqa: PTH111


BAD = [
    ("[devices]", "[device]", 4, "device: unknown field", "did you mean 'devices'"),
    ('title = "Two jobs"', 'titel = "x"', 2, "session.titel: unknown field", "did you mean 'title'"),
    ("max_steps", "maxsteps", 15, "train.arguments.maxsteps: unknown argument", "did you mean 'max_steps'"),
    ("[job.train.arguments]", "[job.trian.arguments]", 14, "trian: unknown field", "did you mean 'train'"),
    ("max_steps = 3", 'max_steps = "3"', 15, "train.arguments.max_steps: must be a whole number", ""),
    ("max_steps = 3", 'output_dir = "x"', 15, "output_dir: is not set here", "train.output"),
    ("max_steps = 3", "max_steps = 2026-01-01", 15, "must be a whole number", ""),
    ('kind = "train"', 'kind = "trian"', 9, "kind: 'trian' is not known", "did you mean 'train'"),
    ('kind = "train"', "", 7, "kind: is missing", "command, generate, train"),
    ('name = "say"', 'name = "tune"', 21, "'tune' is the name of job number 1 too", "of its own"),
    ('name = "say"', 'name = "a/b"', 21, "name: expected 1 to 64 characters", ""),
    ('devices = "cpu"', 'devices = "gaudi:x"', 23, "devices: bad device selector 'gaudi:x'", ""),
    ('select = "gaudi:0-1"', 'select = "gaudi"', 5, "devices.select: bad device selector", "gaudi:0-3"),
    ('select = "gaudi:0-1"', "select = 3", 5, "devices.select: must be text", "quotes"),
    ('argv = ["echo", "hello"]', 'argv = "echo"', 25, "command.argv: must be a list, not text", ""),
    ('argv = ["echo", "hello"]', "argv = []", 25, "command.argv", ""),
    ('argv = ["echo", "hello"]', 'argv = ["a\\u0000b"]', 25, "null byte", ""),
    ("OMP_NUM_THREADS = 4", 'HF_TOKEN = "x"', 17, "launch.env.HF_TOKEN: a secret", 'env_from = ["HF_TOKEN"]'),
    ("OMP_NUM_THREADS = 4", 'MINE = "hf_aaaaaaaaaaaaaaaaaaaaaaaaa"', 17, "a token is written", 'env_from = ["MINE"]'),
    ("OMP_NUM_THREADS = 4", 'P = "http://u:p@host"', 17, "a URL with a password", 'env_from = ["P"]'),
    ('time_limit = "1h 30m"', 'time_limit = "soon"', 18, "time_limit: expected seconds", ""),
    ('time_limit = "1h 30m"', "processes = 0", 18, "launch.processes", ""),
    ('time_limit = "1h 30m"', 'launcher = "torchrnu"', 18, "launch.launcher", "did you mean 'torchrun'"),
]


@pytest.mark.parametrize(("old", "new", "line", "message", "remedy"), BAD)
def test_a_fault_names_file_line_field_and_remedy(
    tmp_path: Path, old: str, new: str, line: int, message: str, remedy: str
) -> None:
    assert old in GOOD
    with pytest.raises(FileError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.message.startswith(f"{tmp_path / 'session.toml'}:{line}: ")
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")
    assert "aaaaaaaa" not in caught.value.message


def test_a_fault_of_syntax_shows_the_place(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        load(tmp_path, "[session]\ntitle = what\n")
    place, line, caret = caught.value.message.splitlines()
    assert place.startswith(f"{tmp_path / 'session.toml'}:2:9: ")
    assert line.index("what") == caret.index("^")


def test_what_is_no_session_file_is_refused(tmp_path: Path) -> None:
    fifo, binary, huge, empty = (tmp_path / name for name in ("fifo", "binary", "huge", "empty"))
    os.mkfifo(fifo)
    binary.write_bytes(b"\x7fELF\x00\xff\xfe")
    huge.write_bytes(b"#" * (1 << 20) + b"\n")
    empty.write_bytes(b"")
    expected = {
        tmp_path: "is a folder",
        fifo: "is not an ordinary file",
        binary: "not UTF-8",
        huge: "larger than 1 MiB",
        empty: "holds no job",
        tmp_path / "binry": "no such file",
        tmp_path / "x\0y": "cannot be read",
        tmp_path / ("n" * 300): "cannot be read",
    }
    for path, message in expected.items():
        with pytest.raises(FileError, match=message):
            load_session(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, len(GOOD)), st.text(max_size=6), st.integers(0, 8))
def test_any_damage_is_a_clean_error(tmp_path: Path, position: int, inserted: str, removed: int) -> None:
    text = GOOD[:position] + inserted + GOOD[position + removed :]
    file = tmp_path / "session.toml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(FileError):  # anything else fails the test
        load_session(file)


def test_a_job_is_chosen_by_name(tmp_path: Path) -> None:
    session = load(tmp_path)
    assert select_job(session, "say").name == "say"
    with pytest.raises(UsageError, match="2 jobs: tune, say"):
        select_job(session, None)
    with pytest.raises(UsageError, match="no job 'sya'") as caught:
        select_job(session, "sya")
    assert caught.value.remedy == "did you mean 'say'?"
    assert split_reference("a.toml#say") == ("a.toml", "say")
    assert split_reference("a.toml") == ("a.toml", None)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return load(tmp_path).jobs[0]


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("launch.processes=2", ("launch", "processes"), 2),
        ("train.arguments.learning_rate=1e-4", ("train", "arguments", "learning_rate"), 1e-4),
        ("model.revision=1234", ("model", "revision"), "1234"),
        ('launch.env_from=["HF_TOKEN"]', ("launch", "env_from"), ["HF_TOKEN"]),
        ("launch.env.A=b=c", ("launch", "env", "A"), "b=c"),
        ("devices=gaudi:0,1", ("devices",), "gaudi:0,1"),
        ("data.path=~/x", ("data", "path"), os.path.expanduser("~/x")),  # noqa: PTH111
    ],
)
def test_a_set_changes_one_field(job: Job, setting: str, path: tuple[str, ...], value: object) -> None:
    changed: object = apply_sets(job, [setting], "/elsewhere").model_dump()
    for part in path:
        assert isinstance(changed, dict)
        changed = changed[part]
    expected = value
    if isinstance(value, str) and "/x" in value:
        expected = os.path.expanduser("~/x")  # noqa: PTH111 - the home of the test
    assert changed == expected


@pytest.mark.parametrize(
    ("setting", "kind", "message", "remedy"),
    [
        ("train.max_steps=3", UsageError, "train.max_steps: unknown field", "belongs to train.arguments.max_steps"),
        ("python=x", UsageError, "python: unknown field", "it belongs to launch.python"),
        ("launch.proceses=2", UsageError, "launch.proceses: unknown field", "did you mean 'processes'"),
        ("trian.method=full", UsageError, "unknown field", "did you mean 'train'"),
        ("train.arguments.lerning_rate=1", UsageError, "unknown argument", "did you mean 'learning_rate'"),
        ("launch.processes=two", UsageError, "must be a whole number", ""),
        ("launch.processes.x=2", UsageError, "launch.processes", ""),
        ("launch", UsageError, "expected KEY=VALUE", ""),
        ("=1", UsageError, "expected KEY=VALUE", ""),
        ("launch.env.HF_TOKEN=x", FileError, "a secret is written out", 'env_from = ["HF_TOKEN"]'),
        ("data.path=https://me:pw@host/x", FileError, "URL with a password", "env_from"),
    ],
)
def test_a_wrong_set_is_refused(job: Job, setting: str, kind: type[AccelError], message: str, remedy: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        apply_sets(job, [setting])
    assert type(caught.value) is kind
    assert remedy in (caught.value.remedy or "")
    assert ":pw@" not in caught.value.message


def test_a_command_without_a_file_becomes_a_job() -> None:
    made = command_job(["/usr/bin/env", "a b"], launcher="torchrun", processes=2)
    assert (made.name, made.kind, made.launch.processes) == ("env", "command", 2)
    with pytest.raises(UsageError, match="no program"):
        command_job([])
    with pytest.raises(UsageError, match="launcher"):
        command_job(["x"], launcher="mpirun")
