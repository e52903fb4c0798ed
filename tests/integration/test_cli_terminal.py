"""On a terminal: what is shown, what never reaches it, and what Ctrl+C does."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from support.command_line import PROGRAM, CommandLine, changed
from support.terminal import Terminal
from support.waiting import wait_for

XTERM = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": None, "LC_CTYPE": None}
# Our own colours: bold, dim, reverse, a colour of the palette, and back.
OWN = re.compile(rb"\x1b\[(?:0|1|2|7|3[0-7]|9[0-7])m")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\x9b5n\x1bP+q\x1b\\\u202eevil\x07\x08"


TWO_JOBS = "".join(
    f'[[job]]\nname = "{name}"\nkind = "command"\n[job.command]\nargv = ["true"]\n' for name in ("one", "other")
)


def terminal(*argv: str, **more: str | None) -> Terminal:
    return Terminal([*PROGRAM, *argv], changed({**XTERM, **more}))


def clean(seen: bytes) -> None:
    """Nothing on the terminal steers it, apart from our own colours and line ends."""
    text = OWN.sub(b"", seen).decode("utf-8").replace("\r\n", "\n")
    bad = sorted({char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0})
    assert not bad, f"{bad!r} in {text!r}"
    assert "\u202e" not in text


def test_ctrl_c_while_following_detaches_and_the_run_goes_on(cli: CommandLine) -> None:
    script = "echo begun; sleep 600"
    with terminal("run", "--devices", "none", "--name", "long", "--follow", "--", "sh", "-c", script) as shown:
        shown.read_until(b"begun")
        shown.press(b"\x03")
        shown.read_until(b"detached: the run goes on")
        assert shown.wait() == 130
    assert cli.show("long")["state"] == "running"
    with terminal("logs", "-f", "long") as shown:
        shown.read_until(b"begun")
        shown.press(b"\x03")
        assert shown.wait() == 130
    cli("stop", "long", "--now", "--wait").expect(0)


def test_hang_up_while_following_leaves_the_run(cli: CommandLine) -> None:
    with terminal(
        "run", "--devices", "none", "--name", "long", "--follow", "--", "sh", "-c", "echo begun; sleep 600"
    ) as shown:
        shown.read_until(b"begun")
        shown.hang_up()
        shown.process.wait(30)
    assert cli.show("long")["state"] == "running"
    cli("stop", "long", "--now", "--wait").expect(0)


def test_hostile_output_names_and_paths_never_reach_the_terminal(cli: CommandLine, own_world: Path) -> None:
    folder = own_world / HOSTILE.replace("/", "_")
    folder.mkdir()
    script = 'printf \'%s\\n%s\\r%s\\n\' "$1" "$1" ok'
    ident = cli("run", "--devices", "none", "--wait", "--json", "--", "sh", "-c", script, "sh", HOSTILE,
                cwd=folder).expect(0).json()["id"]  # fmt: skip
    hostile_file = folder / "log.txt"
    hostile_file.write_text(HOSTILE)
    for argv in (
        ["logs", ident],
        ["logs", "--file", str(hostile_file)],
        ["logs", "--file", str(folder / f"{HOSTILE}.log")],
        ["show", ident],
        ["runs"],
        ["plan", str(folder / "no.toml")],
        ["show", HOSTILE],
        ["exec", "--devices", "none", "--", f"/{HOSTILE}"],
    ):
        with terminal(*argv) as shown:
            shown.wait()
            clean(shown.seen)
    with terminal("run", "--devices", "none", "--follow", "--", "sh", "-c", script, "sh", HOSTILE) as shown:
        shown.wait()
        clean(shown.seen)
        assert b"ok" in shown.seen


def test_raw_is_refused_on_a_terminal_only(cli: CommandLine) -> None:
    ident = cli("run", "--devices", "none", "--wait", "--json", "--", "printf", "a\\033[31mb").expect(0).json()["id"]
    with terminal("logs", ident, "--raw") as shown:
        assert shown.wait() == 2
        clean(shown.seen)
    process = cli.start("logs", ident, "--raw")
    out, _ = process.communicate(timeout=30)
    assert out == b"a\x1b[31mb"


@pytest.mark.parametrize(("more", "signs"), [({}, "●◷✓"), ({"LC_ALL": "C"}, "*q+"), ({"LANG": "POSIX"}, "*q+")])
def test_signs_follow_the_locale(cli: CommandLine, more: dict[str, str], signs: str) -> None:
    cli("run", "--devices", "none", "--wait", "--", "true").expect(0)
    with terminal("runs", **more) as shown:
        shown.wait()
    assert f"{signs[2]} succeeded".encode() in shown.seen
    with terminal("runs", "--ascii") as shown:
        shown.wait()
    assert shown.seen.isascii()


def test_no_color_leaves_bold_and_dim(cli: CommandLine) -> None:
    with terminal("devices", NO_COLOR="1") as shown:
        shown.wait()
    assert set(re.findall(rb"\x1b\[(\d+)m", shown.seen)) <= {b"0", b"1", b"2", b"7"}
    with terminal("devices", TERM="dumb") as shown:
        shown.wait()
    assert b"\x1b" not in shown.seen


def test_without_a_terminal_the_state_is_printed_once(cli: CommandLine) -> None:
    for argv in ([], ["--plain"], ["--read-only"]):
        answer = cli(*argv).expect(0)
        assert "cpu" in answer.out
        assert "No runs yet." in answer.out
    for name in ("dumb", ""):
        with terminal(TERM=name) as shown:
            assert shown.wait() == 0
        assert b"cpu" in shown.seen


def test_plain_on_a_terminal_prints_changes_until_interrupted(cli: CommandLine) -> None:
    with terminal("--plain") as shown:
        shown.read_until(b"No runs yet.")
        ident = cli.queue("true", name="noticed")
        shown.read_until(b"succeeded")
        assert ident.encode() in shown.seen
        shown.press(b"\x03")
        assert shown.wait() == 130
        clean(shown.seen.replace(b"^C", b""))


def test_watch_prints_documents_until_interrupted(cli: CommandLine) -> None:
    process = cli.start("devices", "--watch", "--json")
    assert process.stdout is not None
    first, second = process.stdout.readline(), process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.communicate()
    for line in (first, second):
        assert b'"devices"' in line


def test_a_reader_that_leaves_is_no_fault(cli: CommandLine, own_world: Path) -> None:
    log = own_world / "long.log"
    log.write_text("line\n" * 200_000)
    process = cli.start("logs", "--file", str(log))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 0
    assert complaint == b""


def test_following_a_file_shows_what_is_added(cli: CommandLine, own_world: Path) -> None:
    log = own_world / "grows.log"
    log.write_text("first\n[rank3]:third rank\nERROR: here\n")
    assert cli("logs", "--file", str(log), "--rank", "3").expect(0).out == "third rank\n"
    assert cli("logs", "--file", str(log), "--errors").expect(0).out == "ERROR: here\n"
    assert (
        "Nothing that tells of an error" in cli("logs", "--file", str(log), "--errors", "--grep", "first").expect(0).err
    )
    assert cli("logs", "--file", str(log), "--grep", "^fir").expect(0).out == "first\n"
    with terminal("logs", "--file", str(log), "-f") as shown:
        shown.read_until(b"ERROR: here")
        with log.open("a") as stream:
            stream.write("and more\n")
        shown.read_until(b"and more")
        shown.press(b"\x03")
        assert shown.wait() == 130


def test_completion(cli: CommandLine, own_world: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "accel-tui" in cli("completion", shell).expect(0).out
    cli("completion", "tcsh").expect(2)
    assert "devices" in completed("accel-tui dev", own_world)
    assert cli.supervisor() is None  # completing never starts one
    ident = cli.queue("true", name="findable")
    assert "findable" in completed("accel-tui show find", own_world)
    assert ident in completed(f"accel-tui logs {ident[:6]}", own_world)
    assert "cpu" in completed("accel-tui run --devices c", own_world)
    assert completed("accel-tui run --demo serv", own_world).split() == ["server8"]
    assert completed("accel-tui --theme okabe-", own_world).split() == ["okabe-light"]
    demo = CommandLine("--demo", "gaudi3")
    demo("devices").expect(0)
    assert completed("accel-tui --demo gaudi3 run --devices gaudi:0,gaudi:7", own_world).split() == ["gaudi:0,gaudi:7"]
    demo.close()
    (own_world / "two.toml").write_text(TWO_JOBS)
    assert completed("accel-tui plan two.toml#", own_world).split() == ["two.toml#one", "two.toml#other"]
    (own_world / "mine.toml").write_text("")
    assert "mine.toml" in completed("accel-tui plan mi", own_world)
    cli.wait_state(ident, "finished")


def completed(line: str, folder: Path) -> str:
    """What the shell is offered at the end of `line`, by argcomplete's protocol: answers on descriptor 8."""
    import subprocess

    reading, writing = os.pipe()
    environment = changed({"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line,
                           "COMP_POINT": str(len(line)), "COMP_TYPE": "9"})  # fmt: skip
    code = f'exec 8>&{writing} 9>/dev/null; exec "$@"'
    with subprocess.Popen(
        ["bash", "-c", code, "x", *PROGRAM], env=environment, cwd=folder, pass_fds=[writing]
    ) as process:
        os.close(writing)
        with os.fdopen(reading, "rb") as answers:
            offered = answers.read().decode()
        assert process.wait(30) == 0
    return offered


def test_the_screen_of_a_lost_supervisor_comes_back(cli: CommandLine) -> None:
    with terminal("--plain") as shown:
        shown.read_until(b"No runs yet.")
        pid = cli.supervisor()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: cli.supervisor() not in (None, pid), what="another supervisor")
        ident = cli.queue("true", name="after")
        shown.read_until(ident.encode())
        shown.press(b"\x03")
        assert shown.wait() == 130


def test_waiting_shows_one_moving_line_and_then_the_end(cli: CommandLine, own_world: Path) -> None:
    os.mkfifo(own_world / "go")
    waits = f"read -r word < '{own_world}/go'"
    with terminal("run", "--devices", "none", "--name", "long", "--wait", "--", "bash", "-c", waits) as shown:
        shown.read_until(b"running")
        (own_world / "go").write_text("now\n")
        shown.read_until(b"succeeded")
        assert shown.wait() == 0
    moving = shown.seen.replace(b"\r\n", b"\n")
    assert re.search(rb"\r[^\n]*running[^\n]*\x1b\[K\r\x1b\[K", moving)
    clean(re.sub(rb"\r|\x1b\[K", b"", moving))


def test_since_a_time_that_the_lines_bear(cli: CommandLine, own_world: Path) -> None:
    log = own_world / "timed.log"
    log.write_text("begin\n2026-11-30T12:00:00Z one\nof one\n[rank1]: 2026-11-30T12:05:00Z two\n")
    assert cli("logs", "--file", str(log), "--since", "2026-11-30T12:01:00Z").expect(0).out == (
        "[rank 1] 2026-11-30T12:05:00Z two\n"
    )
    log.write_text("no line bears a time\n")
    assert "its lines bear none" in cli("logs", "--file", str(log), "--since", "10m").expect(2).err


def test_a_folder_of_rank_files_is_one_log(cli: CommandLine, own_world: Path) -> None:
    for rank, minutes in ((0, (1, 3)), (1, (2, 4))):
        folder = own_world / f"ranks/none_abc/attempt_0/{rank}"
        folder.mkdir(parents=True)
        lines = [f"2026-11-30T12:0{minute}:00Z minute {minute}\n" for minute in minutes]
        (folder / "stderr.log").write_text("".join(lines))
    ranks = str(own_world / "ranks")
    every = cli("logs", "--file", ranks).expect(0).out.splitlines()
    assert [(line[:8], line[-1]) for line in every] == [
        ("[rank 0]", "1"), ("[rank 1]", "2"), ("[rank 0]", "3"), ("[rank 1]", "4"),
    ]  # fmt: skip
    assert cli("logs", "--file", ranks, "--rank", "1").expect(0).out.count("\n") == 2
    assert "minute 4" in cli("logs", "--file", ranks, "--since", "2026-11-30T12:03:30Z").expect(0).out
    with terminal("view", "--file", ranks) as shown:
        shown.read_until(b"minute 4")
        shown.press(b"q")
        assert shown.wait() == 0
    (own_world / "none").mkdir()
    assert "belongs to a rank" in cli("logs", "--file", str(own_world / "none")).expect(3).err
