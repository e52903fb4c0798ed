"""What a person sees while the set-up installs: one moving line, or next to nothing in a pipe; a file has it all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.terminal import Terminal
from support.world import SOURCE

PROGRESS = SOURCE.parent / "scripts/progress"
SAID = (
    "Collecting torch (from accel-tui==0.1.0)\n  Downloading torch-2.whl (181 MB)\n"
    "Installing collected packages: torch, \x1b[31mnumpy\nSuccessfully installed\n"
)


def test_a_pipe_gets_few_lines_and_the_file_everything(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    done = subprocess.run(
        [sys.executable, str(PROGRESS), str(log), str(tmp_path)], input=SAID, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) <= 1
    assert log.read_text() == SAID


def test_a_terminal_sees_one_line_that_moves_and_is_gone_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    script = 'printf "%s" "$1"; exec sleep 3600'
    pipe = f"bash -c '{script}' said \"$SAID\" | exec '{sys.executable}' '{PROGRESS}' '{log}' '{tmp_path}'"
    environment = {**os.environ, "TERM": "xterm", "SAID": SAID}
    with Terminal(["bash", "-c", pipe], environment) as shown:
        seen = shown.read_until(b"Installing 2 packages")
        assert b"\n" not in seen
        assert b"\x1b[31m" not in seen
        shown.press(b"\x03")
        shown.wait()
