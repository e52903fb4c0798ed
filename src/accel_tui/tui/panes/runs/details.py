"""A run in full: how it stands, when and where it ran, how it ended and what to do next, where its files lie. Pure."""

from __future__ import annotations

from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import duration, learning_rate, loss, moment, rate
from accel_tui.tui.naming import names_of
from accel_tui.tui.panes.runs import rows
from accel_tui.tui.widgets.pieces import Cell, Piece

LABEL_WIDTH = 14


def sheet(run: Run, board: Board, look: rows.Look) -> list[Cell]:
    """All that is known, a line each; nothing is said of what nobody knows."""
    sign, role = rows.sign_of(run)
    first = (Piece(f"{look.glyphs.text(sign)} ", role), *rows.result(run, board, look))
    blocks = (_ending(run), _progress(run), _times(run, board, look), _place(run, look))
    lines: list[Cell] = [first]
    for block in blocks:
        told = [_line(label, value) for label, value in block if value]
        lines += [(), *told] if told else []
    return lines


def _ending(run: Run) -> list[tuple[str, str]]:
    found = run.diagnosis
    line = "" if found is None or found.line is None else f"log line {found.line}"
    rank = "" if found is None or found.rank is None else f"rank {found.rank}"
    return [
        ("why", "" if found is None else found.summary),
        ("where", ", ".join(filter(None, [rank, line]))),
        ("try", "" if found is None else found.next_step or ""),
        ("cause", "" if run.cause is None else run.cause.value),
        ("ended with", run.signal or ("" if run.exit_code is None else f"exit code {run.exit_code}")),
        ("held", run.held or ""),
        ("waits for", run.waiting_for or ""),
        *[("note", note) for note in run.notes],
    ]


def _progress(run: Run) -> list[tuple[str, str]]:
    told = run.progress
    total = "" if told.total is None else f" of {told.total}"
    return [
        ("phase", told.phase or "" if run.state is not RunState.FINISHED else ""),
        ("step", "" if told.step is None else f"{told.step}{total}"),
        ("loss", "" if told.loss is None else loss(told.loss)),
        ("learning rate", "" if told.learning_rate is None else learning_rate(told.learning_rate)),
        ("speed", "" if told.tokens_per_second is None else f"{rate(told.tokens_per_second)} tokens/s"),
        ("left", "" if told.eta_seconds is None else duration(told.eta_seconds)),
    ]


def _times(run: Run, board: Board, look: rows.Look) -> list[tuple[str, str]]:
    def at(text: str | None) -> str:
        return "" if text is None else moment(time_seconds(text), board.now, look.zone)

    return [("queued", at(run.created)), ("started", at(run.started)), ("ended", at(run.ended)),
            ("took", rows.took(run, board))]  # fmt: skip


def _place(run: Run, look: rows.Look) -> list[tuple[str, str]]:
    return [
        ("kind", run.kind),
        ("devices", names_of(run.devices, look.known)),
        ("simulated", "an invented device; it runs on the CPU" if run.simulated else ""),
        ("attempt", "" if run.attempt == 1 else str(run.attempt)),
        ("again of", run.retry_of or ""),
        ("after", ", ".join(run.after)),
        ("id", run.id),
        ("folder", run.folder),
    ]


def _line(label: str, value: str) -> Cell:
    return (Piece(f"{label:<{LABEL_WIDTH}}", "muted"), Piece(value))
