"""How runs end: by request, in order; by their time limit; by what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from accel_tui.keeper import processes
from accel_tui.keeper.stop import run_processes
from support.keeping import KeptRun, MakeRun, python
from support.waiting import wait_for

NOTE = """
import os, signal, sys, time
def note(*what):
    os.write(1, (" ".join(map(str, what)) + "\\n").encode())
def on(name, last=False):
    def handler(*_):
        note(name, "TERM")
        if last: os._exit(0)
    signal.signal(signal.SIGTERM, handler)
"""

# The main process and a child of it; each says when SIGTERM reaches it. `sys.argv[1:]` says who ends by it.
PAIR = (
    NOTE
    + """
if os.fork():
    on("main", "main" in sys.argv)
    note("main up")
    while True: time.sleep(60)
on("child", "child" in sys.argv)
note("child up")
while True: time.sleep(60)
"""
)

# A launcher, rank 0's worker with its event file, and another rank; the launcher ends when both have.
WORKERS = (
    NOTE
    + """
import json
folder, saves = sys.argv[1], "saves" in sys.argv
ranks = []
for rank in (0, 1):
    pid = os.fork()
    if not pid:
        on(f"rank{rank}", rank == 0 and saves or "all" in sys.argv)
        start = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
        with open(f"{folder}/events/rank-{rank}.jsonl", "w") as file:
            file.write(json.dumps({"event": "start", "rank": rank, "pid": os.getpid(), "start_time": start}) + "\\n")
        note(f"rank{rank} up")
        while True: time.sleep(60)
    ranks.append(pid)
on("launcher")
os.waitpid(ranks[0], 0)
os.kill(ranks[1], signal.SIGKILL)
os.waitpid(ranks[1], 0)
"""
)


def up(run: KeptRun, *names: str, **changes: object) -> None:
    assert run.start(**changes)["started"]
    for name in names:
        run.wait_log(f"{name} up\n".encode())


def test_a_command_is_asked_first_alone_then_with_all_then_killed(make_run: MakeRun) -> None:
    run = make_run(python(PAIR))
    up(run, "main", "child")
    run.stop()
    record = run.ended()
    assert run.log().splitlines()[2:] in (
        [b"main TERM", b"main TERM", b"child TERM"],
        [b"main TERM", b"child TERM", b"main TERM"],
    )
    assert (record["cause"], record["stopped"], record["signal"]) == ("stopped-by-user", True, "SIGKILL")
    assert run.state()["state"] == "stopping"


def test_children_are_asked_as_soon_as_the_main_process_is_gone(make_run: MakeRun) -> None:
    run = make_run(python(PAIR, "main", "child"))
    up(run, "main", "child", grace_seconds=300)
    run.stop()
    record = run.ended()
    assert run.log().splitlines()[2:] == [b"main TERM", b"child TERM"]
    assert (record["exit_code"], record["stopped"]) == (0, True)


def test_a_worker_saves_undisturbed(make_run: MakeRun) -> None:
    run = make_run(python(WORKERS, "FOLDER", "saves"))
    run.change_argument("FOLDER", str(run.folder))
    up(run, "rank0", "rank1", worker=True, save_seconds=300)
    run.stop()
    record = run.ended()
    assert run.log().splitlines()[2:] == [b"rank0 TERM"], "neither launcher nor other ranks are signalled"
    assert (record["exit_code"], record["cause"]) == (0, "stopped-by-user")


def test_workers_that_do_not_save_in_time_are_ended(make_run: MakeRun) -> None:
    run = make_run(python(WORKERS, "FOLDER"))
    run.change_argument("FOLDER", str(run.folder))
    up(run, "rank0", "rank1", worker=True, save_seconds=0.5)
    run.stop()
    record = run.ended()
    lines = run.log().splitlines()[2:]
    assert lines[0] == b"rank0 TERM"
    assert sorted(lines[1:]) == [b"launcher TERM", b"rank0 TERM", b"rank1 TERM"]
    assert record["signal"] == "SIGKILL"


def test_a_recycled_pid_in_the_events_is_not_signalled(make_run: MakeRun) -> None:
    """The file names a live process, with the start time of another: nothing to save, all are asked."""
    bystander = make_run(python(NOTE + "on('bystander'); note('bystander up'); time.sleep(600)"))
    up(bystander, "bystander")
    pid, start = bystander.state()["main"]
    run = make_run(python(PAIR, "main", "child"))
    event = {"event": "start", "pid": pid, "start_time": start - 1}
    (run.folder / "events" / "rank-0.jsonl").write_text(json.dumps(event) + "\n")
    up(run, "main", "child", worker=True, save_seconds=300)
    run.stop()
    run.ended()
    assert sorted(run.log().splitlines()[2:]) == [b"child TERM", b"main TERM"]
    assert bystander.log() == b"bystander up\n"


@pytest.mark.parametrize("kind", ["missing", "fifo", "text", "deep"])
def test_events_that_name_no_worker_do_not_hold_up_a_stop(make_run: MakeRun, kind: str) -> None:
    run = make_run(python(PAIR, "main", "child"))
    path = run.folder / "events" / "rank-0.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind != "missing":
        path.write_text("no JSON\n" if kind == "text" else "[" * 60000)
    up(run, "main", "child", worker=True, save_seconds=300)
    run.stop()
    assert run.ended()["exit_code"] == 0
    assert sorted(run.log().splitlines()[2:]) == [b"child TERM", b"main TERM"]


def test_now_hastens_a_stop_that_is_under_way(make_run: MakeRun) -> None:
    run = make_run(python(PAIR))
    up(run, "main", "child", grace_seconds=300)
    run.stop()
    run.wait_log(b"main TERM\n")
    run.stop()  # again: nothing new
    run.stop(now=True)
    record = run.ended()
    assert run.log().splitlines()[2:] == [b"main TERM"]
    assert (record["cause"], record["signal"]) == ("stopped-by-user", "SIGKILL")


def test_now_asks_nobody(make_run: MakeRun) -> None:
    run = make_run(python(PAIR))
    up(run, "main", "child", grace_seconds=300)
    run.stop(now=True)
    assert run.ended()["signal"] == "SIGKILL"
    assert len(run.log().splitlines()) == 2


def test_a_request_is_found_without_a_signal(make_run: MakeRun) -> None:
    run = make_run(python(PAIR, "main", "child"))
    up(run, "main", "child")
    (run.folder / "stop.json").write_text("{ not JSON")
    assert run.ended()["cause"] == "stopped-by-user"


def test_a_stop_before_the_start_starts_nothing(make_run: MakeRun) -> None:
    run = make_run(["touch", "started"])
    (run.folder / "stop.json").write_text("{}")
    answer = run.start()
    assert not answer["started"]
    record = run.ended()
    assert (record["cause"], record["stopped"], record["started"]) == ("stopped-by-user", True, None)
    assert not (run.root / "started").exists()
    again = run.start()
    assert again["reason"] == "damaged", "an ended run is never started"
    assert run.record() == record


def test_the_time_limit_stops_and_is_written_down(make_run: MakeRun) -> None:
    run = make_run(python(PAIR, "main", "child"))
    up(run, "main", "child", time_limit=1)
    record = run.ended()
    assert (record["cause"], record["stopped"]) == ("time-limit", True)
    assert b"main TERM" in run.log()
    request = json.loads((run.folder / "stop.json").read_text())
    assert (request["cause"], request["now"]) == ("time-limit", False)


def test_a_termination_of_the_keeper_is_a_stop(make_run: MakeRun) -> None:
    run = make_run(python(PAIR, "main", "child"))
    up(run, "main", "child")
    for signo in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        assert processes.signal_exact(*run.keeper(), signo)
    assert run.ended()["cause"] == "stopped-by-user"
    assert (run.folder / "stop.json").exists()


ESCAPE = (
    NOTE
    + """
def leave(clear):
    if os.fork():
        return
    os.setsid()
    if os.fork(): os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if clear: os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo cleared up; while :; do sleep 1; done"], {})
    note("daemon up")
    while True: time.sleep(60)
leave(False)
leave(True)
note("main up")
while not os.path.exists("go"): time.sleep(0.02)
"""
)


def tree(run: KeptRun) -> list[tuple[int, int]]:
    below = processes.descendants(run.keeper()[0])
    return below + [process for process in processes.tagged(run.tag) if process not in below]


def test_escapees_are_ended(make_run: MakeRun) -> None:
    run = make_run(python(ESCAPE))
    up(run, "main", "daemon", "cleared")
    everything = tree(run)
    assert len(everything) >= 3
    run.stop()
    run.ended()
    assert not [pid for pid, start in everything if processes.alive(pid, start)]


def test_what_the_main_process_leaves_behind_is_ended_after_a_while(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(python(ESCAPE))
    up(run, "main", "daemon", "cleared")
    everything = tree(run)
    (tmp_path / "go").touch()
    record = run.ended()
    assert (record["exit_code"], record["cause"], record["stopped"]) == (0, "exit", False)
    assert "others behind" in record["message"]
    assert not [pid for pid, start in everything if processes.alive(pid, start)]


def test_ranks_do_not_survive_their_launcher(make_run: MakeRun) -> None:
    run = make_run(python(WORKERS, "FOLDER"))
    run.change_argument("FOLDER", str(run.folder))
    up(run, "rank0", "rank1", worker=True)
    pid, start = run.state()["main"]
    processes.signal_exact(pid, start, signal.SIGKILL)
    record = run.ended()
    assert (record["signal"], record["cause"]) == ("SIGKILL", "signal")
    assert "for lack of memory" in record["message"]
    assert not processes.tagged(run.tag)


def test_a_halted_process_is_asked_too(make_run: MakeRun) -> None:
    run = make_run(python(PAIR, "main", "child"))
    up(run, "main", "child")
    for process in processes.descendants(run.keeper()[0]):
        processes.signal_exact(*process, signal.SIGSTOP)
    run.stop()
    assert run.ended()["exit_code"] == 0
    assert sorted(run.log().splitlines()[2:]) == [b"child TERM", b"main TERM"]


def test_a_killed_keeper_leaves_run_log_and_lock(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    lock = str(tmp_path / "locks" / "card.lock")
    code = "import os, time\nfor i in range(300):\n print(i, flush=True)\n"
    code += " while i > 100 and not os.path.exists('go'): time.sleep(0.02)"
    run = make_run(python(code))
    run.start(locks=[lock])
    run.kill_keeper()
    pid, start = run.state()["main"]
    assert processes.alive(pid, start)
    other = make_run(["true"])
    answer = other.start(locks=[lock])
    assert answer["reason"] == "busy"
    assert run.tag in answer["holder"], "the keeper is gone: what the file claims is all there is"
    assert processes.tagged(run.tag) == [(pid, start)]
    (tmp_path / "go").touch()
    wait_for(lambda: not processes.alive(pid, start), what="the end of the job")
    assert run.log() == b"".join(b"%d\n" % number for number in range(300))
    assert run.record() is None
    assert other.start(locks=[lock])["started"]


def test_the_sizes_of_a_growing_log_are_noted(make_run: MakeRun, tmp_path: Path) -> None:
    code = "import os, time\nprint('a', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('bc')"
    run = make_run(python(code))
    before = time.time()
    run.start()
    wait_for((run.folder / "log.times").exists, what="the first note")
    (tmp_path / "go").touch()
    run.ended()
    lines = [line.split() for line in (run.folder / "log.times").read_text().splitlines()]
    assert [int(size) for _, size in lines] == [2, 5]
    assert all(float(moment) >= before - 1 for moment, _ in lines)


def queue(run: KeptRun, **fields: object) -> None:
    folder = run.folder.parent / "20260101-000000-wait"
    folder.mkdir(exist_ok=True)
    (folder / "state.json").write_text(json.dumps({"schema": 1, "state": "queued", "held": None, **fields}))


def revival(run: KeptRun) -> dict[str, object]:
    code = "import os, sys; open(sys.argv[1], 'w').write(os.environ['WHO'] + str(os.getsid(0) == os.getpid()))"
    marker = str(run.root / "revived")
    return {"revive": python(code, marker), "revive_environment": {"WHO": "client "}}


def test_a_waiting_queue_is_revived_in_the_environment_of_the_supervisor(make_run: MakeRun) -> None:
    run = make_run(["true"])
    queue(run)
    run.start(**revival(run))
    run.ended()
    marker = run.root / "revived"
    wait_for(lambda: marker.exists() and marker.read_text() == "client True", what="the revival")


def test_nothing_is_revived_for_held_runs_or_beside_a_living_supervisor(make_run: MakeRun) -> None:
    import fcntl

    for held in (False, True):
        run = make_run(["true"])
        queue(run, held=None if held else "needs HF_TOKEN")
        with (run.root / "supervisor.lock").open("w") as lock:
            if held:
                fcntl.flock(lock, fcntl.LOCK_EX)
            run.start(**revival(run))
            run.ended()
    assert not (run.root / "revived").exists()
    assert not (run.root / "supervisor.log").exists(), "not even tried"


def test_pids_are_guarded_by_start_times() -> None:
    me, start = os.getpid(), processes.start_time(os.getpid())
    assert start is not None
    assert processes.alive(me, start)
    assert not processes.alive(me, start + 1)
    assert not processes.signal_exact(me, start + 1, signal.SIGKILL)
    assert processes.signal_exact(me, start, signal.SIGCONT)
    assert processes.start_time(2**22 + 1) is None
    assert (me, start) not in run_processes("no-such-run")


# Starts another run's keeper from inside a run, as a script does that queues a further run.
NESTED = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from accel_tui.executors.local import Keepers
async def start():
    keepers = Keepers(nursery=sys.argv[3] == "True", prefix=())
    print(await keepers.start(json.loads(open(sys.argv[2]).read())))
    await keepers.close()
asyncio.run(start())
"""

UNTIL_ASKED = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"


@pytest.mark.parametrize("nursery", [True, False], indirect=True)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_was_started_from_inside_a_run_has_its_own_life(
    make_run: MakeRun, tmp_path: Path, nursery: bool, stopped: bool
) -> None:
    go = tmp_path / "go"
    inner = make_run([*python(UNTIL_ASKED), str(go)])
    order = tmp_path / "order.json"
    order.write_text(json.dumps(inner.instruction()))
    source = str(Path(processes.__file__).parents[2])
    outer = make_run(
        [*python(NESTED + ("import time; time.sleep(600)" if stopped else "")), source, str(order), str(nursery)]
    )
    assert outer.start()["started"]
    wait_for(lambda: inner.state()["state"] == "running", what="the inner run")
    if stopped:
        outer.stop()
    record = outer.ended()
    assert record["signal" if stopped else "exit_code"] == ("SIGTERM" if stopped else 0)
    assert processes.alive(*inner.state()["main"])
    assert processes.alive(*inner.keeper())
    go.touch()
    assert inner.ended()["exit_code"] == 0
