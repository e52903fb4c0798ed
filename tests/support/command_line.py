"""The command line as a user runs it: real processes, their exit code, and what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.waiting import wait_for

PROGRAM = (sys.executable, "-m", "accel_tui")
NO_SUCH_RUN = 7
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What no verb may write, on either stream; newline and tab are harmless."""


@dataclass(frozen=True)
class Answer:
    """How one call ended."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    def expect(self, code: int) -> Answer:
        """The same answer when it ended with `code`; else an error that shows everything."""
        assert self.code == code, (
            f"{self.argv} ended with {self.code}, not {code}\n--- out\n{self.out}\n--- err\n{self.err}"
        )
        return self


class CommandLine:
    """Calls `accel-tui` in the world of one test."""

    def __init__(self, *flags: str) -> None:
        self._flags = flags

    def __call__(
        self,
        *argv: str,
        environment: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        seconds: float = 60,
    ) -> Answer:
        """One call to its end. A traceback or a control character on a stream fails the test in any case."""
        done = subprocess.run(
            [*PROGRAM, *self._flags, *argv],
            env=changed(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        answer = Answer(argv, done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback (most recent call last)" not in answer.out + answer.err, answer
        assert not CONTROLS.search(answer.out + answer.err), answer
        return answer

    def start(self, *argv: str, environment: Mapping[str, str | None] | None = None) -> subprocess.Popen[bytes]:
        """A call that goes on; its streams are pipes."""
        return subprocess.Popen(
            [*PROGRAM, *self._flags, *argv],
            env=changed(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def queue(self, *argv: str, name: str | None = None, devices: str = "none", flags: tuple[str, ...] = ()) -> str:
        """Queue a command and return the id of its run."""
        named = () if name is None else ("--name", name)
        return str(self("run", "--devices", devices, *named, *flags, "--json", "--", *argv).expect(0).json()["id"])

    def show(self, ref: str) -> dict[str, Any]:
        """The document of one run."""
        shown: dict[str, Any] = self("show", ref, "--json").expect(0).json()
        return shown

    def wait_state(self, ref: str, *states: str, seconds: float = 30) -> dict[str, Any]:
        """The run once it is there and in one of `states`."""

        def reached() -> dict[str, Any] | None:
            answer = self("show", ref, "--json")
            if answer.code == NO_SUCH_RUN:
                return None
            shown: dict[str, Any] = answer.expect(0).json()
            return shown if shown["state"] in states else None

        found = wait_for(reached, seconds=seconds, what=f"{ref} in {states}")
        assert found is not None
        return found

    def supervisor(self) -> int | None:
        """The supervisor's pid, None when none runs."""
        pid: int | None = self("supervisor", "status", "--json").expect(0).json()["pid"]
        return pid

    def close(self) -> None:
        """End every run and the supervisor, so that the test leaves no process."""
        listed = self("runs", "--all", "--json")
        live = [run["id"] for run in listed.json()["runs"] if run["state"] != "finished"] if listed.code == 0 else []
        if live:
            self("stop", "--now", "--wait", *live)
        self("supervisor", "stop")


def changed(environment: Mapping[str, str | None] | None) -> dict[str, str]:
    """This process's environment with changes; None removes a variable."""
    merged: dict[str, str | None] = {**os.environ, **(environment or {})}
    return {name: value for name, value in merged.items() if value is not None}
