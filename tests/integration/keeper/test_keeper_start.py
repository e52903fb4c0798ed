"""From the instruction to the exec: what the main process gets, and what a refusal says."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from accel_tui.executors.detached import SOURCE, interpreter_argv
from accel_tui.keeper import files, processes
from support.keeping import KeptRun, MakeRun, python, told
from support.waiting import wait_for

pytestmark = pytest.mark.parametrize("nursery", [True, False], indirect=True, ids=["nursery", "interpreter"])

SHOW = """
import json, os
fds = {}
for name in os.listdir("/proc/self/fd"):
    try: fds[name] = os.readlink("/proc/self/fd/" + name)
    except OSError: pass
import sys, signal
print(json.dumps({
    "argv": [os.fsencode(a).hex() for a in sys.argv[1:]],
    "env": {k.hex(): v.hex() for k, v in os.environb.items()},
    "cwd": os.getcwd(), "fds": fds, "sid": os.getsid(0), "pid": os.getpid(),
    "adj": open("/proc/self/oom_score_adj").read().strip(),
    "ignored": [l.split()[1] for l in open("/proc/self/status") if l.startswith(("SigIgn", "SigBlk"))],
}))
"""

HOSTILE = [
    "",
    "two words",
    "it's",
    'say "x"',
    "$HOME `id` $(id)",
    "a\nb",
    "naïve ✓",
    "\x1b[31m",
    "\\",
    "-n",
    "\udcff\udcfe",
]


def test_arguments_and_environment_arrive_byte_for_byte(make_run: MakeRun) -> None:
    variables = {
        "PATH": os.environ["PATH"],
        "EMPTY": "",
        "ODD": HOSTILE[-1],
        "LINES": "a\nb",
        "naïve": "✓",
        "LANG": "C",
    }
    run = make_run(python(SHOW, *HOSTILE), environment=variables)
    assert run.start()["started"]
    assert run.ended()["exit_code"] == 0
    (seen,) = told(run.log())
    wanted = [text.encode("utf-8", "surrogateescape").hex() for text in HOSTILE]
    assert seen["argv"] == wanted
    variables["ACCEL_TUI_RUN"] = run.tag
    coerced = {b"LC_CTYPE".hex()}  # set by the interpreter itself in the C locale
    got = {name: value for name, value in seen["env"].items() if name not in coerced}
    assert got == {
        name.encode().hex(): value.encode("utf-8", "surrogateescape").hex() for name, value in variables.items()
    }


def test_the_main_process_gets_a_clean_start(make_run: MakeRun, tmp_path: Path) -> None:
    lock = str(tmp_path / "locks" / "pci.lock")
    (tmp_path / "locks").mkdir()
    run = make_run(python(SHOW))
    leaked = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leaked, True)
    answer = run.start(locks=[lock])
    os.close(leaked)
    run.ended()
    (seen,) = told(run.log())
    assert answer["main"][0] == seen["pid"] == seen["sid"]
    assert seen["adj"] == "500"
    inherited = {number: target for number, target in seen["fds"].items() if not target.startswith("/proc/")}
    log = str(run.folder / "log")
    assert {number: inherited.pop(number) for number in ("0", "1", "2")} == {"0": "/dev/null", "1": log, "2": log}
    assert list(inherited.values()) == [lock]
    # CPython itself ignores SIGPIPE and SIGXFSZ; nothing else may be ignored or blocked.
    assert [int(mask, 16) & ~(1 << 12 | 1 << 24) for mask in seen["ignored"]] == [0, 0]
    assert (run.folder / "log").stat().st_mode & 0o777 == 0o600


def test_states_and_record_of_a_plain_run(make_run: MakeRun) -> None:
    run = make_run(python("import time; print('here'); time.sleep(60)"))
    answer = run.start()
    state = run.state()
    assert state["state"] == "running"
    assert state["created"] == "then"
    assert state["main"] == answer["main"]
    assert state["started"] == answer["started_at"]
    assert state["boot_id"] == processes.boot_id()
    assert (run.folder / "exit.json").read_bytes() == b" " * 4096
    pid, start = answer["main"]
    processes.signal_exact(pid, start, signal.SIGTERM)
    record = run.ended()
    assert record["signal"] == "SIGTERM"
    assert record["exit_code"] is None
    assert (record["cause"], record["stopped"]) == ("signal", False)
    assert record["max_rss_bytes"] > 1 << 20
    assert record["cpu_seconds"] > 0
    assert (run.folder / "exit.json").stat().st_size == 4096


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/no/such/program"], "/no/such/program: no such file"),
        (["no-such-program-here"], "no-such-program-here: no program of that name in PATH"),
        (["/etc/passwd"], "/etc/passwd: Permission denied"),
        (["./broken"], "./broken: the interpreter in its first line is missing"),
        (["a\0b"], "NUL"),
    ],
)
def test_a_failed_exec_names_file_and_reason(make_run: MakeRun, tmp_path: Path, argv: list[str], words: str) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o700)
    run = make_run(argv)
    answer = run.start()
    assert (answer["started"], answer["reason"]) == (False, "launch-failed")
    assert words in answer["message"]
    record = run.ended()
    assert record["cause"] == "launch-failed"
    assert words in record["message"]
    assert record["started"] is None


def test_a_missing_working_folder_is_named(make_run: MakeRun) -> None:
    run = make_run(["true"], cwd="/no/such/folder")
    assert "working folder /no/such/folder: No such file" in run.start()["message"]


def test_secrets_reach_the_process_and_no_file(make_run: MakeRun) -> None:
    code = "import os, sys; print(os.environ['HF_TOKEN'] == 'hf_' + 's' * 24, sys.argv[1] == 'x' * 30)"
    run = make_run(python(code, "********"))
    index = str(len(python(code)))
    run.start(secrets={"HF_TOKEN": "hf_" + "s" * 24}, secret_arguments={index: "x" * 30})
    run.ended()
    assert run.log() == b"True True\n"
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert b"s" * 24 not in path.read_bytes()
            assert b"x" * 30 not in path.read_bytes()


def test_a_damaged_folder_is_said_and_left(make_run: MakeRun) -> None:
    run = make_run(["true"])
    (run.folder / "plan.json").write_text("{")
    answer = run.start()
    assert (answer["started"], answer["reason"]) == (False, "damaged")
    assert "plan.json is damaged" in answer["message"]
    assert run.state()["state"] == "preparing"


def test_a_run_starts_only_once(make_run: MakeRun) -> None:
    run = make_run(["sleep", "60"])
    assert run.start()["started"]
    again = run.start()
    assert again["reason"] == "damaged"
    assert "another keeper has this run" in again["message"]


def test_a_keeper_of_another_start_does_not_begin(make_run: MakeRun) -> None:
    """It was halted while the run went back to the queue, and on to another keeper."""
    run = make_run(["true"])
    state = run.state()
    files.write_json(run.folder / "state.json", {**state, "start": "second"})
    late = run.start(start="first")
    assert (late["reason"], run.record()) == ("damaged", None)
    assert "another start" in late["message"]
    assert run.start(start="second")["started"]
    assert run.ended()["exit_code"] == 0


def test_a_keeper_that_comes_after_the_end_leaves_the_record(make_run: MakeRun) -> None:
    run = make_run(["sh", "-c", "exit 4"])
    state = run.state()
    assert run.start()["started"]
    record = run.ended()
    files.write_json(run.folder / "state.json", state)
    assert run.start()["reason"] == "damaged"
    assert run.record() == record


def test_a_busy_device_leaves_the_folder_as_it_was(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    wanted = [str(tmp_path / "locks" / name) for name in ("a.lock", "b.lock")]
    first = make_run(["sleep", "60"])
    assert first.start(locks=wanted[1:])["started"]
    second = make_run(["true"])
    before = {path.name for path in second.folder.iterdir()}
    answer = second.start(locks=wanted)
    assert (answer["reason"], answer["lock"]) == ("busy", wanted[1])
    assert str(first.keeper()[0]) in answer["holder"]
    assert second.state()["state"] == "preparing"
    assert {path.name for path in second.folder.iterdir()} - before <= {"lock", "keeper.log"}
    third = make_run(["true"])
    assert third.start(locks=wanted[:1])["started"], "all or none: the first lock was given back"


def test_an_unsafe_lock_folder_ends_the_run_with_a_record(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    run = make_run(["true"])
    assert run.start(locks=[str(tmp_path / "link" / "a.lock")])["reason"] == "launch-failed"
    record = run.ended()
    assert record["cause"] == "launch-failed"
    assert "symbolic link" in record["message"]


def test_long_paths_and_odd_names_are_folders_like_others(make_run: MakeRun, tmp_path: Path) -> None:
    root = tmp_path / ("d" * 200) / "ü \udcff $x" / ("e" * 200)
    root.mkdir(parents=True)
    run = make_run(
        python("import os; print(os.getcwd() == os.environ['WANTED'])"), root=root, environment={"WANTED": str(root)}
    )
    assert run.start()["started"]
    assert run.ended()["exit_code"] == 0
    assert run.log() == b"True\n"


def test_the_package_may_vanish_under_a_live_keeper(make_run: MakeRun, tmp_path: Path) -> None:
    """As in an upgrade: everything was imported before ready."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(SOURCE) / "accel_tui" / "keeper", copy / "accel_tui" / "keeper")
    (copy / "accel_tui" / "__init__.py").touch()
    run = make_run(python("import time; print('up', flush=True); time.sleep(60)"))
    wanted = files_of_a_queued_run(run)
    keeper = subprocess.Popen(
        interpreter_argv("accel_tui.keeper.main", source=str(copy)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        assert json.loads(keeper.stdout.readline())["ready"]
        shutil.rmtree(copy)
        (tmp_path / "locks").mkdir()
        marker = tmp_path / "revived"
        revive = python(f"open({str(marker)!r}, 'w').close()")
        order = run.instruction(revive=revive, locks=[str(tmp_path / "locks" / "a.lock")], time_limit=1)
        keeper.stdin.write(json.dumps(order).encode() + b"\n")
        keeper.stdin.flush()
        assert json.loads(keeper.stdout.readline())["started"]
    assert run.ended()["cause"] == "time-limit"
    wait_for(marker.exists, what="the revival")
    assert wanted
    assert (run.folder / "keeper.log").read_text() == ""


WHAT_IS_IMPORTED_LATE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from accel_tui.keeper import main, nursery
before = set(sys.modules)
run = main._Run(main.Order(json.loads(sys.argv[2])))
run.start()
run.finish()
print(sorted(set(sys.modules) - before))
"""


def test_a_keeper_imports_nothing_after_it_is_ready(make_run: MakeRun, tmp_path: Path) -> None:
    """Not even what Python itself would find only then, such as the codec of an encoding."""
    (tmp_path / "locks").mkdir()
    run = make_run(python("import time; time.sleep(60)"))
    order = run.instruction(locks=[str(tmp_path / "locks" / "a.lock")], time_limit=0.3)
    argv = python(WHAT_IS_IMPORTED_LATE, SOURCE, json.dumps(order))
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
    assert run.ended()["cause"] == "time-limit"


def files_of_a_queued_run(run: KeptRun) -> Path:
    """A neighbour that waits in the queue."""
    folder = run.folder.parent / "20260101-000000-wait"
    folder.mkdir()
    (folder / "state.json").write_text('{"schema":1,"state":"queued","held":null}')
    return folder


def test_a_keeper_that_is_told_nothing_ends() -> None:
    keeper = subprocess.Popen(interpreter_argv("accel_tui.keeper.main"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        pid = json.loads(keeper.stdout.readline())["pid"]
        start = processes.start_time(pid)
        assert start is not None
        keeper.stdin.write(b'{"folder": "/half')
        keeper.stdin.close()
        wait_for(lambda: not processes.alive(pid, start), what="the end of the keeper")


def test_a_keeper_stays_small_and_idle(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    run = make_run(["sleep", "60"])
    run.start(locks=[str(tmp_path / "locks" / "a.lock")])
    pid, _ = run.keeper()
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident <= 12 * 1024, f"{resident} KiB resident"


def test_the_start_time_is_that_of_the_exec(make_run: MakeRun) -> None:
    run = make_run(["date", "+%s.%N"])
    before = time.time()
    answer = run.start()
    run.ended()
    assert before <= float(run.log())
    assert answer["started_at"].endswith("Z")


def test_a_run_has_the_limits_of_its_submitter(make_run: MakeRun) -> None:
    code = "import resource as r; print([r.getrlimit(k) for k in (r.RLIMIT_CORE, r.RLIMIT_NOFILE, r.RLIMIT_STACK)])"
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    run = make_run(python(code))
    answer = run.start(limits=f"core=0:0 nofile=200:{most + 1 if most > 0 else -1} stack=1048576:2097152 odd=1:2 cpu=x")
    assert answer["started"], answer
    assert run.ended()["exit_code"] == 0
    (core, files, stack) = eval(run.log())
    assert (core, stack) == ((0, 0), (1048576, 2097152))
    assert files[0] == 200
    assert os.geteuid() == 0 or files[1] == most
    if files[1] == most > 0:
        assert f"nofile: {most} in place of {most + 1}" in (run.folder / "keeper.log").read_text()
