"""The exceptions that reach a person, and the exit codes they end in.

    AccelError                      code                   exit
    ├── UsageError                  usage                  2
    ├── FileError                   file                   3
    ├── DeviceAbsentError           device-absent          4
    ├── SupervisorError             supervisor             5
    ├── CheckRefusedError           check-refused          6
    ├── RunNotFoundError            no-such-run            7
    ├── NotPossibleError            not-possible           8
    └── StateFolderError            state-folder           9

Each carries one sentence of fact and, where there is one, one of remedy. A face renders them in one place.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.model.plans import Check


class ExitCode(enum.IntEnum):
    """What the process of a verb ends with."""

    DONE = 0
    """It was done."""
    RUN_FAILED = 1
    """The run that was waited for or followed did not succeed."""
    USAGE = 2
    """The command line is wrong."""
    FILE = 3
    """A file is invalid, missing or unreadable."""
    DEVICE_ABSENT = 4
    """A selected device is not on this host (a busy one queues)."""
    SUPERVISOR = 5
    """The supervisor cannot be reached or speaks another protocol."""
    CHECK_REFUSED = 6
    """A check refused, or wanted an answer that was not given."""
    NO_SUCH_RUN = 7
    """No run has that id or name."""
    NOT_POSSIBLE = 8
    """The run's state does not allow it."""
    STATE_FOLDER = 9
    """The state folder cannot be used."""
    INTERNAL = 70
    """A fault of the product; a report was written."""
    INTERRUPTED = 130
    """Interrupted from the keyboard."""


class AccelError(Exception):
    """The root: something that a person is told in plain words.

    Foreign text may stand in `message`; faces pass it through the sanitiser.
    """

    code: str = "internal"
    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, remedy: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if code is not None:
            self.code = code

    def to_json(self) -> dict[str, Any]:
        """The value of `error` in the document that `--json` prints."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy}


class UsageError(AccelError):
    """The command line, or a request, is wrong."""

    code = "usage"
    exit_code = ExitCode.USAGE


class FileError(AccelError):
    """A file is invalid, missing or unreadable; the message names file and field."""

    code = "file"
    exit_code = ExitCode.FILE


class DeviceAbsentError(AccelError):
    """A selected device is not on this host."""

    code = "device-absent"
    exit_code = ExitCode.DEVICE_ABSENT


class SupervisorError(AccelError):
    """The supervisor does not answer, or speaks another protocol."""

    code = "supervisor"
    exit_code = ExitCode.SUPERVISOR


class CheckRefusedError(AccelError):
    """A check refused the run, or asks a question that nobody answered."""

    code = "check-refused"
    exit_code = ExitCode.CHECK_REFUSED

    def __init__(self, message: str, *, checks: Sequence[Check] = (), remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.checks = tuple(checks)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "checks": [check.to_json() for check in self.checks]}


class RunNotFoundError(AccelError):
    """No run has that id or name."""

    code = "no-such-run"
    exit_code = ExitCode.NO_SUCH_RUN


class NotPossibleError(AccelError):
    """The run's state does not allow the request."""

    code = "not-possible"
    exit_code = ExitCode.NOT_POSSIBLE


class StateFolderError(AccelError):
    """The state folder or the lock folder cannot be used."""

    code = "state-folder"
    exit_code = ExitCode.STATE_FOLDER


def error_from_json(document: Mapping[str, Any], default: type[AccelError] = SupervisorError) -> AccelError:
    """The exception that a reply's `error` value stands for; an unknown code becomes `default`."""
    from accel_tui.model.plans import Check

    kinds: dict[str, type[AccelError]] = {
        kind.code: kind
        for kind in (
            UsageError,
            FileError,
            DeviceAbsentError,
            SupervisorError,
            RunNotFoundError,
            NotPossibleError,
            StateFolderError,
            AccelError,
        )
    }
    code, message, remedy = document.get("code"), str(document.get("message", "")), document.get("remedy")
    if code == CheckRefusedError.code:
        checks = [Check.from_json(check) for check in document.get("checks", ())]
        return CheckRefusedError(message, checks=checks, remedy=remedy)
    return kinds.get(str(code), default)(message, remedy=remedy)
