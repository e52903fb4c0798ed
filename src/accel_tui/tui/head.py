"""The first line of the screen, and the line that stands in for everything when the screen is too small. Pure."""

from __future__ import annotations

import datetime

from accel_tui.model.runs import RunState
from accel_tui.tui.board import Board, Level, LinkState
from accel_tui.tui.glyphs import Glyphs, clock, duration
from accel_tui.tui.layouts import LEAST, Mode
from accel_tui.tui.naming import is_card, summary
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_GAP = Piece("   ")


def head(board: Board, mode: Mode, glyphs: Glyphs, zone: datetime.tzinfo | None) -> Ends:
    """Product, host, cards, session; right: running, queued, notices, time."""
    narrow = mode is Mode.TABS
    left: list[Piece] = [] if narrow else [Piece("accel-tui", "accent", bold=True), _GAP]
    left += [Piece(board.host or "connecting", "strong", bold=True)]
    if board.demo is not None:
        left += [Piece("  "), Piece(" simulated ", "bg", bold=True, on="muted")]
    cards = summary(board.devices)
    if glyphs.ascii:
        cards = cards.replace("×", "x")
    left += [_GAP, Piece(cards, "muted")]
    if not narrow:
        left += _driver(board) if mode is Mode.WIDE else []
        left += [_GAP, *_session(board, mode)]
    return Ends(tuple(left), (*_counts(board, narrow, glyphs), Piece(_time(board, narrow, zone), "muted")))


def _driver(board: Board) -> list[Piece]:
    versions = {view.device.driver_version for view in board.devices if is_card(view.device)} - {None, ""}
    if len(versions) != 1:
        return []
    return [_GAP, Piece(f"driver {str(versions.pop()).partition('-')[0]}", "muted")]


def _session(board: Board, mode: Mode) -> list[Piece]:
    if board.session is None:
        return [Piece("no session", "muted")]
    label = [Piece("session ", "muted")] if mode is Mode.WIDE else []
    return [*label, Piece(board.session.title)]


def _counts(board: Board, narrow: bool, glyphs: Glyphs) -> list[Piece]:
    live = board.live
    queued = sum(run.state is RunState.QUEUED for run in live)
    unseen = sum(not notice.seen and notice.level is not Level.NOTE for notice in board.notices)
    told = [("running", "ok", len(live) - queued, "running"), ("queued", "accent", queued, "queued")]
    told += [("notice", "warn", unseen, "notice" if unseen == 1 else "notices")]
    pieces: list[Piece] = []
    for sign, role, number, word in told:
        if number:
            pieces += [Piece(f"{glyphs.text(sign)} ", role), Piece(str(number) if narrow else f"{number} {word}"), _GAP]
    if not live and not narrow and board.inventory is not None:
        pieces = [Piece("no runs" if not board.runs else "nothing runs", "muted"), _GAP, *pieces]
    return pieces


def _time(board: Board, narrow: bool, zone: datetime.tzinfo | None) -> str:
    return clock(board.now, zone)[: 5 if narrow else 8]


def too_small(board: Board, width: int, height: int) -> list[Cell]:
    """What a screen below the least size says: what it needs, and the counts that still fit."""
    live = board.live
    queued = sum(run.state is RunState.QUEUED for run in live)
    return [
        (Piece(f"needs {LEAST.width}x{LEAST.height}, this is {width}x{height}.", "warn"),),
        (Piece("accel-tui devices", "strong"), Piece(" works at any size", "muted")),
        (Piece(f"{len(live) - queued} running, {queued} queued", "text"),),
        (Piece("q quits, runs go on", "muted"),),
    ]


def notice_lines(board: Board, glyphs: Glyphs, zone: datetime.tzinfo | None) -> list[Cell]:
    """All notices, newest first, with what helps."""
    lines: list[Cell] = []
    for notice in reversed(board.notices):
        sign, role = {Level.ERROR: ("failed", "error"), Level.WARNING: ("warning", "warn")}.get(
            notice.level, ("free", "muted")
        )
        when = Piece(f"{clock(notice.time, zone)}  ", "faint")
        first, *more = notice.message.split("\n")
        lines.append((when, Piece(f"{glyphs.text(sign)} ", role), Piece(first, "text" if notice.seen else "strong")))
        lines += [
            (Piece(" " * 12), Piece(line, "muted")) for line in (*more, *(notice.remedy or "").split("\n")) if line
        ]
    return lines or [(Piece("Nothing was said so far.", "muted"),)]


def trouble(board: Board, zone: datetime.tzinfo | None) -> list[Cell]:
    """The strip about our own parts: what does not answer, what is not affected, and when it is tried again."""
    link = board.link
    if link.state is LinkState.LIVE or (link.state is LinkState.CONNECTING and not link.message):
        return []
    if link.last_word is None:
        first = [Piece("The supervisor cannot be reached. ", "strong", bold=True), Piece(link.message, "text")]
    else:
        words = f"The supervisor has not answered for {duration(board.age)}. "
        first = [Piece(words, "strong", bold=True), Piece(f"What you see is from {clock(link.last_word, zone)}.")]
    second = [Piece("Runs are not affected: each has its own keeper. ", "muted")]
    if link.again is not None:
        left = max(0, round(link.again - board.now))
        second.append(Piece(f"Next try in {left} s.   " if left else "Trying now.   ", "muted"))
        second += [Piece("R", "accent", bold=True), Piece(" try now   ", "muted")]
    second += [Piece("!", "accent", bold=True), Piece(" what happened", "muted")]
    return [tuple(first), tuple(second)]
