"""The supervisor's own life: one per folder, for its owner, silent, idle, old, new, and what is sent to it."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accel_tui.client.starting import lock_held
from accel_tui.client.transport import SocketConnection
from accel_tui.executors.local import supervisor_argv
from accel_tui.keeper import processes
from accel_tui.model.errors import StateFolderError, SupervisorError
from accel_tui.model.runs import RunState
from accel_tui.protocol import paths, version
from accel_tui.supervisor.listener import listen
from support.supervising import Site, site
from support.waiting import wait_for


def test_two_started_at_once_leave_one(own_world: Path) -> None:
    state = own_world / "state"
    argv = supervisor_argv(str(state), None)
    both = [subprocess.Popen(argv, stderr=subprocess.DEVNULL) for _ in range(2)]
    with site(state) as here:
        wait_for(lambda: any(one.poll() is not None for one in both), what="the end of the loser")
        (loser,) = [one for one in both if one.poll() is not None]
        (winner,) = [one for one in both if one is not loser]
        assert loser.returncode == 0
        assert here.pid() == winner.pid
        here.client.shutdown()
        assert winner.wait(30) == 0


def test_it_is_started_on_demand_and_closed_to_others(here: Site) -> None:
    assert here.client.connect()["protocol"] == list(version.PROTOCOL)
    assert stat.S_IMODE((here.state / paths.SOCKET_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(here.state.stat().st_mode) == 0o700
    assert here.new_client().connect()["pid"] == here.pid()


def test_paths_of_200_characters_work(own_world: Path) -> None:
    state = own_world / ("d" * 90) / ("e" * 90) / "state"
    assert len(str(state)) > 200
    with site(state) as here:
        assert here.finished(here.submit(["true"])).exit_code == 0


def test_a_socket_left_behind_is_replaced(own_world: Path) -> None:
    state = own_world / "state"
    state.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(state / paths.SOCKET_NAME))
    left.close()
    with site(state) as here:
        assert here.pid()


def test_it_ends_by_itself_when_nothing_is_to_be_done(own_world: Path) -> None:
    with site(own_world / "state", ACCEL_TUI_IDLE_SECONDS="0.3") as here:
        here.client.connect()
        identifier = here.submit(["sleep", "1"])
        here.client.close()
        wait_for(lambda: not lock_held(str(here.state)), what="the idle end")
        assert not (here.state / paths.SOCKET_NAME).exists()
        run = here.new_client().run(identifier)
        assert run.exit_code == 0


def test_sigterm_ends_it_alone(here: Site) -> None:
    identifier = here.submit(["sleep", "600"])
    before = here.when(identifier, lambda run: run.started)
    os.kill(here.pid(), signal.SIGTERM)
    wait_for(lambda: not lock_held(str(here.state)), what="the end after SIGTERM")
    after = here.client.run(identifier)
    assert (after.state, after.started) == (before.state, before.started)


def test_a_silent_supervisor_is_given_up(here: Site) -> None:
    pid = here.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        client = here.new_client()
        with pytest.raises(SupervisorError, match="did not answer") as caught:
            client.hello()
        assert f"kill -CONT {pid}" in str(caught.value.remedy)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_without_a_supervisor_and_not_allowed_to_start_one_it_says_so(own_world: Path) -> None:
    (own_world / "state").mkdir(mode=0o700)
    with pytest.raises(SupervisorError, match="no supervisor runs"):
        Site(own_world / "state").new_client(may_start=False).hello()


def test_a_supervisor_that_cannot_start_leaves_its_reason_in_the_remedy(
    own_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = own_world / "state"
    state.mkdir(mode=0o700)
    (state / paths.SOCKET_NAME).mkdir()
    monkeypatch.setattr("accel_tui.client.starting.START_SECONDS", 2.0)
    with pytest.raises(SupervisorError) as caught:
        Site(state).client.connect()
    assert "in the way" in caught.value.message
    assert "in the way" in str(caught.value.remedy)


def test_an_older_supervisor_is_replaced_and_a_newer_one_is_kept(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = here.pid()
    identifier = here.submit(["sleep", "600"])
    with monkeypatch.context() as changed:
        changed.setattr(version, "VERSION", "0.0.1")
        assert here.new_client().connect()["pid"] == first
        changed.setattr(version, "VERSION", "99.0")
        assert here.new_client().connect()["pid"] != first
    assert here.client.run(identifier).state.value in ("running", "starting")


def test_another_protocol_is_told_in_words(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    here.client.connect()
    with monkeypatch.context() as changed:
        changed.setattr(version, "PROTOCOL", (9, 0))
        with pytest.raises(SupervisorError, match="protocol"):
            here.new_client().connect()


def test_a_client_heals_when_the_supervisor_was_replaced(here: Site) -> None:
    first = here.pid()
    here.kill()
    assert here.client.hello()["pid"] != first
    here.client.shutdown()
    assert here.finished(here.submit(["true"])).exit_code == 0


def test_other_settings_are_said(here: Site) -> None:
    here.client.connect()
    assert "supervisor-settings-differ" not in {problem.code for problem in here.client.devices().problems}
    other = here.new_client(ACCEL_TUI_MAX_RUNNING="3")
    assert "supervisor-settings-differ" in {problem.code for problem in other.devices().problems}


def put(path: Path, kind: str) -> None:
    """Something else in place of a socket or a lock."""
    path.unlink(missing_ok=True)
    if kind == "file":
        path.write_text("x")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "folder":
        path.mkdir()


@pytest.mark.parametrize("kind", ["nothing", "file", "pipe", "link"])
def test_a_socket_that_is_taken_away_is_made_anew_by_the_same_supervisor(here: Site, kind: str) -> None:
    """Another one would know nothing of the secrets of queued runs."""
    pid = here.pid()
    put(here.state / paths.SOCKET_NAME, kind)
    wait_for((here.state / paths.SOCKET_NAME).is_socket, what="the new socket")
    assert here.new_client().hello()["pid"] == pid
    assert here.client.hello()["pid"] == pid, "an older connection goes on"


def test_a_supervisor_without_its_lock_ends_and_its_runs_go_on(here: Site) -> None:
    first = here.pid()
    started = processes.start_time(first) or 0
    identifier = here.submit(["sleep", "600"])
    here.reach(identifier, RunState.RUNNING)
    (here.state / paths.LOCK_NAME).unlink()
    wait_for(lambda: not processes.alive(first, started), what="its end")
    assert here.pid() != first
    assert here.client.run(identifier).state is RunState.RUNNING


def test_a_supervisor_whose_folder_was_removed_ends(own_world: Path) -> None:
    here = Site(own_world / "state")
    first = here.pid()
    started = processes.start_time(first) or 0
    identifier = here.submit(["sleep", "600"], "cpu")
    here.reach(identifier, RunState.RUNNING)
    keeper = json.loads((here.state / "runs" / identifier / "state.json").read_bytes())["keeper"]
    here.state.rename(own_world / "away")  # whole at once: a removal would race with what is being written
    shutil.rmtree(own_world / "away")
    wait_for(lambda: not processes.alive(first, started), what="the end of the supervisor")
    assert processes.alive(*keeper), "its run goes on to its end"
    os.kill(keeper[0], signal.SIGTERM)
    here.client.close()
    with site(own_world / "state") as again:
        assert again.client.runs() == []
        assert again.finished(again.submit(["true"], "cpu")).exit_code == 0


@pytest.mark.parametrize("kind", ["file", "pipe", "link"])
def test_what_lies_in_place_of_the_socket_is_replaced(own_world: Path, kind: str) -> None:
    (own_world / "state").mkdir(mode=0o700)
    put(own_world / "state" / paths.SOCKET_NAME, kind)
    with site(own_world / "state") as here:
        assert here.pid()


@pytest.mark.parametrize(("kind", "words"), [("pipe", "regular file"), ("link", "symbolic"), ("folder", "directory")])
def test_what_lies_in_place_of_the_lock_is_said_at_once(own_world: Path, kind: str, words: str) -> None:
    (own_world / "state").mkdir(mode=0o700)
    put(own_world / "state" / paths.LOCK_NAME, kind)
    with pytest.raises(SupervisorError, match=words):
        Site(own_world / "state").client.connect()


def test_a_stranger_who_holds_the_lock_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accel_tui.supervisor.listener.ENDING_SECONDS", 0.05)
    with (tmp_path / paths.LOCK_NAME).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StateFolderError, match=f"held by process {os.getpid()}"):
            listen(tmp_path)


def test_a_folder_that_became_a_link_is_not_followed(here: Site, own_world: Path) -> None:
    here.client.connect()
    here.client.close()
    moved = own_world / "moved"
    here.state.rename(moved)
    here.state.symlink_to(moved)
    try:
        with pytest.raises(SupervisorError):
            here.new_client(may_start=False).hello()
    finally:
        here.state.unlink()
        moved.rename(here.state)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_nobody_but_the_owner_is_answered(here: Site, own_world: Path) -> None:
    here.client.connect()
    here.client.close()
    places = [here.state, *here.state.parents]
    modes = {place: stat.S_IMODE(place.stat().st_mode) for place in places}
    for place in places:
        place.chmod(modes[place] | 0o011)
    sock = here.state / paths.SOCKET_NAME
    sock.chmod(0o666)
    code = (
        "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "print(s.recv(4096).split(b'\\r\\n')[0].decode())"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, str(sock)], capture_output=True, text=True, check=False
        )
    finally:
        for place, mode in modes.items():
            place.chmod(mode)
    assert done.stdout == "HTTP/1.1 403 Forbidden\n", done


def _raw(here: Site, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    link = SocketConnection(str(here.state))
    try:
        link.request(method, path, body=body)
        response = link.getresponse()
        return response.status, response.read()
    finally:
        link.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/runs", b"{", 400),
        ("POST", "/runs", b"[]", 400),
        ("POST", "/runs", b'{"job": {}}', 400),
        ("POST", "/plan", b'{"job": 1}', 400),
        ("POST", "/runs/last/stop", b'{"now": "yes"}', 400),
        ("POST", "/runs/last/move", b"{}", 400),
        ("GET", "/runs?limit=x", None, 400),
        ("GET", "/runs/last?wait=x", None, 400),
        ("GET", "/runs/none", None, 404),
        ("GET", "/nothing", None, 404),
        ("PUT", "/runs", b"{}", 405),
    ],
)
def test_a_wrong_request_gets_an_error_document(
    shared: Site, method: str, path: str, body: bytes | None, status: int
) -> None:
    code, answer = _raw(shared, method, path, body)
    assert code == status
    assert b'"error":{"code":"' in answer
    assert b"Traceback" not in answer


def test_a_huge_body_is_refused(shared: Site) -> None:
    link = SocketConnection(str(shared.state))
    link.putrequest("POST", "/runs")
    link.putheader("Content-Length", str(paths.BODY_LIMIT + 1))
    link.endheaders()
    assert link.getresponse().status == 400
    link.close()


def test_a_request_that_is_no_http_costs_only_its_own_link(shared: Site) -> None:
    link = SocketConnection(str(shared.state))
    link.connect()
    link.sock.sendall(b"\0\xffnonsense\r\n\r\n")
    with pytest.raises((http.client.HTTPException, OSError)):
        raise http.client.HTTPException(link.sock.recv(4096).decode(errors="replace"))
    link.close()
    assert shared.client.hello()["pid"]


@pytest.fixture
def shared(here: Site) -> Site:
    """A site whose supervisor is up."""
    here.client.connect()
    return here
