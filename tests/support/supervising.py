"""A state folder with a real supervisor, asked through a real client."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accel_tui.client.connection import Client
from accel_tui.client.starting import lock_held
from accel_tui.client.submitter import split_environment
from accel_tui.config.settings import load_settings
from accel_tui.model.errors import AccelError
from accel_tui.model.runs import Run, RunState
from accel_tui.protocol.messages import Submission
from support.waiting import wait_for


class Site:
    """One state folder and whoever serves it. Variables go to the supervisor that is started first."""

    def __init__(self, base: Path, demo: str | None = None, **variables: str) -> None:
        self.base = base
        self.demo = demo
        self.environment = {**os.environ, "ACCEL_TUI_STATE_DIR": str(base), **variables}
        self._clients: list[Client] = []
        self.client = self.new_client()
        self.state = Path(self.client.state_dir)

    def new_client(self, *, may_start: bool = True, **variables: str) -> Client:
        environment = {**self.environment, **variables}
        settings = load_settings({"state_dir": str(self.base)}, environment)
        self._clients.append(Client(self.base, self.demo, settings, environment, may_start=may_start))
        return self._clients[-1]

    def submission(self, argv: Sequence[str], select: str = "none", **fields: Any) -> Submission:
        """A `command` job; `launch` and `name` go into it, `variables` into its environment, the rest as it is."""
        job = {"kind": "command", "name": fields.pop("name", "job"), "command": {"argv": list(argv)}}
        job["launch"] = fields.pop("launch", {})
        variables: Mapping[str, str] = fields.pop("variables", {})
        base, secrets = split_environment({**self.environment, **variables}, job["launch"].get("env_from", ()))
        return Submission(job=job, select=select, base=base, secrets=secrets, cwd=str(self.base), **fields)

    def submit(self, argv: Sequence[str], select: str = "none", **fields: Any) -> str:
        """Queue a command; its id."""
        return str(self.client.submit(self.submission(argv, select, **fields))["id"])

    def finished(self, identifier: str) -> Run:
        run = self.client.run(identifier, wait=60)
        assert run.state is RunState.FINISHED, run
        return run

    def reach(self, identifier: str, state: RunState) -> Run:
        """The run once it is in that state."""
        return self.when(identifier, lambda run: run.state is state)

    def when(self, identifier: str, condition: Callable[[Run], object]) -> Run:
        """The run once the condition holds for it."""

        def look() -> list[Run]:
            run = self.client.run(identifier)
            return [run] if condition(run) else []

        return wait_for(look, what=f"the condition for {identifier}")[0]

    def pid(self) -> int:
        return int(self.client.hello()["pid"])

    def kill(self) -> int:
        """Kill the supervisor by force; its pid."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not lock_held(str(self.state)), what="the end of the killed supervisor")
        return pid

    def close(self) -> None:
        """End every run, the supervisor and the clients."""
        with contextlib.suppress(AccelError):
            client = self.new_client()
            for run in client.runs(everything=True):
                if run.state is not RunState.FINISHED:
                    client.stop(run.id, now=True)
            for run in client.runs(everything=True):
                if run.state is not RunState.FINISHED:
                    client.run(run.id, wait=30)
            client.shutdown()
        for client in self._clients:
            client.close()


@contextlib.contextmanager
def site(base: Path, demo: str | None = None, **variables: str) -> Iterator[Site]:
    """A site that is ended afterwards."""
    opened = Site(base, demo, **variables)
    try:
        yield opened
    finally:
        opened.close()
