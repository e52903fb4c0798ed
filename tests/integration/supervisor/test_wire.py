"""What strangers to the protocol, and clients that are slow, dead or too many, get and cost."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from accel_tui.client.transport import SocketConnection
from accel_tui.protocol import paths, version
from support.supervising import Site

GET, POST, DELETE = "GET", "POST", "DELETE"
JOB = {"kind": "command", "name": "x", "command": {"argv": ["true"]}}
GOOD = {"job": JOB, "select": "none", "base": {}, "cwd": "/"}
NOBODY = "/runs/20260101-000000-zzzz"

WRONG: tuple[tuple[str, str, object, int, str], ...] = (
    (POST, "/runs", {**GOOD, "cwd": "here"}, 400, "`cwd`"),
    (POST, "/runs", {**GOOD, "cwd": "/a\0b"}, 400, "`cwd`"),
    (POST, "/runs", {**GOOD, "base": {"A": 1}}, 400, "`base`"),
    (POST, "/runs", {**GOOD, "base": {"A=B": "x"}}, 400, "`base`"),
    (POST, "/runs", {**GOOD, "base": {"A": "\0"}}, 400, "`base`"),
    (POST, "/runs", {**GOOD, "secrets": ["x"]}, 400, "`secrets`"),
    (POST, "/runs", {**GOOD, "priority": True}, 400, "`priority`"),
    (POST, "/runs", {**GOOD, "priority": 10**9}, 400, "`priority`"),
    (POST, "/runs", {**GOOD, "after": [["last", "perhaps"]]}, 400, "`after`"),
    (POST, "/runs", {**GOOD, "after": ["nobody-there"]}, 404, "no run"),
    (POST, "/runs", {**GOOD, "overrides": "all"}, 400, "`overrides`"),
    (POST, "/runs", {**GOOD, "retry_of": 1}, 400, "`retry_of`"),
    (POST, "/runs", {**GOOD, "retry_of": "nobody-there"}, 404, "no run"),
    (POST, "/runs", {**GOOD, "exact": "nobody-there"}, 404, "not the id"),
    (POST, "/runs", {**GOOD, "select": "gaudi:x"}, 400, "gaudi:x"),
    (POST, "/runs", {**GOOD, "select": "gaudi:7"}, 422, "gaudi:7"),
    (POST, "/runs", {**GOOD, "job": {**JOB, "kind": "magic"}}, 400, "kind"),
    (POST, "/runs", {**GOOD, "job": {**JOB, "speed": 11}}, 400, "speed"),
    (POST, "/runs", b'{"job":NaN}', 400, "JSON"),
    (POST, "/runs", b"[" * 100_000, 400, "JSON"),
    (POST, "/runs", b"\xff\xfe{}", 400, "JSON"),
    (POST, "/check", GOOD | {"yes": 1}, 400, "`yes`"),
    (POST, f"{NOBODY}/stop", {}, 404, "no run"),
    (POST, f"{NOBODY}/hold", {"reason": 3}, 400, "`reason`"),
    (POST, f"{NOBODY}/release", {"secrets": {"A": 1}}, 400, "`secrets`"),
    (POST, f"{NOBODY}/move", {"first": "yes"}, 400, "first"),
    (DELETE, NOBODY, None, 404, "no run"),
    (GET, f"{NOBODY}/log", None, 404, "no run"),
    (GET, f"{NOBODY}/metrics?points=0", None, 400, "`points`"),
    (GET, "/runs?state=odd", None, 400, "no state"),
    (GET, "/runs?name=(", None, 400, "regular expression"),
    (GET, "/runs?name=" + "x" * 300, None, 400, "200"),
    (GET, "/devices?wait=-1", None, 400, "`wait`"),
    (GET, "/devices/history?seconds=soon", None, 400, "number of seconds"),
    (GET, "/prunable?older_than=-3", None, 400, "`older_than`"),
    (GET, "/prunable?older_than=3&keep=x", None, 400, "`keep`"),
    (POST, "/orphans/0/end", {}, 400, "no process"),
    (POST, "/orphans/1/end", {"now": 3}, 400, "`now`"),
    (POST, "/orphans/1/end", {"start_time": "x"}, 400, "`start_time`"),
    (POST, "/orphans/1/end", {}, 409, "no orphan"),
    (GET, "/runs/a%2fb", None, 404, "no"),
    (GET, "/../../etc/passwd", None, 404, "no such request"),
    (POST, "/hello", {}, 405, "no such request"),
)


def ask(
    where: Site, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    link = SocketConnection(str(where.state))
    try:
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        link.request(method, path, body=raw, headers=headers or {})
        response = link.getresponse()
        return response.status, response.read()
    finally:
        link.close()


def test_every_wrong_request_gets_its_words_and_changes_nothing(here: Site) -> None:
    here.client.connect()
    unlike = []
    for method, path, body, status, words in WRONG:
        code, answer = ask(here, method, path, body)
        told = json.loads(answer)["error"]
        if code != status or words not in told["message"] or told["code"] == "internal":
            unlike.append((method, path, body if not isinstance(body, bytes) else len(body), code, told))
    assert not unlike, "\n".join(map(str, unlike))
    assert here.client.runs(everything=True) == []
    assert not (here.state / "reports").exists(), "none of them was taken for a fault of ours"


def test_another_protocol_is_refused_by_the_supervisor_too(here: Site) -> None:
    here.client.connect()
    for told in (f"{version.PROTOCOL[0] + 1}.0", "nonsense"):
        code, answer = ask(here, POST, "/runs", GOOD, {version.PROTOCOL_HEADER: told})
        assert (code, json.loads(answer)["error"]["code"]) == (503, "supervisor")
    assert ask(here, GET, paths.HELLO, None, {version.PROTOCOL_HEADER: "99.0"})[0] == 200
    minor = f"{version.PROTOCOL[0]}.{version.PROTOCOL[1] + 7}"
    assert ask(here, GET, "/runs", None, {version.PROTOCOL_HEADER: minor})[0] == 200


def connected(where: Site, count: int, first: bytes) -> list[socket.socket]:
    """Clients that send `first` and then neither read nor write."""
    links = []
    for _ in range(count):
        link = SocketConnection(str(where.state))
        link.connect()
        link.sock.sendall(first)
        links.append(link.sock)
    return links


QUIET = (
    b"",
    b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{",
)


FEW = "import resource as r,os,sys; r.setrlimit(r.RLIMIT_NOFILE,(64,64)); os.execv(sys.argv[1], sys.argv[1:])"


def test_idle_clients_make_room_for_one_that_asks(here: Site) -> None:
    argv = [sys.executable, "-m", "accel_tui", "runs"]  # the supervisor gets the limits of what starts it
    environment = {**here.environment, "PYTHONPATH": str(Path(version.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", FEW, *argv], env=environment, check=True, capture_output=True)
    assert "Max open files            64 " in Path(f"/proc/{here.pid()}/limits").read_text()
    links = connected(here, 30, QUIET[0]) + connected(here, 30, QUIET[1])
    try:
        assert here.finished(here.submit(["true"])).exit_code == 0
    finally:
        for link in links:
            link.close()


def test_clients_that_hang_hold_nothing_up(here: Site) -> None:
    here.client.connect()
    links = connected(here, 5, QUIET[2]) + connected(here, 5, b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
    try:
        for _ in range(10):
            assert here.finished(here.submit(["true"])).exit_code == 0
    finally:
        for link in links:
            link.close()
    assert here.client.hello()["running"] == 0
