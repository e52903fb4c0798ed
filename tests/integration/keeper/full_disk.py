"""Run by the full-disk test in a mount namespace: a job that fills its file system, and the record of its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.keeping import KeptRun, python

FILL = """
import os
fd = os.open("filler", os.O_WRONLY | os.O_CREAT)
try:
    while True: os.write(fd, b"x" * 65536)
except OSError: pass
try:
    while True: os.write(fd, b"x")
except OSError: pass
while True:
    print("y" * 4000, flush=True)
"""


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], check=True)
    run = KeptRun(folder, python(FILL), cwd=folder)
    assert run.start()["started"]
    print(json.dumps(run.ended()))


main(Path(sys.argv[1]))
