"""What the Log pane says around the text: empty logs, progress, how a run failed, titles. Pure."""

from __future__ import annotations

import datetime

from accel_tui.model.runs import Run, RunResult, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs, duration, learning_rate, loss, moment, rate, thousands
from accel_tui.tui.panes.log.subject import Subject
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.logline import Status
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, Rule, cell_width

_PHASES = {
    "importing": "importing torch",
    "loading": "loading the model",
    "compiling": "compiling",
    "training": "training",
    "evaluating": "evaluating",
    "generating": "generating",
    "saving": "saving a checkpoint",
}
_BAD = (RunResult.FAILED, RunResult.LOST, RunResult.NOT_STARTED)


def nothing(board: Board, subject: Subject | None) -> tuple[str, str]:
    """Why there is no line to show, and what changes that."""
    if subject is not None and subject.run is None:
        return f"{subject.name} is empty so far.", "What is written to it appears here."
    run = None if subject is None else subject.run
    if run is None:
        if board.inventory is None:
            return "Asking the supervisor for the runs.", ""
        return "No run selected.", "The log of the selected run follows here."
    if run.state is RunState.QUEUED:
        waits = f"It is held: {run.held}." if run.held else f"It waits for {run.waiting_for or 'its turn'}."
        return f"{run.name} has not started.", waits
    if run.state is RunState.FINISHED:
        if run.result is RunResult.NOT_STARTED:
            return "This run never started.", "" if run.cause is None else f"Its cause is {run.cause.value}."
        return "This run wrote nothing.", f"It {_ended(run)} after {_took(run, board)}."
    return "The log of this run is empty so far.", _beginning(board, run)


def _beginning(board: Board, run: Run) -> str:
    if run.started is None:
        return "It is being started."
    ago = duration(board.now - time_seconds(run.started))
    phase = _PHASES.get(run.progress.phase or "")
    return f"It started {ago} ago and is {phase}." if phase else f"It started {ago} ago."


def _ended(run: Run) -> str:
    words = {RunResult.SUCCEEDED: "succeeded", RunResult.STOPPED: "was stopped", RunResult.LOST: "was lost"}
    return words.get(run.result or RunResult.FAILED, "failed")


def _took(run: Run, board: Board) -> str:
    if run.started is None:
        return "0 s"
    end = board.now if run.ended is None else time_seconds(run.ended)
    return duration(end - time_seconds(run.started))


def card(run: Run, board: Board, width: int, keys: tuple[str, str], glyphs: Glyphs) -> list[Cell | Ends | Rule]:
    """How a run failed and what helps; nothing for one that did not. `keys` show its line, and hide it."""
    if run.state is not RunState.FINISHED or run.result not in _BAD:
        return []
    role = "warn" if run.result is RunResult.LOST else "error"
    sign = Piece(f"{glyphs.text('lost' if run.result is RunResult.LOST else 'failed')} ", role)
    summary = _summary(run)
    facts = Piece(", ".join(filter(None, _facts(run, board))), "muted")
    first: Cell = (sign, Piece(summary, "strong", bold=True))
    show, hide = keys
    away: Cell = (
        Piece(f"{show} ", "accent"),
        Piece("its line", "muted"),
        Piece(f"   {hide} ", "accent"),
        Piece("hide", "muted"),
    )
    one_line = cell_width((*first, facts, *away)) + 4 <= width
    lines: list[Cell | Ends | Rule] = [Ends((*first, Piece("   "), facts) if one_line else first, away)]
    if not one_line:
        lines.append((Piece("  "), facts))
    if run.diagnosis is not None and run.diagnosis.next_step:
        lines.append((Piece("  try  ", "muted"), Piece(run.diagnosis.next_step)))
    return [*lines, Rule()]


def _summary(run: Run) -> str:
    if run.diagnosis is not None:
        return run.diagnosis.summary
    if run.signal is not None:
        return f"ended by {run.signal}"
    if run.exit_code is not None:
        return f"exit code {run.exit_code}"
    return _ended(run) if run.cause is None else run.cause.value.replace("-", " ")


def _facts(run: Run, board: Board) -> list[str]:
    found = run.diagnosis
    return [
        "" if found is None or found.rank is None else f"rank {found.rank}",
        "" if found is None or run.exit_code is None else f"exit code {run.exit_code}",
        f"{_ended(run)} after {_took(run, board)}" if run.started else "",
        "" if found is None or found.line is None else f"line {thousands(found.line)}",
    ]


def progress(run: Run | None, width: int, glyphs: Glyphs) -> Ends | None:
    """How far the run is, in one line; None where nothing is known of that."""
    if run is None or run.state in (RunState.QUEUED, RunState.PREPARING, RunState.STARTING):
        return None
    seen = run.progress
    live = run.state is not RunState.FINISHED
    left: list[Piece] = []
    if seen.step is not None:
        left = [Piece("step ", "muted"), Piece(str(seen.step))]
        if seen.total:
            share = seen.step / seen.total
            role = "error" if run.result is RunResult.FAILED else "ok" if live else "muted"
            left += [Piece(f"/{seen.total} ", "faint"), *bar(share, max(8, width // 4 - 4), role, glyphs)]
            left.append(Piece(f" {int(100 * min(1.0, share)):3} %"))
    elif seen.phase and live:
        left = [Piece(_PHASES.get(seen.phase, seen.phase), "text")]
    if not left and seen.loss is None and seen.tokens_per_second is None:
        return None
    return Ends(tuple(left), _figures(run, max(0, width - cell_width(tuple(left)) - 2), live=live))


def _figures(run: Run, room: int, *, live: bool) -> Cell:
    """Loss, learning rate, speed, time left: as many as there is room for; loss and time left go last."""
    seen = run.progress
    figures: list[tuple[int, Cell]] = []
    if seen.loss is not None:
        figures.append((0, (Piece("loss ", "muted"), Piece(loss(seen.loss)))))
    if seen.learning_rate is not None:
        figures.append((3, (Piece("lr ", "muted"), Piece(learning_rate(seen.learning_rate)))))
    if seen.tokens_per_second is not None:
        figures.append((2, (Piece("tok/s ", "muted"), Piece(rate(seen.tokens_per_second)))))
    if live and seen.eta_seconds is not None:
        figures.append((1, (Piece(f"{duration(seen.eta_seconds)} left"),)))
    while figures and sum(cell_width(content) + 3 for _, content in figures) - 3 > room:
        figures.remove(max(figures, key=lambda figure: figure[0]))
    return tuple(
        piece for place, (_, content) in enumerate(figures) for piece in ((Piece("   "),) if place else ()) + content
    )


def title(
    subject: Subject | None, status: Status, ranks: frozenset[int], rank: int | None, *, only_hits: bool, raw: bool
) -> Cell:
    """Subject and mode: `qwen3-lora  all ranks, following`."""
    if subject is None:
        return ()
    modes = []
    if rank is not None:
        modes.append(f"rank {rank}")
    elif ranks:
        modes.append("all ranks")
    if only_hits:
        modes.append("only hits")
    if raw:
        modes.append("raw")
    if status.total and status.following and subject.live:
        modes.append("following")
    mode = Piece("  " + ", ".join(modes) if modes else "", "muted")
    if status.following or not status.behind:
        return (Piece(subject.name), mode)
    lines = f"{thousands(status.behind)} {'line' if status.behind == 1 else 'lines'}"
    behind = f"{', ' if modes else '  '}{lines} {'behind' if subject.live else 'below'}"
    return (Piece(subject.name), mode, Piece(behind, "warn" if subject.live else "muted"))


def length(status: Status) -> str:
    """`48 211 lines`, with `about` while they are being counted."""
    number = thousands(status.total if status.exact else round(status.total, -len(str(status.total)) + 2))
    return f"{'' if status.exact else 'about '}{number} {'line' if status.total == 1 else 'lines'}"


def deleted(when: float, now: float, zone: datetime.tzinfo | None, glyphs: Glyphs) -> Cell:
    """That the file was taken away while it was shown."""
    return (
        Piece(f"{glyphs.text('warning')} ", "warn"),
        Piece(f"The file was deleted at {moment(when, now, zone)}: ", "text"),
        Piece("what it held is shown until you leave.", "muted"),
    )


def replaced(count: int, when: float, now: float, zone: datetime.tzinfo | None, glyphs: Glyphs) -> Cell:
    """That the file was cut or replaced while it was shown."""
    times = "" if count == 1 else f", {count} times by now"
    return (
        Piece(f"{glyphs.text('warning')} ", "warn"),
        Piece(f"The file was cut or replaced at {moment(when, now, zone)}{times}: ", "text"),
        Piece("what it held before is gone.", "muted"),
    )
