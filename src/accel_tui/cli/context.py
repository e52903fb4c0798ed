"""What a verb works with: its arguments, the output, settings and a client, each made when first asked for."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from accel_tui.cli.output import Output
    from accel_tui.client.connection import Client
    from accel_tui.config.settings import Settings
    from accel_tui.model.runs import Run


def own_environment() -> dict[str, str]:
    """The environment that this process was given.

    In a plain C locale Python adds `LC_CTYPE=C.UTF-8` to its own environment; a run must not inherit what nobody set.
    """
    environment = dict(os.environ)
    if sys.flags.utf8_mode and "PYTHONUTF8" not in environment and environment.get("LC_CTYPE") == "C.UTF-8":
        del environment["LC_CTYPE"]
    return environment


class Context:
    """One invocation of one verb."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        command: tuple[str, ...],
        output: Output,
        environment: Mapping[str, str],
    ) -> None:
        self.arguments = arguments
        self.command = command
        """The argument list after `--`."""
        self.output = output
        self.environment = environment
        self.screen: Callable[[Context], int] | None = None
        """Shows the screen, which this package does not know; None where there is none."""
        self.viewed: Run | str | None = None
        """What `view` shows alone: a run, or the absolute path of a file."""

    @property
    def demo(self) -> str | None:
        """Name of the invented host, None for the real one."""
        name: str | None = self.arguments.demo
        return name

    @property
    def own_flags(self) -> str:
        """The global flags that say which supervisor is meant, with a space behind; empty without any."""
        import shlex

        given = (("--demo", self.demo), ("--state-dir", self.arguments.state_dir))
        return "".join(f"{flag} {shlex.quote(value)} " for flag, value in given if value)

    @cached_property
    def settings(self) -> Settings:
        """Settings of file, variables and flags.

        Raises:
            FileError: the settings file is invalid.
        """
        from accel_tui.config.settings import load_settings

        flags = {"state_dir": self.arguments.state_dir} if self.arguments.state_dir else {}
        return load_settings(flags, self.environment)

    @cached_property
    def state_dir(self) -> Path:
        """The state folder, opened and checked.

        Raises:
            StateFolderError: it cannot be used.
        """
        from accel_tui.config.state import open_state_folder

        return open_state_folder(self.state_path)

    @property
    def state_path(self) -> Path:
        """Where the state folder is or would be; touches nothing."""
        import socket

        from accel_tui.config.state import state_folder

        return state_folder(self.settings, socket.gethostname(), self.environment)

    @property
    def folder_in_force(self) -> Path:
        """The folder with socket and runs: that of the demonstration below the state folder, where one is meant."""
        from accel_tui.config.state import demo_folder

        return self.state_path if self.demo is None else demo_folder(self.state_path, self.demo)

    @cached_property
    def client(self) -> Client:
        """A connected client; a supervisor is started when none runs.

        Raises:
            SupervisorError: it cannot be reached.
        """
        client = self.unconnected()
        client.connect(start=True)
        return client

    def running_client(self) -> Client | None:
        """A client of the supervisor that runs already, None when none does; never starts one."""
        from accel_tui.client import starting
        from accel_tui.client.connection import Client

        if not starting.listens(str(self.folder_in_force)):
            return None
        client = Client(self.state_path, self.demo, self.settings, self.environment, may_start=False)
        client.connect(start=False)
        return client

    def unconnected(self) -> Client:
        """A client that has not asked for anything yet."""
        from accel_tui.client.connection import Client

        return Client(self.state_dir, self.demo, self.settings, self.environment)

    def say_simulated(self) -> None:
        """One line beside the data where the devices are invented."""
        if self.demo is not None:
            from accel_tui.cli.output import Styled

            words = f" the devices of {self.demo} are invented; jobs on them run on the CPU"
            self.output.note(Styled(" simulated ", "simulated"), Styled(words, "muted"))

    def check_demo(self) -> None:
        """Raises:
        UsageError: `--demo` names no invented host.
        """
        if self.demo is not None:
            from accel_tui.vendors.demo import check_demo

            check_demo(self.demo)
