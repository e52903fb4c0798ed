"""The one table of verbs: a line here and a module in `accel_tui.cli.verbs` make a verb."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context


class VerbModule(Protocol):
    """What each module in `accel_tui.cli.verbs` offers. Importing one must stay cheap: heavy imports go into `run`."""

    EXAMPLE: str
    """One command line, shown by `--help`."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare what the verb takes."""

    def run(self, context: Context) -> int:
        """Do it; the return value is the exit code. Raises `AccelError` for what a person can mend."""


@dataclass(frozen=True)
class Verb:
    """One verb, known without importing its module."""

    name: str
    summary: str
    takes_command: bool = False
    """Whether everything after `--` is the argument list of a program."""

    def load(self) -> VerbModule:
        """Import the module of this verb."""
        return cast("VerbModule", importlib.import_module(f"accel_tui.cli.verbs.{self.name}"))


VERBS: tuple[Verb, ...] = (
    Verb("devices", "the devices with readings, holders and problems"),
    Verb("plan", "what a job would run, in full; starts nothing"),
    Verb("run", "queue a run of a job, or of a command", takes_command=True),
    Verb("exec", "run a program here, with devices reserved for it", takes_command=True),
    Verb("env", "the environment for devices, as exports; reserves nothing"),
    Verb("runs", "live runs and those of the last 7 days"),
    Verb("show", "one run in full"),
    Verb("logs", "the log of a run, or a log file"),
    Verb("view", "the log screen alone, of a run or of any file"),
    Verb("metrics", "the curves of a run"),
    Verb("stop", "stop runs; training saves a checkpoint first"),
    Verb("rerun", "run a job again"),
    Verb("remove", "delete finished runs with their folders"),
    Verb("prune", "delete old runs with their folders"),
    Verb("hold", "keep queued runs from starting"),
    Verb("release", "let held runs start"),
    Verb("move", "change the order of the queue"),
    Verb("check", "examine a job without starting it"),
    Verb("orphans", "processes that hold a device and that nobody looks after"),
    Verb("doctor", "examine this host"),
    Verb("supervisor", "the background process: its status, or its end"),
    Verb("quickstart", "generate and train with a tiny model on the CPU"),
    Verb("completion", "a completion script for a shell"),
)


def find(name: str) -> Verb | None:
    """The verb of that name."""
    return next((verb for verb in VERBS if verb.name == name), None)
