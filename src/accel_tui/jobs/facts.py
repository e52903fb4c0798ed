"""What the job's interpreter has installed, asked of itself: a child process with a deadline and a cap."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE_SECONDS = 20.0
DEEP_DEADLINE_SECONDS = 90.0
"""With an import of torch and a start of the vendor's runtime, on a host that works for others meanwhile."""
MOST_BYTES = 64 * 1024

_known: dict[tuple[Any, ...], Facts] = {}


@dataclass(frozen=True)
class Facts:
    """The answer of `accel_tui_worker facts`, or why there is none."""

    document: Mapping[str, Any]
    fault: str | None = None
    """In plain words; None when the interpreter answered. It may hold foreign text."""

    @property
    def python(self) -> str | None:
        version = self.document.get("python")
        return str(version) if version else None

    def version(self, distribution: str) -> str | None:
        """The installed version; None when it is not installed, or nothing is known."""
        packages = self.document.get("packages")
        version = packages.get(distribution) if isinstance(packages, dict) else None
        return str(version) if version else None


def facts(python: str, environment: Mapping[str, str], *, deep: bool = False, training: bool = False) -> Facts:
    """What `python` says about itself under `environment`; remembered while its packages do not change.

    Executes `python`. `deep` lets it import torch and count devices, which takes seconds, and `training` adds where a
    Trainer would work: cards come and go, so such an answer is never remembered.
    """
    options = [name for name, wanted in (("--deep", deep), ("--training", training)) if wanted]
    key = None if options else _key(python, environment)
    if key is not None and key in _known:
        return _known[key]
    answer = _ask(python, environment, options)
    if key is not None and answer.fault is None:
        _known[key] = answer
    return answer


def forget() -> None:
    """Ask every interpreter anew: its packages may have changed within one tick of the clock."""
    _known.clear()


def _key(python: str, environment: Mapping[str, str]) -> tuple[Any, ...] | None:
    """What the answer depends on; None when it cannot be told, and nothing is remembered."""
    stamps: list[int] = []
    prefix = Path(python).parent.parent
    try:
        stamps.append(os.stat(python).st_mtime_ns)  # noqa: PTH116 - a text path, many times
        for place in (prefix / "pyvenv.cfg", *sorted(prefix.glob("lib/python3*/site-packages"))):
            with contextlib.suppress(FileNotFoundError):
                stamps.append(place.stat().st_mtime_ns)
    except OSError:
        return None
    # The worker's own entry names the run's folder and is the same code everywhere.
    path = [part for part in environment.get("PYTHONPATH", "").split(":") if not part.endswith("/worker.pyz")]
    return (python, *stamps, *path, environment.get("PYTHONHOME"))


def _ask(python: str, environment: Mapping[str, str], options: list[str]) -> Facts:
    from accel_tui_worker.archive import build

    with tempfile.TemporaryDirectory(prefix="accel-tui-") as folder:
        archive = Path(folder, "worker.pyz")
        archive.write_bytes(build())
        path = ":".join(part for part in (str(archive), environment.get("PYTHONPATH", "")) if part)
        argv = [python, "-m", "accel_tui_worker", "facts", *options]
        seconds = DEEP_DEADLINE_SECONDS if options else DEADLINE_SECONDS
        # Not a process of the run, though it has the run's environment.
        kept = {name: value for name, value in environment.items() if not name.startswith("ACCEL_TUI_RUN")}
        # Logs of the Gaudi software belong to a run folder, which does not exist yet.
        asked = {**kept, "PYTHONPATH": path, "HABANA_LOGS": f"{folder}/habana_logs"}
        return _parsed(seconds, *_bounded(argv, asked, seconds))


def _bounded(argv: list[str], environment: Mapping[str, str], seconds: float) -> tuple[int | None, bytes, bytes]:
    """Exit code (None: no end in time), the first bytes of standard output, the last ones of standard error."""
    try:
        child = subprocess.Popen(
            argv, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return 127, b"", str(error).encode(errors="replace")
    assert child.stdout is not None
    assert child.stderr is not None
    output = {child.stdout: bytearray(), child.stderr: bytearray()}
    deadline = time.monotonic() + seconds
    with child, selectors.DefaultSelector() as ready:
        for stream in output:
            ready.register(stream, selectors.EVENT_READ)
        while ready.get_map() and time.monotonic() < deadline and max(map(len, output.values())) <= MOST_BYTES:
            for entry, _ in ready.select(max(0.0, deadline - time.monotonic())):
                stream = entry.fileobj  # type: ignore[assignment]  # only streams were registered
                chunk = os.read(stream.fileno(), 1 << 16)
                if not chunk:
                    ready.unregister(stream)
                output[stream] += chunk
        talks_on = bool(ready.get_map())
        try:
            code: int | None = child.wait(0.1 if talks_on else max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return code, bytes(output[child.stdout][:MOST_BYTES]), bytes(output[child.stderr][-2000:])


def _parsed(seconds: float, code: int | None, output: bytes, error: bytes) -> Facts:
    if len(output) >= MOST_BYTES:
        return Facts({}, "it talks without an end")
    if code is None:
        return Facts({}, f"it did not answer within {seconds:.0f} s")
    last = error.decode(errors="replace").strip().splitlines()[-1:] or [""]
    if code != 0:
        return Facts({}, f"it ended with code {code}: {last[0]}" if last[0] else f"it ended with code {code}")
    try:
        document = json.loads(output.decode().strip().splitlines()[-1])
    except (ValueError, IndexError):
        return Facts({}, "its answer cannot be read")
    return Facts(document) if isinstance(document, dict) else Facts({}, "its answer cannot be read")
