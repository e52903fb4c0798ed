"""Ports of a plan: kept from others, open to the launcher they were promised to."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from accel_tui.keeper import launch
from support.keeping import MakeRun, python

LISTEN = """
import socket, sys
for address in ("127.0.0.1", "0.0.0.0"):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, int(sys.argv[1])))
        server.listen()
        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))):
            server.accept()[0].close()
print("listened")
"""

RANK = """
import os, torch.distributed as dist
dist.init_process_group("gloo")
os.write(1, f"rank {dist.get_rank()} of {dist.get_world_size()}\\n".encode())
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def test_the_launcher_can_listen_on_a_held_port(make_run: MakeRun) -> None:
    port = free_port()
    run = make_run(python(LISTEN, str(port)), ports=[port])
    assert run.start()["started"]
    assert run.ended()["exit_code"] == 0, run.log()
    assert run.log() == b"listened\n"


def test_whoever_asks_for_any_port_never_gets_a_held_one() -> None:
    lowest, highest = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    held = []
    for port in range(lowest, min(highest, lowest + 400)):
        try:
            held += launch.hold_ports([port])
        except launch.PortTaken:
            continue
    ours = {keep.getsockname()[1] for keep in held}
    assert len(ours) > 300
    others = []
    for reuse in (0, 1):
        for _ in range(150):
            other = socket.socket()
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            other.bind(("127.0.0.1", 0))
            others.append(other)
    got = {other.getsockname()[1] for other in others}
    for one in (*held, *others):
        one.close()
    assert not got & ours


def test_a_taken_port_sends_the_run_back(make_run: MakeRun) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        run = make_run(["true"], ports=[port])
        answer = run.start()
    assert (answer["reason"], answer["lock"]) == ("busy", None)
    assert str(port) in answer["message"]
    assert run.state()["state"] == "preparing"


@pytest.mark.torch
def test_torchrun_meets_on_a_held_port(make_run: MakeRun, torch_python: str, tmp_path: Path) -> None:
    port = free_port()
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    argv = [torch_python, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2"]
    argv += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "x", str(script)]
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    run = make_run(argv, ports=[port], environment=environment)
    assert run.start()["started"]
    assert run.ended()["exit_code"] == 0, run.log().decode()
    assert b"rank 0 of 2\n" in run.log()
    assert b"rank 1 of 2\n" in run.log()
