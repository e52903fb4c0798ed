"""Starting keepers and supervisors so that nothing that happens to the starter reaches them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accel_tui.executors import detached
from accel_tui.executors.local import KeeperError, Keepers, start_supervisor, supervisor_argv
from accel_tui.executors.nursery import Nursery
from accel_tui.keeper import processes
from accel_tui.model.errors import SupervisorError
from support.keeping import KeptRun, MakeRun, python
from support.waiting import wait_for

# A starter as the supervisor is one: starts a run, says so, and waits to be killed.
STARTER = """
import asyncio, json, sys, time
sys.path.insert(0, sys.argv[1])
from accel_tui.executors.local import Keepers
async def main():
    keepers = Keepers(nursery=sys.argv[3] == "True", prefix=())
    answer = await keepers.start(json.loads(sys.argv[2]))
    nursery = keepers.nursery
    print(json.dumps([answer, nursery and [nursery.pid, nursery.start_time]]), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("nursery", [True, False], indirect=True)
@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_death_of_the_starter_does_not_reach_a_run(
    make_run: MakeRun, signo: int, *, group: bool, nursery: bool
) -> None:
    run = make_run(python("import sys, time; print('up', flush=True); time.sleep(600)"))
    argv = [sys.executable, "-c", STARTER, detached.SOURCE, json.dumps(run.instruction()), str(nursery)]
    starter = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    with starter:
        assert starter.stdout is not None
        answer, forked = json.loads(starter.stdout.readline())
        assert answer["started"]
        (os.killpg if group else os.kill)(starter.pid, signo)
    assert starter.returncode == -signo
    assert (forked is not None) == nursery
    if forked is not None:
        wait_for(lambda: not processes.alive(*forked), what="the end of the nursery without anybody to ask")
    pid, start = run.state()["main"]
    assert processes.alive(*run.keeper())
    assert processes.alive(pid, start)
    run.stop()
    assert run.ended()["cause"] == "stopped-by-user"


async def new_nursery(keepers: Keepers) -> Nursery:
    """The nursery of `keepers`, once it is there."""
    keepers.prepare()
    while keepers.nursery is None:
        await asyncio.sleep(0.01)
    return keepers.nursery


def signal_nursery(nursery: Nursery, signo: int) -> tuple[int, int]:
    assert nursery.start_time is not None
    assert processes.signal_exact(nursery.pid, nursery.start_time, signo)
    return nursery.pid, nursery.start_time


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("PPid:"))


def sockets_of(pid: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since
            found.append(str(link.readlink()))
    return [target for target in found if target.startswith("socket:")]


def test_the_nursery_is_no_part_of_a_run(make_run: MakeRun) -> None:
    """Its keepers are orphans in sessions of their own, and nothing of it stays open in them or in the runs."""
    run = make_run(python("import time; time.sleep(600)"))

    async def play() -> None:
        keepers = Keepers(prefix=())
        nursery = await new_nursery(keepers)
        assert (await keepers.start(run.instruction()))["started"]
        pid, _ = run.keeper()
        assert parent(pid) not in (nursery.pid, os.getpid())
        assert os.getsid(pid) == pid
        assert os.getsid(nursery.pid) == nursery.pid
        wait_for(lambda: not sockets_of(pid), what="the keeper's letting go after its answer")
        gone = signal_nursery(nursery, signal.SIGKILL)
        while nursery.usable or processes.alive(*gone):
            await asyncio.sleep(0.01)
        assert processes.alive(*run.keeper())
        await keepers.close()

    asyncio.run(play())
    run.stop()
    assert run.ended()["cause"] == "stopped-by-user"


def test_many_starts_share_one_nursery(make_run: MakeRun) -> None:
    runs = [make_run(["true"]) for _ in range(12)]

    async def play() -> None:
        keepers = Keepers(prefix=())
        answers = await asyncio.gather(*[keepers.start(run.instruction()) for run in runs])
        assert all(answer["started"] for answer in answers)
        nursery = keepers.nursery
        assert nursery is not None
        children = Path(f"/proc/{nursery.pid}/task/{nursery.pid}/children").read_text()
        assert children == "", "what it forked first was reaped"
        await keepers.close()
        assert nursery.start_time is not None
        while processes.alive(nursery.pid, nursery.start_time):
            await asyncio.sleep(0.01)

    asyncio.run(play())
    assert [run.ended()["exit_code"] for run in runs] == [0] * 12


def test_a_dead_nursery_is_replaced(make_run: MakeRun) -> None:
    async def play() -> None:
        keepers = Keepers(prefix=())
        for _ in range(3):
            nursery = await new_nursery(keepers)
            signal_nursery(nursery, signal.SIGKILL)
            assert (await keepers.start(make_run(["true"]).instruction()))["started"]
        assert await new_nursery(keepers)
        await keepers.close()

    asyncio.run(play())


def test_a_nursery_that_hangs_is_left_aside_and_never_starts_the_run_again(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Nursery.keeper, "__defaults__", (0.2,))
    spared, run = make_run(["true"]), make_run(python("print('once')"))

    async def play() -> None:
        keepers = Keepers(prefix=())
        nursery = await new_nursery(keepers)
        gone = signal_nursery(nursery, signal.SIGSTOP)
        assert (await keepers.start(spared.instruction()))["started"]  # by a keeper that was forked before
        assert (await keepers.start(run.instruction()))["started"]
        assert keepers.remark is not None
        assert "forked no keeper within" in keepers.remark
        while processes.alive(*gone):
            await asyncio.sleep(0.01)
        await keepers.close()

    asyncio.run(play())
    assert run.ended()["exit_code"] == 0
    assert run.log() == b"once\n"


def test_where_no_nursery_can_be_started_each_keeper_is_an_interpreter(make_run: MakeRun, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(Path(detached.SOURCE) / "accel_tui" / "keeper", source / "accel_tui" / "keeper")
    (source / "accel_tui" / "__init__.py").touch()
    (source / "accel_tui" / "keeper" / "nursery.py").write_text("raise MemoryError\n")
    runs = [make_run(["true"]) for _ in range(2)]

    async def play() -> None:
        keepers = Keepers(prefix=(), source=str(source))
        for run in runs:
            assert (await keepers.start(run.instruction()))["started"]
        assert keepers.nursery is None
        await keepers.close()

    asyncio.run(play())
    assert [run.ended()["exit_code"] for run in runs] == [0, 0]


def test_a_nursery_works_on_when_the_package_vanishes(make_run: MakeRun, tmp_path: Path) -> None:
    """As in an upgrade: what it forks is what it was started from."""
    source = tmp_path / "source"
    shutil.copytree(Path(detached.SOURCE) / "accel_tui" / "keeper", source / "accel_tui" / "keeper")
    (source / "accel_tui" / "__init__.py").touch()
    run = make_run(python("import time; time.sleep(600)"))
    (tmp_path / "locks").mkdir()

    async def play() -> None:
        keepers = Keepers(prefix=(), source=str(source))
        await new_nursery(keepers)
        shutil.rmtree(source)
        order = run.instruction(locks=[str(tmp_path / "locks" / "a.lock")], time_limit=0.2)
        assert (await keepers.start(order))["started"]
        await keepers.close()

    asyncio.run(play())
    assert run.ended()["cause"] == "time-limit"
    assert (run.folder / "keeper.log").read_text() == ""


def test_no_secret_enters_the_nursery(make_run: MakeRun) -> None:
    secret = "s3cr3t" * 5
    run = make_run(python("import os; print(len(os.environ['HF_TOKEN']))"))

    async def play() -> None:
        keepers = Keepers(prefix=(), environment={"PATH": os.environ["PATH"]})
        nursery = await new_nursery(keepers)
        assert (await keepers.start(run.instruction(secrets={"HF_TOKEN": secret})))["started"]
        assert secret.encode() not in memory_of(nursery.pid)
        await keepers.close()

    asyncio.run(play())
    run.ended()
    assert run.log() == b"30\n"


def memory_of(pid: int) -> bytes:
    """What stands in the writable memory of a process."""
    found = b""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            first, last = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw") and "[v" not in line:
                memory.seek(first)
                found += memory.read(last - first)
    return found


def test_a_large_instruction_fits(make_run: MakeRun) -> None:
    run = make_run(python("import os; print(sum(len(value) for value in os.environ.values()) > 900000)"))
    assert run.start(secrets={f"SECRET_{number}": "x" * 100_000 for number in range(9)})["started"]
    run.ended()
    assert run.log() == b"True\n"


def test_an_interpreter_that_cannot_start_a_keeper_is_said() -> None:
    async def play(interpreter: str, seconds: float) -> None:
        keepers = Keepers(prefix=(), python=interpreter, ready_seconds=seconds)
        with pytest.raises(KeeperError, match=interpreter):
            await keepers.start({})
        await keepers.close()

    asyncio.run(play("/no/such/python", 5))
    asyncio.run(play("/bin/false", 5))


STAND_IN = """#!{python}
import json, os, sys
here = {folder!r}
with open(here + "/calls", "a") as file:
    print(json.dumps([sys.argv[1:], os.environ.get("XDG_RUNTIME_DIR")]), file=file)
behaviour = open(here + "/behaviour").read()
if behaviour == "fail":
    sys.exit("Failed to connect to bus: No medium found")
if behaviour == "hang":
    import time
    time.sleep(600)
# As a service would: another environment, no terminal.
argv = sys.argv[sys.argv.index("--") + 1:]
os.execve(argv[0], argv, {{"FROM_MANAGER": "1"}})
"""


class Manager:
    """A stand-in for `systemd-run` with a runtime folder and a linger folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "run" / "systemd" / "private").mkdir(parents=True)
        (folder / "linger").mkdir()
        (folder / "linger" / "somebody").touch()
        program = folder / "bin" / "systemd-run"
        program.parent.mkdir()
        program.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        self.behave("work")
        self.environment = {"PATH": str(program.parent), "XDG_RUNTIME_DIR": str(folder / "run")}
        self.prefix = detached.manager_prefix(self.environment, linger_folder=folder / "linger", user="somebody")

    def behave(self, how: str) -> None:
        (self.folder / "behaviour").write_text(how)

    def calls(self) -> list[list[str]]:
        path = self.folder / "calls"
        return [json.loads(line)[0] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def manager(tmp_path: Path) -> Manager:
    return Manager(tmp_path / "manager")


def test_the_manager_is_used_only_where_it_lasts(manager: Manager, tmp_path: Path) -> None:
    assert manager.prefix[0] == str(manager.folder / "bin" / "systemd-run")
    assert {"--user", "--collect", "--pipe", "KillMode=process"} <= set(manager.prefix)
    linger = manager.folder / "linger"
    assert detached.manager_prefix(manager.environment, linger_folder=linger, user="nobody") == ()
    assert detached.manager_prefix({"PATH": ""}, linger_folder=linger, user="somebody") == ()
    without = detached.manager_prefix(
        manager.environment, linger_folder=linger, user="somebody", runtime_folder=tmp_path / "none"
    )
    assert without == ()


def start_through(manager: Manager, run: KeptRun, *, seconds: float = 20) -> Keepers:
    prefix, environment = manager.prefix, manager.environment
    keepers = Keepers(nursery=run.nursery, prefix=prefix, environment=environment, prefix_seconds=seconds)

    async def play() -> None:
        assert (await keepers.start(run.instruction()))["started"]
        await keepers.close()

    asyncio.run(play())
    return keepers


@pytest.mark.parametrize("nursery", [True, False], indirect=True)
def test_a_keeper_starts_below_the_manager(manager: Manager, make_run: MakeRun, nursery: bool) -> None:
    run = make_run(python("import os; print(os.environ.get('FROM_MANAGER'))"))
    keepers = start_through(manager, run)
    assert keepers.logout_proof
    run.ended()
    assert run.log() == b"None\n", "the manager's environment reaches no run"
    (call,) = manager.calls()
    assert ("accel_tui.keeper.nursery" if nursery else "accel_tui.keeper.main") in call[-1]


@pytest.mark.parametrize(("behaviour", "seconds"), [("fail", 20.0), ("hang", 0.5)])
def test_a_manager_that_fails_or_hangs_is_left_aside(
    manager: Manager, make_run: MakeRun, behaviour: str, seconds: float
) -> None:
    manager.behave(behaviour)
    run = make_run(["true"])
    keepers = start_through(manager, run, seconds=seconds)
    assert run.ended()["exit_code"] == 0
    assert not keepers.logout_proof
    assert keepers.remark is not None
    assert "systemd-run cannot be used" in keepers.remark


STAND_IN_SUPERVISOR = """
import json, os, sys
from pathlib import Path
def main():
    state = sys.argv[sys.argv.index("--state-dir") + 1]
    facts = {"argv": sys.argv[1:], "environment": dict(os.environ), "session": os.getsid(0) == os.getpid()}
    print("to the log", file=sys.stderr)
    Path(state, "facts.tmp").write_text(json.dumps(facts))
    Path(state, "facts.tmp").rename(Path(state, "facts"))
"""


@pytest.fixture
def stand_in_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package in whose supervisor only says how it was started; the starter itself is the real one."""
    source = tmp_path / "source"
    (source / "accel_tui" / "supervisor").mkdir(parents=True)
    (source / "accel_tui" / "__init__.py").touch()
    (source / "accel_tui" / "supervisor" / "__init__.py").touch()
    (source / "accel_tui" / "supervisor" / "main.py").write_text(STAND_IN_SUPERVISOR)
    (source / "accel_tui" / "keeper").symlink_to(Path(detached.SOURCE) / "accel_tui" / "keeper")
    monkeypatch.setattr(detached, "SOURCE", str(source))


@pytest.mark.usefixtures("stand_in_supervisor")
@pytest.mark.parametrize("behaviour", ["plain", "work", "fail", "hang"])
def test_a_supervisor_gets_the_environment_of_its_starter(
    tmp_path: Path, manager: Manager, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detached, "PREFIX_SECONDS", 1.0)
    manager.behave(behaviour)
    state = tmp_path / "state"
    environment = {
        "PATH": os.environ["PATH"],
        "HF_TOKEN": "s" * 30,
        "ODD": "\udcff ✓",
        "ACCEL_TUI_RUN": "the-outer-run",
    }
    start_supervisor(str(state), None, environment, prefix=() if behaviour == "plain" else manager.prefix)
    facts = json.loads(wait_for(lambda: (state / "facts").exists() and (state / "facts").read_text()) or "")
    assert facts["argv"] == ["--state-dir", str(state)]
    assert facts["session"]
    expected = {name: value for name, value in environment.items() if name != "ACCEL_TUI_RUN"}
    assert {name: facts["environment"].get(name) for name in expected} == expected
    assert "FROM_MANAGER" not in facts["environment"]
    assert (state / "supervisor.log").read_text() == "to the log\n"
    assert state.stat().st_mode & 0o777 == 0o700
    assert "s" * 30 not in json.dumps(manager.calls())
    assert bool(manager.calls()) == (behaviour != "plain")


def test_a_supervisor_that_cannot_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(SupervisorError, match=str(tmp_path / "state")):
        start_supervisor(str(tmp_path / "state"), None, {}, prefix=())


def test_a_demonstration_has_a_folder_of_its_own(tmp_path: Path) -> None:
    argv = supervisor_argv(str(tmp_path), "server8")
    assert argv[-4:] == ["--state-dir", str(tmp_path), "--demo", "server8"]
    assert argv[0] == sys.executable
