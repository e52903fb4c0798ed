"""The kind `command`: a program of the user's own, with the planned environment."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from accel_tui.jobs.spec import Job, Program, Table, Text


class Command(Table):
    """The program."""

    argv: list[Text] = Field(
        min_length=1,
        description="Program and arguments, one item each; no shell reads them.",
        json_schema_extra={"common": True, "words": True},
    )


class CommandJob(Job):
    """Any program. Under a launcher a first argument that ends in `.py` is the script of every process."""

    worker: ClassVar[bool] = False
    default_launcher: ClassVar[str] = "none"

    kind: Literal["command"] = Field("command", description="Runs a program.")
    command: Command

    def program(self, folder: str, device: str) -> Program:  # noqa: ARG002 - the program knows neither
        argv = tuple(self.command.argv)
        return Program("script" if argv[0].endswith(".py") else "program", argv)


JOB = CommandJob
