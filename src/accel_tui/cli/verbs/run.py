"""`run`: queue a run of a job, or of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.cli.choosing import Chosen, file_arguments, from_command, from_file, submission
from accel_tui.cli.following import finish
from accel_tui.cli.output import Styled
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui run train.toml --devices gaudi:0-3 --follow\n  accel-tui run --devices cpu -- python train.py"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    file_arguments(parser, optional=True)
    parser.add_argument("--all", action="store_true", help="every job of the file")
    parser.add_argument("--name", help="name of the run")
    parser.add_argument(
        "--launcher", choices=("none", "python", "torchrun", "accelerate"), help="for a command: what starts it"
    )
    parser.add_argument("--processes", type=int, metavar="N", help="for a command: how many")
    parser.add_argument("--priority", type=int, default=0, metavar="N", help="higher starts earlier")
    parser.add_argument(
        "--after", action="append", default=[], metavar="RUN[:ok]", help="start when RUN is finished (:ok: succeeded)"
    )
    consent_arguments(parser)
    waiting_arguments(parser)


def consent_arguments(parser: argparse.ArgumentParser) -> None:
    """--yes and --override."""
    parser.add_argument("--yes", action="store_true", help="answer the questions of the checks with yes")
    parser.add_argument(
        "--override", action="append", default=[], metavar="ID", help="run although this check refuses; it is recorded"
    )


def waiting_arguments(parser: argparse.ArgumentParser) -> None:
    """--wait, --follow and --json."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--wait", action="store_true", help="return when it is finished; 1 unless it succeeded")
    group.add_argument("--follow", action="store_true", help="show its log until then; Ctrl+C leaves it running")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(context: Context) -> int:
    """Queue, print the id, and wait or follow where asked to."""
    wanted = context.arguments
    chosen = _jobs(context)
    more: dict[str, Any] = {
        "priority": wanted.priority,
        "after": tuple(_after(text) for text in wanted.after),
        "yes": wanted.yes,
        "overrides": tuple(wanted.override),
    }
    answers = [context.client.submit(submission(context, one, **more)) for one in chosen]
    if wanted.all:
        return _told_all(context, answers)
    return told(context, answers[0])


def told(context: Context, answer: dict[str, Any]) -> int:
    """Print the id of a queued run; wait or follow where asked to; returns the exit code."""
    wanted, output = context.arguments, context.output
    waits = wanted.wait or wanted.follow
    if not wanted.json:
        output.line(answer["id"])
        output.flush()
        _warn(context, answer)
        if not waits:
            _where(context, answer)
    elif not waits:
        output.document(_marked(context, answer))
    return finish(context, answer["id"], follow=wanted.follow) if waits else 0


def _told_all(context: Context, answers: list[dict[str, Any]]) -> int:
    wanted, output = context.arguments, context.output
    waits = wanted.wait or wanted.follow
    if not wanted.json:
        for answer in answers:
            output.line(answer["id"])
            _warn(context, answer)
    elif not waits:
        output.document({"schema": 1, "runs": [_marked(context, answer) for answer in answers]})
    return max(finish(context, answer["id"], follow=wanted.follow) for answer in answers) if waits else 0


def _warn(context: Context, answer: dict[str, Any]) -> None:
    output = context.output
    for warning in answer.get("warnings", ()):
        output.note(output.glyph("warning"), f" {warning['message']}")


def _marked(context: Context, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, with a word where the devices are invented."""
    return answer if context.demo is None else {**answer, "simulated": True}


def _where(context: Context, answer: dict[str, Any]) -> None:
    output, ident = context.output, answer["id"]
    output.note(output.glyph("queued"), f" {answer['state']}: ", Styled(answer["name"], "strong"))
    words = f"  `accel-tui logs -f {ident}` follows it, `accel-tui stop {ident}` ends it"
    output.note(Styled(output.hint(words), "muted"))


def _jobs(context: Context) -> list[Chosen]:
    wanted = context.arguments
    if wanted.file is None:
        if wanted.all:
            raise UsageError("--all needs a session file")
        return [from_command(context)]
    if context.command:
        raise UsageError("a file and a command after `--` cannot stand together")
    for flag in ("launcher", "processes", "name"):
        if getattr(wanted, flag) is not None:
            key = "name" if flag == "name" else f"launch.{flag}"
            raise UsageError(f"--{flag} belongs to a command after `--`", remedy=f"for a file: --set {key}=VALUE")
    return from_file(context)


def _after(text: str) -> tuple[str, str]:
    ref, colon, rule = text.rpartition(":")
    if not colon:
        return text, "any"
    if rule not in ("ok", "any") or not ref:
        raise UsageError(f"--after {text}: RUN or RUN:ok is expected")
    return ref, rule
