"""A registered source in a real probe process, asked line by line: for what a library does to a process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from accel_tui.devices.provider import Answer, Readings, decode
from accel_tui.model.devices import Device, Holder, Problem, SourceFault
from accel_tui.model.places import Places
from support.world import SOURCE

_BOOT = "import sys; sys.path.insert(0, {path!r}); from accel_tui.devices.probe import main; main()"


class ProbedSource:
    """Speaks the protocol of `accel_tui.devices.probe` as its parent does; a source like any other."""

    def __init__(self, label: str, places: Places, *, prefix: tuple[str, ...] = ()) -> None:
        self.vendor, self.name = label.split(".")
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-I", "-c", _BOOT.format(path=str(SOURCE)), label],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )
        module = f"accel_tui.vendors.{self.vendor}.{self.name}"
        hello = {"module": module, "attribute": "open_source", "paths": [], "places": places.to_json()}
        self.ready = self._exchange(hello)
        self._number = 0
        self._listed = Answer()

    def inventory(self) -> tuple[tuple[Device, ...], tuple[Problem, ...]]:
        answer = self.ask("inventory")
        return answer.devices, answer.problems

    def read(self) -> Readings:
        return self.ask("read").readings

    def holders(self) -> dict[str, tuple[Holder, ...]]:
        return self.ask("holders").holders

    def ask(self, question: str) -> Answer:
        """One question to its answer.

        Raises:
            EOFError: the process ended.
            SourceFault: the source answered with a fault.
        """
        self._number += 1
        reply = self._exchange({"id": self._number, "ask": question})
        if "error" in reply:
            raise SourceFault(reply["error"], reply.get("remedy"), code=reply.get("code", "raised"))
        if reply.get("same"):
            return self._listed
        answer = decode(reply)
        if question == "inventory":
            self._listed = answer
        return answer

    def close(self) -> int:
        """End the process; its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # a call of a library hangs
            self._process.kill()
            return self._process.wait()

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EOFError("the probe ended") from None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the probe ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextlib.contextmanager
def probed(label: str, places: Places, *, prefix: tuple[str, ...] = ()) -> Iterator[ProbedSource]:
    """A source in its own process for the length of a test."""
    source = ProbedSource(label, places, prefix=prefix)
    try:
        yield source
    finally:
        source.close()
