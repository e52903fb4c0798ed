"""The shape of every verb that does one thing to several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli.output import Styled
from accel_tui.model.errors import AccelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.cli.context import Context
    from accel_tui.model.runs import Run


def each_run(
    context: Context,
    act: Callable[[str], tuple[Run, str | None]],
    told: str,
    then: Callable[[Run], Run] | None = None,
) -> int:
    """Act on every run named in `refs` and tell each outcome; `then` is done to each when all were acted on.

    One that fails does not keep the others from being done, nor from being told; the exit code is that of the first
    failure. In words the first failure is raised when all were tried; a document holds it beside what was done.
    """
    done: list[Run] = []
    notes: list[str | None] = []
    failures: list[tuple[str, AccelError]] = []
    for ref in context.arguments.refs:
        try:
            run, note = act(ref)
        except AccelError as error:
            failures.append((ref, error))
            continue
        done.append(run)
        notes.append(note)
        if not context.output.json_wanted:
            context.output.note(Styled(run.name, "strong"), f" {run.id}: {note or told}")
    if then is not None:
        done = [then(run) for run in done]
    if context.output.json_wanted:
        return _document(context, list(zip(done, notes, strict=True)), failures)
    for _, failure in failures[1:]:
        context.output.note(context.output.glyph("failed"), " ", failure.message)
    if failures:
        raise failures[0][1]
    return 0


def _document(context: Context, done: list[tuple[Run, str | None]], failures: list[tuple[str, AccelError]]) -> int:
    listed = [{**run.to_json(), "note": note} for run, note in done]
    if not failures:
        context.output.document({"schema": 1, "runs": listed})
        return 0
    first = failures[0][1]
    failed = [{"ref": ref, **error.to_json()} for ref, error in failures]
    context.output.document({"schema": 1, "error": first.to_json(), "runs": listed, "failures": failed})
    return int(first.exit_code)
