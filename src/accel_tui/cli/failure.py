"""Turns whatever goes wrong in a verb into words, a document and an exit code; no traceback reaches the screen."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli.output import Output, Styled, to_nowhere
from accel_tui.model.errors import AccelError, ExitCode, FileError

if TYPE_CHECKING:
    from collections.abc import Callable


def guarded(verb: Callable[[], int], output: Output, report_folder: Callable[[], Path]) -> int:
    """Run `verb` and return the exit code of the process.

    `report_folder` names the folder for the report of an internal error; it is asked only then.
    """
    try:
        code = verb()
        output.flush()
    except AccelError as error:
        return report(error, output)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        to_nowhere(sys.stdout)
        return int(ExitCode.DONE)
    except Exception as error:  # the process border: a person gets words and a report instead of a traceback
        return _internal(error, output, report_folder)
    return code


def report(error: AccelError, output: Output) -> int:
    """Tell `error` in words on standard error, or as a document on standard output when JSON was asked for."""
    try:
        if output.json_wanted and not output.lost:
            output.document({"schema": 1, "error": error.to_json()})
        else:
            _tell(error, output)
    except (BrokenPipeError, FileError):  # nobody reads it; the exit code remains
        to_nowhere(sys.stdout)
    return int(error.exit_code)


def _tell(error: AccelError, output: Output) -> None:
    first, *more = error.message.split("\n")
    output.note(output.glyph("failed"), " ", Styled("error: ", "error"), first)
    for line in more:
        output.note("  ", line)
    told = [check for check in getattr(error, "checks", ()) if check.level.value in ("refusal", "ask")]
    if len(told) > 1 or not any(check.message in error.message for check in told):
        for check in told:
            output.note("  ", output.glyph(check.level.value), f" {check.level.value} {check.id}: {check.message}")
            if check.remedy:
                output.note("    ", Styled(output.hint(check.remedy), "muted"))
    if error.remedy:
        for line in output.hint(error.remedy).split("\n"):
            output.note("  ", line)


def _internal(error: Exception, output: Output, report_folder: Callable[[], Path]) -> int:
    place = _write_report(report_folder)
    wrapped = AccelError(
        f"internal error: {type(error).__name__}: {error}",
        remedy=f"the report is in {place}" if place else "no report could be written",
    )
    return report(wrapped, output)


def _write_report(report_folder: Callable[[], Path]) -> Path | None:
    """The traceback, without argument values or environment, in a file that only its owner reads."""
    import tempfile

    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    import traceback

    text = f"{moment} Python {sys.version.split()[0]}\n{traceback.format_exc()}"
    for folder in (report_folder, lambda: Path(tempfile.gettempdir())):
        try:
            descriptor, name = tempfile.mkstemp(prefix="accel-tui-report-", suffix=".txt", dir=folder())
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except (OSError, AccelError):  # an unusable state folder must not hide the fault itself
            continue
        return Path(name)
    return None
