"""What a keeper is told: its instruction, and what the run folder adds to it."""

from __future__ import annotations

import os

from accel_tui.keeper import files, limits
from accel_tui.keeper.processes import TAG

TYPE_CHECKING = False  # importing typing would cost each keeper memory and time
if TYPE_CHECKING:
    from typing import Any


class OrderError(Exception):
    """The instruction or the run folder cannot be used as it is."""


class Order:
    """One instruction together with the plan, the environment and the state that lie in the run folder."""

    def __init__(self, instruction: dict[str, Any]) -> None:
        """Read it all.

        Raises:
            OrderError: something is missing or damaged; the message names it.
        """
        try:
            self.folder: str = instruction["folder"]
            self.tag: str = instruction["tag"]
            self.locks: list[str] = sorted(set(instruction.get("locks") or ()))
            self.worker = bool(instruction.get("worker"))
            self.grace_seconds = float(instruction.get("grace_seconds", 10))
            self.save_seconds = float(instruction.get("save_seconds", 120))
            self.linger_seconds = float(instruction.get("linger_seconds", 5))
            limit = instruction.get("time_limit")
            mask = instruction.get("umask")
            self.umask = 0o077 if mask is None else int(mask, 8) & 0o777
            self.limits = limits.parse(str(instruction.get("limits") or ""))
            self.time_limit: float | None = None if limit is None else float(limit)
            self.runs: str | None = instruction.get("runs")
            self.supervisor_lock: str | None = instruction.get("supervisor_lock")
            self.revive: list[str] = list(instruction.get("revive") or ())
            self.revive_environment: dict[str, str] = dict(instruction.get("revive_environment") or os.environ)
            self.revive_environment.pop(TAG, None)  # a supervisor belongs to no run
            secrets = dict(instruction.get("secrets") or {})
            secret_arguments = dict(instruction.get("secret_arguments") or {})
        except (KeyError, TypeError, ValueError) as error:
            raise OrderError(f"the instruction is not usable: {error!r}") from None
        self.state = self._read("state.json")
        if self.state.get("state") != "preparing":
            raise OrderError(f"{self.path('state.json')} says {self.state.get('state')!r}, not 'preparing'")
        if self.state.get("start") != instruction.get("start"):
            raise OrderError(f"{self.path('state.json')} is that of another start")
        self._must_not_have_ended()
        plan = self._read("plan.json")
        try:
            self.argv = [str(word) for word in plan["argv"]]
            for index, value in secret_arguments.items():
                self.argv[int(index)] = value
            self.cwd = str(plan["cwd"])
            self.ports = [int(port) for port in plan.get("ports", ())]
            self.environment: dict[str, str] = {**self._read("environment.json")["run"], **secrets}
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise OrderError(f"{self.path('plan.json')} or environment.json is not usable: {error!r}") from None
        if not self.argv:
            raise OrderError(f"{self.path('plan.json')} has an empty argument list")

    def path(self, name: str) -> str:
        """A file of the run folder."""
        return os.path.join(self.folder, name)

    def write_state(self, *, sync: bool = True, **fields: object) -> None:
        """Change fields of state.json; `sync` as for `files.write_atomic`.

        Raises:
            OSError: it cannot be written.
        """
        self.state.update(fields)
        files.write_json(self.path("state.json"), self.state, sync=sync, sync_folder=False)

    def forget(self) -> None:
        """Drop what only the start needed; the rest stays resident for the life of the run."""
        self.argv = []
        self.environment = {}

    def _must_not_have_ended(self) -> None:
        try:
            ended = files.read_record(self.path("exit.json"))
        except (OSError, ValueError) as error:
            raise OrderError(f"{self.path('exit.json')} is damaged: {error}") from None
        if ended is not None:
            raise OrderError(f"{self.path('exit.json')} says that this run has ended")

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path(name)
        try:
            document = files.read_json(path)
        except OSError as error:
            raise OrderError(f"{path}: {error.strerror}") from None
        except ValueError as error:
            raise OrderError(f"{path} is damaged: {error}") from None
        if not isinstance(document, dict):
            raise OrderError(f"{path} is damaged: it holds no object")
        return document
