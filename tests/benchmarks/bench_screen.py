"""The whole screen as a person starts it, on a real supervisor with eight invented cards, beside a minimal application.

    PYTHONPATH=src:tests python tests/benchmarks/bench_screen.py [start] [idle] [--rounds N] [--seconds N]

`start`: from the start of the process to the last row of the full table, supervisor up: time, and CPU that it took.
`idle`: what it costs to leave it open at 1 Hz: CPU, bytes to the terminal, memory.

Each round measures both applications, one after the other, so that a busy machine is as busy for both; the ratio of the
rounds' best is what counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import Footer, Static

from support.bench_terminal import Terminal
from support.figures import figure
from support.supervising import Site, site

DEMO = "server8"
LAST_ROW = b"shareable"
"""The CPU stands in the last row of the table; its holder is written last."""


class Minimal(App[None]):
    """The floor: what any Textual application costs."""

    def compose(self) -> ComposeResult:
        yield Static("hello there")
        yield Footer()


FLOOR = ([sys.executable, __file__, "--minimal"], b"hello there")


@contextmanager
def started(command: Sequence[str], expected: bytes, **environment: str) -> Iterator[tuple[Terminal, float, float]]:
    """The terminal, and the seconds and CPU seconds until `expected` was shown."""
    begin = time.monotonic()
    terminal = Terminal(command, **environment)
    try:
        terminal.wait_for(expected)
        yield terminal, time.monotonic() - begin, terminal.cpu()
    finally:
        terminal.close()


def ours(place: Site) -> tuple[list[str], dict[str, str]]:
    environment = {
        "ACCEL_TUI_STATE_DIR": str(place.base), "ACCEL_TUI_CONFIG_DIR": str(place.base / "config"),
        "PYTHONPYCACHEPREFIX": str(place.base.parent / "bytecode"),
    }  # fmt: skip
    return [sys.executable, "-m", "accel_tui", "--demo", DEMO], environment


def start(place: Site, rounds: int) -> None:
    command, environment = ours(place)
    with started(command, LAST_ROW, **environment) as _:
        time.sleep(2)  # what is compiled now stays compiled, as in an installation
    floor, full = [], []
    for _ in range(rounds):
        with started(*FLOOR) as (_, seconds, cpu):
            floor.append((seconds, cpu))
        with started(command, LAST_ROW, **environment) as (_, seconds, cpu):
            full.append((seconds, cpu))
    least, most = [min(times) for times in zip(*floor, strict=True)], [min(times) for times in zip(*full, strict=True)]
    what = "first full screen, 200x50, 8 cards, supervisor up"
    peer = f"{least[0]:.2f} s, {least[1]:.2f} s of CPU Textual"
    figure(f"{what}: times a minimal app", most[0] / least[0], "", bar=2, peer=peer, more=f"{most[0]:.2f} s")
    figure(f"{what}: its CPU likewise", most[1] / least[1], "", peer=peer, more=f"{most[1]:.2f} s")


def idle(place: Site, seconds: float) -> None:
    command, environment = ours(place)
    floor = _left_alone(*FLOOR, seconds)
    cpu, rate, memory = _left_alone(command, LAST_ROW, seconds, **environment)
    what = "screen idle at 1 Hz, 200x50, 8 cards"
    figure(f"{what}: CPU", cpu, "% of a core", bar=3, peer=f"{floor[0]:.2f} % Textual")
    figure(f"{what}: to the terminal", rate, "kB/s", bar=8, peer=f"{floor[1]:.1f} kB/s Textual")
    figure(f"{what}: resident", memory, "MiB", bar=70, peer=f"{floor[2]:.0f} MiB Textual")


def _left_alone(
    command: Sequence[str], expected: bytes, seconds: float, **environment: str
) -> tuple[float, float, float]:
    """Percent of a core, kB/s, MiB."""
    with started(command, expected, **environment) as (terminal, _, _):
        time.sleep(4)  # what is loaded after the first paint is not idleness
        cpu, count, begin = terminal.cpu(), terminal.bytes, time.monotonic()
        time.sleep(seconds)
        spent = time.monotonic() - begin
        memory = terminal.usage.memory_info().rss / 2**20
        return 100 * (terminal.cpu() - cpu) / spent, (terminal.bytes - count) / spent / 1000, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["start", "idle", []])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--minimal", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.minimal:
        Minimal().run()
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder, site(Path(folder) / "state", DEMO) as place:
        place.client.hello()
        if "start" in (options.what or ["start"]):
            start(place, options.rounds)
        if "idle" in (options.what or ["idle"]):
            idle(place, options.seconds)


if __name__ == "__main__":
    main()
