"""Scripts that run in a mount namespace of their own, so that they may mount small file systems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def play(script: Path, *arguments: object) -> Any:
    """The JSON document that the script prints."""
    allowed = os.geteuid() == 0 and not subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode
    if not allowed:
        pytest.skip("needs the right to mount a file system in a mount namespace of its own")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    argv = ["unshare", "-m", sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def mount(folder: Path, size: str) -> None:
    """A file system in memory, for the script alone."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)
