"""Whether device files can be opened, tried by a child that may hang in the kernel in our place."""

from __future__ import annotations

import contextlib
import grp
import json
import os
import subprocess
import sys
from pathlib import Path

DEADLINE_SECONDS = 5.0

_SCRIPT = """
import json, os, sys
answers = {}
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        answers[path] = None
    except OSError as error:
        answers[path] = error.strerror or str(error)
print(json.dumps(answers))
"""


def opened(paths: list[str]) -> dict[str, str | None] | None:
    """By path the reason why it cannot be opened for reading and writing, None where it can; None without an answer."""
    argv = [sys.executable, "-I", "-S", "-c", _SCRIPT, *paths]
    try:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    assert child.stdout is not None
    try:
        output, _ = child.communicate(timeout=DEADLINE_SECONDS)
        answers = json.loads(output)
    except subprocess.TimeoutExpired:
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1)  # one that the kernel does not let go is left behind: waiting for it would hang us too
        return None
    except ValueError:
        return None
    finally:
        child.stdout.close()
    return answers if isinstance(answers, dict) else None


def remedy(path: str) -> str:
    """What gives this account the right, by whose the node is."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a text path
    except OSError:
        return "see `accel-tui doctor`: the node is missing"
    if not status.st_mode & 0o060:
        return f"ask the administrator: the mode of {path} lets no group in"
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return f"ask to become a member of the group {group}, then log in anew"


def below(dev_root: str, node: str) -> str:
    """The path of a node that the inventory names, `dri/renderD128` below `dev_root` or a whole path."""
    return node if node.startswith("/") else str(Path(dev_root, node))
