"""Queueing, listing, ordering, stopping and removing runs, as the command line does it."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

from support.command_line import CommandLine
from support.schemas import check
from support.waiting import wait_for

ID = re.compile(r"\d{8}-\d{6}-[0-9a-z]{4}")
SLEEP = ("sleep", "600")


def test_run_prints_the_id_and_nothing_else_on_standard_output(cli: CommandLine) -> None:
    answer = cli("run", "--devices", "none", "--", "true").expect(0)
    assert ID.fullmatch(answer.out.strip())
    assert "logs -f" in answer.err
    document = cli("run", "--devices", "none", "--json", "--name", "second", "--", "true").expect(0)
    check("submitted", document.json())
    assert (document.json()["name"], document.err) == ("second", "")


def test_wait_ends_with_the_result_of_the_run(cli: CommandLine) -> None:
    cli("run", "--devices", "none", "--wait", "--", "true").expect(0)
    failed = cli("run", "--devices", "none", "--wait", "--json", "--", "sh", "-c", "echo no; exit 3").expect(1).json()
    check("run", failed)
    assert (failed["result"], failed["exit_code"], failed["signal"], failed["cause"]) == ("failed", 3, None, "exit")
    killed = cli("run", "--devices", "none", "--wait", "--json", "--", "sh", "-c", "kill -9 $$").expect(1).json()
    assert (killed["exit_code"], killed["signal"]) == (None, "SIGKILL")
    missing = cli("run", "--devices", "none", "--wait", "--json", "--", "/no/such/program").code
    assert missing in (1, 6)


def test_follow_shows_the_log_and_the_end(cli: CommandLine) -> None:
    answer = cli("run", "--devices", "none", "--follow", "--", "sh", "-c", "echo one; echo two >&2; printf three")
    answer.expect(0)
    ident, *lines = answer.out.splitlines()
    assert ID.fullmatch(ident)
    assert lines == ["one", "two", "three"]
    assert "succeeded" in answer.err
    both = cli("run", "--devices", "none", "--follow", "--json", "--", "echo", "hello").expect(0)
    check("run", both.json())
    assert "hello" in both.err


def test_stop_with_wait_tells_how_the_runs_ended(cli: CommandLine) -> None:
    idents = [cli.queue(*SLEEP), cli.queue(*SLEEP)]
    for ident in idents:
        cli.wait_state(ident, "running")
    stopped = cli("stop", "--now", "--wait", "--json", idents[0]).expect(0).json()
    check("done", stopped)
    assert [(run["state"], run["result"]) for run in stopped["runs"]] == [("finished", "stopped")]
    assert "stopped" in cli("stop", "--now", "--wait", idents[1]).expect(0).err


def test_runs_and_show(cli: CommandLine) -> None:
    check("runs", cli("runs", "--json").expect(0).json())
    assert "No runs yet." in cli("runs").expect(0).out
    first = cli.queue("true", name="first")
    second = cli.queue(*SLEEP, name="second")
    cli.wait_state(first, "finished")
    cli.wait_state(second, "running")
    listed = cli("runs", "--json").expect(0).json()
    check("runs", listed)
    assert [run["name"] for run in listed["runs"]] == ["second", "first"]
    assert [run["name"] for run in cli("runs", "--json", "--state", "running").json()["runs"]] == ["second"]
    assert [run["name"] for run in cli("runs", "--json", "--name", "^fi").json()["runs"]] == ["first"]
    text = cli("runs").expect(0).out
    assert "● running" in text
    assert "✓ succeeded" in text
    shown = cli("show", first, "--json").expect(0).json()
    check("run", shown)
    assert shown["result"] == "succeeded"
    assert first in cli("show", first).expect(0).out


def test_what_a_run_may_be_called(cli: CommandLine) -> None:
    first = cli.queue("true", name="twin")
    second = cli.queue("true", name="twin")
    assert cli.show("twin")["id"] == second
    assert cli.show("last")["id"] == second
    assert cli.show(first)["id"] == first
    unique = next(first[:length] for length in range(4, len(first) + 1) if not second.startswith(first[:length]))
    assert cli.show(unique)["id"] == first
    several = cli("show", first[:8], "--json").expect(2).json()
    check("error", several)
    assert first in several["error"]["message"] + str(several["error"]["remedy"])
    check("error", cli("show", "nobody", "--json").expect(7).json())
    assert "nobody" in cli("show", "nobody").expect(7).err


def test_stop(cli: CommandLine) -> None:
    running = cli.queue(*SLEEP)
    cli.wait_state(running, "running")
    cli("stop", running, "--wait").expect(0)
    stopped = cli.show(running)
    assert (stopped["state"], stopped["result"], stopped["cause"]) == ("finished", "stopped", "stopped-by-user")
    again = cli("stop", running).expect(0)
    assert "finished" in again.err
    check("done", cli("stop", running, "--json").expect(0).json())
    held = cli.queue("true")
    waited = cli.start("run", "--devices", "none", "--wait", "--name", "waited", "--", *SLEEP)
    cli.wait_state("waited", "running")
    cli("stop", "waited", "--now", held).expect(0)
    assert waited.wait(30) == 1
    waited.communicate()
    cli("stop", "nobody").expect(7)


def test_hold_release_and_order(cli: CommandLine) -> None:
    blocker = cli.queue(*SLEEP, devices="cpu")
    cli.wait_state(blocker, "running")
    queued = [cli.queue("true", devices="cpu", name=name) for name in ("a", "b", "c")]
    cli("hold", *queued).expect(0)
    assert cli.show("a")["state"] == "queued"
    moved = cli("move", "c", "--first", "--json").expect(0).json()
    check("run", moved)
    cli("move", "a", "--before", "b").expect(0)
    cli("move", blocker, "--first").expect(8)
    cli("release", "a", "b", "c").expect(0)
    cli("hold", blocker).expect(8)
    cli("stop", blocker, "--now", "--wait").expect(0)
    ended = [cli.wait_state(name, "finished") for name in ("c", "a", "b")]
    assert [run["result"] for run in ended] == ["succeeded"] * 3
    assert ended[0]["started"] <= ended[1]["started"] <= ended[2]["started"]


def test_after_waits_for_the_end_or_the_success(cli: CommandLine) -> None:
    failing = cli.queue("sh", "-c", "exit 1", name="failing")
    anyway = cli.queue("true", name="anyway", flags=("--after", "failing"))
    only_ok = cli.queue("true", name="only-ok", flags=("--after", f"{failing}:ok"))
    assert cli.wait_state(anyway, "finished")["result"] == "succeeded"
    unmet = cli.wait_state(only_ok, "finished")
    assert (unmet["result"], unmet["cause"]) == ("not-started", "dependency-failed")
    cli("run", "--devices", "none", "--after", "nobody", "--", "true").expect(7)


def test_stopping_a_queued_run(cli: CommandLine) -> None:
    blocker = cli.queue(*SLEEP, devices="cpu")
    cli.wait_state(blocker, "running")
    queued = cli.queue("true", devices="cpu")
    assert cli.show(queued)["state"] == "queued"
    cli("stop", queued, "--wait").expect(0)
    assert cli.show(queued)["result"] == "stopped"
    cli("stop", blocker, "--now", "--wait").expect(0)


def test_remove(cli: CommandLine) -> None:
    ended = cli.queue("true")
    cli.wait_state(ended, "finished")
    folder = Path(cli.show(ended)["folder"])
    assert folder.is_dir()
    cli("remove", ended).expect(0)
    assert not folder.exists()
    cli("show", ended).expect(7)
    running = cli.queue(*SLEEP)
    cli.wait_state(running, "running")
    cli("remove", running).expect(8)
    cli("stop", running, "--now", "--wait").expect(0)


def test_rerun(cli: CommandLine, own_world: Path) -> None:
    mark = own_world / "mark"
    script = f'echo "$WORD" >> {mark}'
    first = cli("run", "--devices", "none", "--wait", "--json", "--", "sh", "-c", script,
                environment={"WORD": "one"}).expect(0).json()["id"]  # fmt: skip
    planned_anew = cli("rerun", first, "--wait", "--json", environment={"WORD": "two"}).expect(0).json()
    assert planned_anew["retry_of"] == first
    cli("rerun", first, "--exact", "--wait", environment={"WORD": "three"}).expect(0)
    changed = cli("rerun", first, "--set", "launch.env.WORD=four", "--devices", "cpu", "--wait", "--json").expect(0)
    assert changed.json()["devices"] == ["cpu"]
    assert mark.read_text().split() == ["one", "two", "one", "four"]
    cli("rerun", first, "--exact", "--set", "name=x").expect(2)
    cli("rerun", first, "--exact", "--resume").expect(2)
    assert "no training" in cli("rerun", first, "--resume").expect(8).err
    cli("rerun", first, "--set", "launch.proceses=2").expect(2)


def test_many_of_a_file(cli: CommandLine, own_world: Path) -> None:
    file = own_world / "many.toml"
    file.write_text(
        '[devices]\nselect = "none"\n'
        '[[job]]\nname = "a"\nkind = "command"\n[job.command]\nargv = ["true"]\n'
        '[[job]]\nname = "b"\nkind = "command"\n[job.command]\nargv = ["true"]\n'
    )
    everything = cli("run", str(file), "--all", "--json").expect(0).json()
    check("submitted", everything)
    assert [run["name"] for run in everything["runs"]] == ["a", "b"]
    assert cli("run", f"{file}#b", "--wait", "--json").expect(0).json()["name"] == "b"


def test_a_secret_of_one_job_is_stored_with_none_of_its_file(cli: CommandLine, own_world: Path) -> None:
    file = own_world / "shared.toml"
    file.write_text(
        '[devices]\nselect = "none"\n'
        '[[job]]\nname = "a"\nkind = "command"\n[job.command]\nargv = ["true"]\n[job.launch]\nenv_from = ["MINE"]\n'
        '[[job]]\nname = "b"\nkind = "command"\n[job.command]\nargv = ["sh", "-c", \'test -n "$MINE"\']\n'
    )
    runs = cli("run", str(file), "--all", "--json", environment={"MINE": "planted-value"}).expect(0).json()["runs"]
    ended = [cli.wait_state(run["id"], "finished") for run in runs]
    assert [run["result"] for run in ended] == ["succeeded", "succeeded"]
    files = [path for path in (own_world / "state").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"planted-value" in path.read_bytes()]


def test_a_run_tells_its_submitter_the_warnings_of_its_plan(cli: CommandLine) -> None:
    command = ("--devices", "gaudi:0", "--", "true")
    told = cli("--demo", "server8", "run", *command).expect(0)
    assert "simulated" in told.err
    warnings = cli("--demo", "server8", "run", "--json", *command).expect(0).json()["warnings"]
    assert "simulated" in [warning["code"] for warning in warnings]
    cli("--demo", "server8", "supervisor", "stop").expect(0)


def test_a_halted_supervisor_is_told_and_can_be_ended(cli: CommandLine) -> None:
    run = cli.queue(*SLEEP)
    cli.wait_state(run, "running")
    pid = cli.supervisor()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    found = {one["id"]: one for one in cli("doctor", "--json").json()["checks"]}["supervisor"]
    assert found["level"] == "warning"
    assert f"kill -CONT {pid}" in found["remedy"]
    ended = cli("supervisor", "stop", "--json").expect(0)
    check("supervisor-status", ended.json())
    assert "it was halted" in ended.err
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the supervisor")
    assert cli.show(run)["state"] == "running"


def test_the_whole_story_of_a_run(cli: CommandLine) -> None:
    run = cli.queue(*SLEEP, flags=("--after", cli.queue(*SLEEP, name="first")))
    cli("hold", run).expect(0)
    cli("release", run).expect(0)
    cli("stop", "first", "--now", "--wait").expect(0)
    cli.wait_state(run, "running")
    cli("stop", run, "--now", "--wait").expect(0)
    shown = cli.show(run)
    check("run", shown)
    told = [moment["what"] for moment in shown["story"]]
    states = ("queued", "submit", "hold", "release", "preparing", "starting", "running", "finished")
    assert [what for what in told if what in states] == list(states)
    assert {"stop", "stopping"} < set(told)
    assert next(moment["by"] for moment in shown["story"] if moment["what"] == "hold").endswith(")")
    assert sorted(moment["time"] for moment in shown["story"]) == [moment["time"] for moment in shown["story"]]
    assert "hold by" in cli("show", run).expect(0).out


def test_supervisor_status_and_stop(cli: CommandLine) -> None:
    status = cli("supervisor", "status", "--json").expect(0).json()
    check("supervisor-status", status)
    assert status["pid"] is None
    cli("supervisor", "stop").expect(0)
    running = cli.queue(*SLEEP)
    cli.wait_state(running, "running")
    status = cli("supervisor", "status", "--json").expect(0).json()
    check("supervisor-status", status)
    assert (status["running"], status["queued"]) == (1, 0)
    assert "go on" in cli("supervisor", "stop").expect(0).err
    assert cli.supervisor() is None
    assert cli.show(running)["state"] == "running"
    cli("stop", running, "--now", "--wait").expect(0)


def test_a_failing_script_is_told_by_its_exception(cli: CommandLine, own_world: Path) -> None:
    (own_world / "bad.py").write_text("raise ValueError('the rate is negative')\n")
    failed = cli("run", "--devices", "none", "--wait", "--", sys.executable, "bad.py", cwd=own_world).expect(1)
    assert "ValueError: the rate is negative" in failed.err
    assert "ValueError: the rate is negative" in cli("runs").out
    assert cli.show("last")["diagnosis"]["id"] == "python-exception"
