"""The table of runs: columns for a width, a row for a run. Pure."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accel_tui.model.devices import Device
from accel_tui.model.runs import Cause, Run, RunResult, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import GLYPHS, Glyphs, duration, loss, moment, rate
from accel_tui.tui.naming import names_of
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.columns import Column, Row
from accel_tui.tui.widgets.pieces import Cell, Piece, cell

_CAUSES: Mapping[Cause, str] = {
    Cause.OUT_OF_MEMORY: "out of memory",
    Cause.TIME_LIMIT: "time limit reached",
    Cause.KEEPER_LOST: "its keeper was killed",
    Cause.REBOOT: "the host restarted",
    Cause.LAUNCH_FAILED: "could not be started",
    Cause.CHECK_REFUSED: "a check refused it",
    Cause.DEPENDENCY_FAILED: "a run that it waited for did not succeed",
    Cause.RECORD_DAMAGED: "its record is damaged",
}
FULL_COLUMNS = 110
"""From this width on the table has a column for everything."""


@dataclass(frozen=True)
class Look:
    """What rows are drawn with besides the facts."""

    glyphs: Glyphs
    zone: datetime.tzinfo | None
    width: int
    known: Mapping[str, Device]


def columns(width: int, names: int = 12) -> tuple[Column, ...]:
    """The columns for a table of `width`; `names` is the longest name."""
    name = Column("name", "NAME", max(10, min(names, 28 if width >= FULL_COLUMNS else 18)), gap=1)
    sign = Column("sign", "", 1, gap=0)
    if width >= FULL_COLUMNS:
        return (
            *(sign, name, Column("kind", "KIND", 8, gap=2, drop=3), Column("devices", "DEVICES", 12, gap=2, drop=5)),
            *(Column("started", "STARTED", 15, gap=2, drop=4), Column("took", "TOOK", 9, "right", gap=1)),
            Column("result", "PROGRESS / RESULT", 24, gap=3, grow=True),
            *(Column("loss", "LOSS", 6, "right", gap=2, drop=2), Column("speed", "TOK/S", 6, "right", gap=2, drop=1)),
        )
    return (
        *(sign, name, Column("devices", "DEVICES", 12, gap=2, drop=1)),
        Column("result", "PROGRESS / RESULT", 20, gap=2, grow=True),
        Column("time", "", 13, "right", gap=1, drop=3),
    )


def row(run: Run, board: Board, kept: Sequence[Column], look: Look) -> Row:
    """The row of one run in the columns `kept`."""
    sign, role = sign_of(run)
    cells = {
        "sign": cell(Piece(look.glyphs.text(sign), role)),
        "name": cell(Piece(run.name, "strong" if run.state is not RunState.FINISHED else "text", bold=False)),
        "kind": cell(Piece(run.kind, "muted")),
        "devices": cell(Piece(_devices(run, look), "muted")),
        "started": cell(Piece(_started(run, board, look), "muted")),
        "took": cell(Piece(took(run, board), "muted")),
        "result": result(run, board, look),
        "loss": cell(Piece("" if run.progress.loss is None else loss(run.progress.loss))),
        "speed": cell(Piece("" if run.progress.tokens_per_second is None else rate(run.progress.tokens_per_second))),
        "time": cell(Piece(_time(run, board), "muted")),
    }
    return Row(run.id, tuple(cells[column.key] for column in kept))


def sign_of(run: Run) -> tuple[str, str]:
    """The sign of a run and its role."""
    if run.state is RunState.QUEUED:
        return "queued", GLYPHS["queued"].role
    if run.state is RunState.STOPPING:
        return "releasing", "warn"
    if run.state is not RunState.FINISHED:
        return "running", "ok"
    name = {
        RunResult.SUCCEEDED: "succeeded",
        RunResult.FAILED: "failed",
        RunResult.NOT_STARTED: "failed",
        RunResult.STOPPED: "stopped",
        RunResult.LOST: "lost",
    }.get(run.result or RunResult.LOST, "lost")
    return name, GLYPHS[name].role


def result(run: Run, board: Board, look: Look) -> Cell:
    """How far it is, what it waits for, or how it ended."""
    if run.id in board.busy:
        return cell(Piece(board.busy[run.id], "accent"))
    if run.state is RunState.QUEUED:
        if run.held:
            return cell(Piece("held: ", "warn"), Piece(run.held, "muted"))
        return cell(Piece(f"waits for {run.waiting_for}" if run.waiting_for else "waits for its turn", "muted"))
    if run.state is RunState.FINISHED:
        return _ended(run, full=look.width >= FULL_COLUMNS)
    if run.state is RunState.STOPPING:
        return cell(Piece("stopping", "warn"), Piece(_step(run), "muted"))
    return _progress(run, look)


def _devices(run: Run, look: Look) -> str:
    """What it has, or had; a queued run may not know yet."""
    return names_of(run.devices, look.known) or ("" if run.state is RunState.QUEUED else "none")


def _progress(run: Run, look: Look) -> Cell:
    progress = run.progress
    if progress.step is not None and progress.total:
        count = Piece(f" {progress.step}/{progress.total}")
        narrow = 9 if look.width < FULL_COLUMNS else 16
        full = look.width >= FULL_COLUMNS
        extra = _left(run) if full else _extra(run) if look.width >= 76 else ()
        return (*bar(progress.step / progress.total, narrow, "ok", look.glyphs), count, *extra)
    if progress.phase:
        return cell(Piece(progress.phase))
    return cell(Piece(run.state.value, "muted"))


def _left(run: Run) -> Cell:
    left = run.progress.eta_seconds
    return () if left is None else (Piece(f"  {duration(left)} left", "muted"),)


def _extra(run: Run) -> Cell:
    value = run.progress.loss
    return () if value is None else (Piece("  loss ", "muted"), Piece(loss(value)))


def _step(run: Run) -> str:
    return "" if run.progress.step is None else f" at step {run.progress.step}"


def _ended(run: Run, *, full: bool) -> Cell:
    """How it ended; with `full` the loss has a column of its own."""
    if run.result is RunResult.SUCCEEDED:
        value = None if full else run.progress.loss
        return cell(Piece("succeeded", "text")) if value is None else cell(Piece("loss ", "muted"), Piece(loss(value)))
    if run.result is RunResult.STOPPED:
        by = "stopped by you" if run.cause is Cause.STOPPED_BY_USER else "stopped"
        return cell(Piece(by + _step(run), "muted"))
    if run.result is RunResult.LOST:
        return cell(Piece(f"lost: {_why(run)}", "warn"))
    if run.result is RunResult.NOT_STARTED:
        return cell(Piece(f"not started: {_why(run)}", "error"))
    return cell(Piece(_why(run), "error"))


def _why(run: Run) -> str:
    """Why it ended so, in few words."""
    if run.diagnosis is not None:
        rank = "" if run.diagnosis.rank is None else f", rank {run.diagnosis.rank}"
        return re.sub(r"\.$", "", run.diagnosis.summary) + rank
    if run.cause is not None and run.cause in _CAUSES:
        return _CAUSES[run.cause]
    if run.signal is not None:
        return f"ended by {run.signal}"
    return "failed" if run.exit_code is None else f"exit code {run.exit_code}"


def took(run: Run, board: Board) -> str:
    """How long it ran, or has been running."""
    if run.started is None:
        return ""
    end = board.now if run.ended is None else time_seconds(run.ended)
    return duration(end - time_seconds(run.started))


def _time(run: Run, board: Board) -> str:
    left = run.progress.eta_seconds
    if run.state is RunState.RUNNING and left is not None:
        return f"{duration(left)} left"
    return took(run, board)


def _started(run: Run, board: Board, look: Look) -> str:
    text = moment(time_seconds(run.started or run.created), board.now, look.zone)
    return f"today {text[:5]}" if re.fullmatch(r"\d\d:\d\d:\d\d", text) else text


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Running ones, then the queue, then what has ended; the newest first, the queue as it will be taken."""
    runs = list(runs)
    queued = [run for run in runs if run.state is RunState.QUEUED]
    queued.sort(key=lambda run: (-run.priority, run.created, run.id))
    ended = [run for run in runs if run.state is RunState.FINISHED]
    going = [run for run in runs if run.state not in (RunState.QUEUED, RunState.FINISHED)]
    return [*going, *queued, *ended]


def matches(run: Run, words: str, known: Mapping[str, Device]) -> bool:
    """Whether every word of the filter stands in what is shown of the run."""
    state = run.state.value if run.result is None else run.result.value
    text = f"{run.name} {run.id} {run.kind} {state} {names_of(run.devices, known)}".lower()
    return all(word in text for word in words.lower().split())
