"""The Log pane of the whole screen in a real terminal, beside Utilization, Runs and Metrics that go on as well.

    PYTHONPATH=src:tests python tests/benchmarks/bench_log.py [open] [lag] [follow] [search] [--seconds N]

`open`: a log of 10 million lines shown at its end: from the key in a running screen, and with `view` from the shell.
`lag`: how far behind its writer `view` is at 1,000, 10,000 and 100,000 lines a second, with CPU and memory.
Both beside `less`, and beside `lnav` and Toolong (`tl`) where they are found on PATH or in the folder that
`ACCEL_TUI_BENCH_PEERS` names, on the same file in the same run.
`follow`: the log grows by 100,000 lines a second: from a typed letter to its echo in the search line, while hits of
what is typed are being counted in all that arrives; from a key to what it does; CPU, bytes, memory.
`search`: a text and an expression that stand at the end of 1 GB: bytes a second, and keys meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
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

LINES_PER_SECOND = 100_000
LINE = b"[rank0]: {'loss': 1.2831, 'grad_norm': 0.8012, 'learning_rate': 1.91e-05, 'epoch': 1.58, 'step': %09d}\n"
LETTERS = "qwxyzjkvb"
LAST = b"the very last line of it"
STEP = re.compile(rb"'step': (\d{9})")
PATIENCE = 90
CSI = re.compile(rb"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b[()][0-9A-Za-z]")
RATES = (1_000, 10_000, 100_000)
PEERS = ("less", "lnav", "tl")


def screen() -> None:
    """The whole screen over an invented server whose first run has the log that is measured."""
    supervisor = FakeSupervisor(server(), runs())
    supervisor.history = past.history(server())
    supervisor.series = {runs()[0].id: past.curves()}
    supervisor.runs[0] = replace(supervisor.runs[0], folder=os.environ["BENCH_FOLDER"])
    supervisor.runs[1] = replace(supervisor.runs[1], folder=os.environ.get("BENCH_OTHER", "/nowhere"))

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
        done, written = threading.Event(), [0]
        writer = threading.Thread(target=_write, args=(folder / "log", done, written))
        with contextlib.closing(opened(folder)) as terminal, contextlib.ExitStack() as ending:
            writer.start()
            ending.callback(writer.join)
            ending.callback(done.set)
            time.sleep(3)
            cpu, count, start = terminal.cpu(), terminal.bytes, time.monotonic()
            keys = _turns(terminal, start + seconds / 2)
            echoes = _typed(terminal, start + seconds)
            spent = time.monotonic() - start
            used, sent, size = terminal.cpu() - cpu, terminal.bytes - count, terminal.usage.memory_info().rss / 2**20
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


def _large(path: Path, lines: int, last: bytes) -> None:
    with path.open("wb") as file:
        block = b"".join(LINE % number for number in range(10_000))
        for _ in range(lines // 10_000):
            file.write(block)
        file.write(last + b"\n")


def _peers(less: str) -> dict[str, list[str]]:
    """The programs that are here, as they are started; `less` is what that one is told to do first."""
    folder = os.environ.get("ACCEL_TUI_BENCH_PEERS", "")
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    found = {name: shutil.which(name, path=path) for name in PEERS}
    for name in (name for name, place in found.items() if place is None):
        print(f"left out: {name} is not on PATH, nor in the folder of ACCEL_TUI_BENCH_PEERS")
    return {name: [place, *([less] if name == "less" else [])] for name, place in found.items() if place is not None}


def _view(folder: Path, file: Path) -> Terminal:
    command = [sys.executable, "-m", "accel_tui", "view", "--file", str(file)]
    return Terminal(command, ACCEL_TUI_CONFIG_DIR=str(folder / "config"), ACCEL_TUI_STATE_DIR=str(folder / "state"))


def _until_shown(terminal: Terminal, text: bytes, start: float) -> tuple[float, float]:
    """Seconds since `start` until the text is there, and MiB that the program takes then."""
    try:
        terminal.wait_for(text, PATIENCE)
        return time.monotonic() - start, terminal.usage.memory_info().rss / 2**20
    finally:
        terminal.close()


def open_at_end(lines: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one").mkdir()
        (folder / "other").mkdir()
        (folder / "one" / "log").write_bytes(LINE % 0)
        large = folder / "other" / "log"
        _large(large, lines, LAST)
        peers = []
        for peer, command in _peers("+G").items():
            start = time.monotonic()
            try:
                seconds, size = _until_shown(Terminal([*command, str(large)]), LAST, start)
                peers.append(f"{peer} {seconds:.2f} s, {size:.0f} MiB")
            except TimeoutError:
                peers.append(f"{peer} over {PATIENCE} s")
        command = [sys.executable, __file__, "--screen"]
        places = {"BENCH_FOLDER": str(folder / "one"), "BENCH_OTHER": str(folder / "other")}
        terminal = Terminal(command, **places, ACCEL_TUI_CONFIG_DIR=str(folder / "config"), USER="me")
        terminal.wait_for(b"grad_norm")
        terminal.press("3")
        time.sleep(2)
        start = time.monotonic()
        terminal.press("\x1b[B")
        seconds, size = _until_shown(terminal, LAST, start)
        what = f"open {large.stat().st_size / 1e9:.2f} GB at its end"
        figure(
            f"{what}: from the key in the screen", seconds, "s", bar=0.3, peer=", ".join(peers), more=", ".join(peers)
        )
        start = time.monotonic()
        seconds, size = _until_shown(_view(folder, large), LAST, start)
        figure(f"{what}: view from the shell", seconds, "s", peer=", ".join(peers))
        figure("the same: resident memory", size, "MiB", bar=80)


def lag(seconds: float) -> None:
    for rate in RATES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log = folder / "log"
            peers = []
            others = _peers("+F") if rate == max(RATES) else {}
            for peer, command in others.items():
                log.write_bytes(LINE % 0)
                behind, cpu, size = _behind(Terminal([*command, str(log)]), log, rate, seconds)
                peers.append(f"{peer} {behind:.2f} s, {cpu:.0f} % CPU, {size:.0f} MiB")
            log.write_bytes(LINE % 0)
            behind, cpu, size = _behind(_view(folder, log), log, rate, seconds)
            bar = 0.3 if rate == max(RATES) else None
            more = ", ".join([f"{cpu:.0f} % CPU, {size:.0f} MiB", *peers])
            figure(f"follow {rate} lines/s: lag, p95", behind, "s", bar=bar, peer=", ".join(peers), more=more)


def _behind(terminal: Terminal, log: Path, rate: int, seconds: float) -> tuple[float, float, float]:
    """How many seconds' worth of lines the newest line on the terminal is behind, p95; CPU in %, MiB."""
    done, written = threading.Event(), [0]
    try:
        start = time.monotonic()
        while not _steps(terminal) and time.monotonic() - start < 30:
            time.sleep(0.1)
        writer = threading.Thread(target=_write, args=(log, done, written, rate))
        writer.start()
        time.sleep(2)
        cpu, start = terminal.cpu(), time.monotonic()
        found = []
        while time.monotonic() - start < seconds:
            time.sleep(0.1)
            found.append((written[0] - max(_steps(terminal), default=0)) / rate)
        used = 100 * (terminal.cpu() - cpu) / (time.monotonic() - start)
        size = terminal.usage.memory_info().rss / 2**20
        done.set()
        writer.join()
        return sorted(found)[int(0.95 * len(found))], used, size
    finally:
        done.set()
        terminal.close()


def _steps(terminal: Terminal) -> list[int]:
    """The numbers of lines that were written to the terminal lately; colours may stand inside a line."""
    return [int(number) for number in STEP.findall(CSI.sub(b"", terminal.tail[-60_000:]))]


def search(lines: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _large(folder / "log", lines, b"the needle at the end")
        size = (folder / "log").stat().st_size / 1e9
        with contextlib.closing(opened(folder)) as terminal:
            time.sleep(3)  # the lines are counted
            for text, typed in (("text", "needle at"), ("expression", "\x12needle.*end$")):
                terminal.press("/")
                time.sleep(0.5)
                terminal.forget()
                start, cpu = time.monotonic(), terminal.cpu()
                terminal.press(typed + "\r")
                latencies = []
                while b"1 hit" not in terminal.tail:
                    latencies.append(_latency(terminal, "\x1b[A", b"\x1b["))
                    time.sleep(0.1)
                    if time.monotonic() - start > 60:
                        raise TimeoutError("the hit was not found")
                spent, used = time.monotonic() - start, terminal.cpu() - cpu
                more = f"{size / used:.2f} GB in a second of CPU; {_middle(latencies)}"
                figure(f"search {size:.2f} GB for a {text}", size / spent, "GB/s", bar=0.5, least=True, more=more)
                terminal.press("\x1b")
                time.sleep(0.5)


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


def _write(path: Path, done: threading.Event, written: list[int], rate: int = LINES_PER_SECOND) -> None:
    start = time.monotonic()
    with path.open("ab", buffering=0) as file:
        while not done.is_set():
            due = int((time.monotonic() - start) * rate)
            if due > written[0]:
                file.write(b"".join(LINE % number for number in range(written[0], due)))
                written[0] = due
            time.sleep(0.02)


def main() -> None:
    if sys.argv[1:] == ["--screen"]:
        screen()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=["open", "lag", "follow", "search", []], default=[])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--lines", type=int, default=10_000_000)
    options = parser.parse_args()
    if not options.names or "open" in options.names:
        open_at_end(options.lines)
    if not options.names or "lag" in options.names:
        lag(options.seconds / 2)
    if not options.names or "follow" in options.names:
        follow(options.seconds)
    if not options.names or "search" in options.names:
        search(options.lines)


if __name__ == "__main__":
    main()
