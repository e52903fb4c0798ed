"""Running the vendor's tool: found, bounded in time and output, and never two of it at once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.model.devices import SourceFault
from accel_tui.vendors.gaudi import places as usual

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_OUTPUT_LIMIT = 4 << 20
_LINGER_SECONDS = 0.3
"""How long the output of a tool that ended is waited for, when a child of it holds the pipe."""
_TERM_SECONDS, _REAP_SECONDS = 0.2, 1.0
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Answer:
    """How one call ended."""

    code: int
    out: str
    err: str

    def words(self) -> str:
        """What the tool said, for a person: its error output, else the beginning of its output."""
        for stream in (self.err, self.out):
            lines = [" ".join(line.split()) for line in stream.splitlines() if line.strip()]
            if lines:
                return "; ".join(lines[:3])[:500]
        return "nothing"

    def ending(self) -> str:
        """How it ended, in words; empty when well."""
        if self.code >= 0:
            return f"exit code {self.code}" if self.code else ""
        names = {int(sign): sign.name for sign in signal.Signals}
        return f"ended by {names.get(-self.code, f'signal {-self.code}')}"


def find(configured: str | None, environment: Mapping[str, str]) -> str:
    """The path of hl-smi: the one that settings name, else from PATH and the usual folders.

    Raises:
        SourceFault: there is none that can be executed.
    """
    folders = (*environment.get("PATH", os.defpath).split(os.pathsep), *usual.HL_SMI_FOLDERS)
    found = shutil.which(configured or "hl-smi", path=os.pathsep.join(folders))
    if found is not None:
        return found
    if configured:
        exists = Path(configured).exists()
        message = (
            f"{configured}, which the setting hl_smi names, {'cannot be executed' if exists else 'does not exist'}"
        )
        raise SourceFault(message, "correct hl_smi in config.toml or ACCEL_TUI_HL_SMI", code="missing", rests=True)
    message = f"hl-smi was not found on PATH or in {', '.join(usual.HL_SMI_FOLDERS)}"
    raise SourceFault(message, "install the Gaudi software, or name hl_smi in config.toml", code="missing", rests=True)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The tool's environment: it wants a log folder that it can write, and must speak English."""
    changed = {**base, "LC_ALL": "C", "ENABLE_CONSOLE": "true"}
    with contextlib.suppress(OSError):
        changed["HABANA_LOGS"] = usual.log_folder()
    return changed


class Tool:
    """Calls of one program, one at a time. A call that the kernel does not let go of is never doubled."""

    def __init__(self, path: str, environment: Mapping[str, str]) -> None:
        self.path = path
        self._environment = dict(environment)
        self._stuck: subprocess.Popen[bytes] | None = None
        self.took = 0.0
        """Seconds of the last call that ended by itself."""

    def run(self, arguments: Sequence[str], seconds: float) -> Answer:
        """One call with a hard limit of time.

        Raises:
            SourceFault: it cannot be started, or did not end in time (then it was killed, with its children).
        """
        if self._stuck is not None:
            if self._stuck.poll() is None:
                message = f"hl-smi (process {self._stuck.pid}) was killed and is still in the kernel"
                raise SourceFault(message, "look at the kernel log (dmesg)", code="stuck", rests=True)
            self._stuck = None
        begun = time.monotonic()
        try:
            process = subprocess.Popen(
                [self.path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                cwd="/",
                preexec_fn=_own_group,  # noqa: PLW1509 - the probe has one thread
            )
        except OSError as error:
            message = f"{self.path} cannot be started: {error.strerror}"
            raise SourceFault(message, "correct the setting hl_smi", code="missing", rests=True) from None
        try:
            out, err, ended = _collect(process, begun + seconds)
        except BaseException:
            self._end(process)
            raise
        if not ended:
            self._end(process)
            message = f"hl-smi did not answer within {seconds:g} s and was killed"
            remedy = "its last values are shown as stale; it is asked again by itself, ever more rarely"
            raise SourceFault(message, remedy, code="hung", rests=True)
        self.took = time.monotonic() - begun
        return Answer(process.returncode, out, err)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """SIGTERM to the group, then SIGKILL; whoever ignores both is remembered."""
        for sign, wait in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _REAP_SECONDS)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait)
        if process.poll() is None:
            self._stuck = process
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _own_group() -> None:
    """In the child: a group of its own, and death with the probe."""
    os.setpgid(0, 0)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _collect(process: subprocess.Popen[bytes], end: float) -> tuple[str, str, bool]:
    """Both outputs, and whether the process ended in time. What is beyond the limit of size is dropped."""
    streams = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = end - time.monotonic()
            if left <= 0:
                break
            if process.poll() is not None:
                end = min(end, time.monotonic() + _LINGER_SECONDS)
            for key, _ in selector.select(min(left, 0.25)):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                buffer = next(held for stream, held in streams.items() if stream is key.fileobj)
                buffer += chunk[: _OUTPUT_LIMIT - len(buffer)]
    out, err = (bytes(held).decode("utf-8", "replace") for held in streams.values())
    try:
        process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return out, err, False
    for stream in streams:
        stream.close()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # what it left behind
    return out, err, True
