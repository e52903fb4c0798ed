"""The Log pane of the whole screen in a real terminal, beside Utilization, Runs and Metrics that go on as well.

    PYTHONPATH=src:tests python tests/benchmarks/bench_log.py [follow] [search] [--seconds N]

`follow`: the log grows by 50,000 lines a second: from a typed letter to its echo in the search line, while hits of what
is typed are being counted in everything that arrives; from a key to what it does; CPU, bytes, memory.
`search`: a text and an expression that stand at the end of 1 GB: bytes a second, and keys meanwhile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

from accel_tui.config.settings import load_settings
from accel_tui.model.times import time_text
from accel_tui.tui.app import AccelApp
from support import past
from support.bench_terminal import Terminal
from support.fake_client import FakeSupervisor
from support.figures import figure
from support.scene import runs, server

LINES_PER_SECOND = 50_000
LINE = b"[rank0]: {'loss': 1.2831, 'grad_norm': 0.8012, 'learning_rate': 1.91e-05, 'epoch': 1.58, 'step': %09d}\n"
LETTERS = "qwxyzjkvb"


def screen() -> None:
    """The whole screen over an invented server whose first run has the log that is measured."""
    supervisor = FakeSupervisor(server(), runs())
    supervisor.history = past.history(server())
    supervisor.series = {runs()[0].id: past.curves()}
    supervisor.runs[0] = replace(supervisor.runs[0], folder=os.environ["BENCH_FOLDER"])

    def tell() -> None:
        while True:
            time.sleep(1)
            supervisor.tell("devices", replace(server(), time=time_text(time.time())).to_json())

    threading.Thread(target=tell, daemon=True).start()
    AccelApp(supervisor.client, load_settings({}, {}), dict(os.environ), "/").run()


def opened(folder: Path) -> Terminal:
    """The screen with the focus in the log."""
    command = [sys.executable, __file__, "--screen"]
    terminal = Terminal(command, BENCH_FOLDER=str(folder), ACCEL_TUI_CONFIG_DIR=str(folder / "config"), USER="me")
    terminal.wait_for(b"grad_norm")
    terminal.press("5")
    time.sleep(1)
    return terminal


def follow(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").write_bytes(LINE % 0)
        terminal = opened(folder)
        done, written = threading.Event(), [0]
        writer = threading.Thread(target=_write, args=(folder / "log", done, written))
        writer.start()
        time.sleep(3)
        cpu, count, start = terminal.cpu(), terminal.bytes, time.monotonic()
        keys = _turns(terminal, start + seconds / 2)
        echoes = _typed(terminal, start + seconds)
        spent = time.monotonic() - start
        used, sent, size = terminal.cpu() - cpu, terminal.bytes - count, terminal.usage.memory_info().rss / 2**20
        done.set()
        writer.join()
        terminal.close()
    rate = written[0] / (spent + 3)
    more = f"{100 * used / spent:.1f} % CPU, {sent / spent / 1000:.0f} kB/s, {size:.0f} MiB"
    figure(f"screen follows {rate:.0f} lines/s: key to what it does, p95", _late(keys), "ms", bar=100, more=more)
    figure("the same, while what is typed is searched: echo, p95", _late(echoes), "ms", bar=100, more=_middle(echoes))


def _turns(terminal: Terminal, end: float) -> list[float]:
    """Up, which ends following, and back to the end."""
    times = []
    while time.monotonic() < end:
        for key, word in (("\x1b[A", b"behind"), ("f", b"following")):
            times.append(_latency(terminal, key, word))
            time.sleep(0.23)
    return times


def _typed(terminal: Terminal, end: float) -> list[float]:
    """Letters in the search line, each until it is there; taken away again before the line is full."""
    times: list[float] = []
    terminal.press("/")
    time.sleep(0.5)
    while time.monotonic() < end:
        text = ""
        for letter in LETTERS:
            text += letter
            times.append(_latency(terminal, letter, text.encode()))
            time.sleep(0.19)
        terminal.press("\x15")  # ctrl+u empties the line
        time.sleep(0.3)
    return times


def search(lines: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log").open("wb") as file:
            block = b"".join(LINE % number for number in range(10_000))
            for _ in range(lines // 10_000):
                file.write(block)
            file.write(b"the needle at the end\n")
        size = (folder / "log").stat().st_size / 1e9
        terminal = opened(folder)
        time.sleep(3)  # the lines are counted
        for text, typed in (("text", "needle at"), ("expression", "\x12needle.*end$")):
            terminal.press("/")
            time.sleep(0.5)
            terminal.forget()
            start = time.monotonic()
            terminal.press(typed + "\r")
            latencies = []
            while b"1 hit" not in terminal.tail:
                latencies.append(_latency(terminal, "\x1b[A", b"\x1b["))
                time.sleep(0.1)
                if time.monotonic() - start > 60:
                    raise TimeoutError("the hit was not found")
            spent = time.monotonic() - start
            figure(
                f"search {size:.2f} GB for a {text}", size / spent, "GB/s", bar=0.5, least=True, more=_middle(latencies)
            )
            terminal.press("\x1b")
            time.sleep(0.5)
        terminal.close()


def _latency(terminal: Terminal, key: str, expected: bytes) -> float:
    terminal.forget()
    start = time.monotonic()
    terminal.press(key)
    terminal.wait_for(expected)
    return time.monotonic() - start


def _late(times: list[float]) -> float:
    return 1000 * sorted(times)[int(0.95 * len(times))]


def _middle(times: list[float]) -> str:
    return f"keys p50 {1000 * statistics.median(times):.0f} ms, p95 {_late(times):.0f} ms" if times else ""


def _write(path: Path, done: threading.Event, written: list[int]) -> None:
    start = time.monotonic()
    with path.open("ab", buffering=0) as file:
        while not done.is_set():
            due = int((time.monotonic() - start) * LINES_PER_SECOND)
            if due > written[0]:
                file.write(b"".join(LINE % number for number in range(written[0], due)))
                written[0] = due
            time.sleep(0.02)


def main() -> None:
    if sys.argv[1:] == ["--screen"]:
        screen()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=["follow", "search", []], default=[])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--lines", type=int, default=10_000_000)
    options = parser.parse_args()
    if not options.names or "follow" in options.names:
        follow(options.seconds)
    if not options.names or "search" in options.names:
        search(options.lines)


if __name__ == "__main__":
    main()
