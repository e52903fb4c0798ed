"""Stopping a run: asked first, then the escalation with its clock times. Closing the dialog cancels nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.client.records import Rank, ranks, stop_requested
from accel_tui.model.runs import Run, RunState
from accel_tui.tui.board import Board
from accel_tui.tui.doing import Doer
from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.glyphs import Glyphs, clock, duration
from accel_tui.tui.naming import names_of
from accel_tui.tui.screens.buttons import buttons
from accel_tui.tui.services import Services
from accel_tui.tui.stopping import WORKER_KINDS, Step, Stopping, marks, steps
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.parts import PartLine
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, cell_width

LOOK_SECONDS = 0.9
"""The ranks are looked at once a second, as the board comes, also between two bursts of it."""
MARKS_WIDTH = 68


class StopDialog(ExactModalScreen, Doer):
    """Asks, then shows what the keeper does when."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, services: Services, run: str) -> None:
        super().__init__()
        self.services = services
        self._run = run
        self._asked: float | None = None
        self._forced: float | None = None
        self._ranks: tuple[Rank, ...] = ()
        self._looked = -LOOK_SECONDS

    def compose(self) -> ComposeResult:
        with Frame("Stop", chip=False, classes="-dialog"):
            lines = Lines([])
            lines.surface = "raised"
            yield lines
            line = PartLine(gap=2)
            line.surface = "raised"
            yield line

    def on_mount(self) -> None:
        run = self.board.runs.get(self._run)
        if run is not None and run.state is RunState.STOPPING:
            self._asked = self.board.now
            self.run_worker(self._look_up(run), group="asked")
        self.services.desk.watch(self, self._receive)
        self._receive(self.board)

    def _receive(self, board: Board) -> None:
        run = board.runs.get(self._run)
        if run is not None and run.kind in WORKER_KINDS and board.now - self._looked >= LOOK_SECONDS:
            self._looked = board.now
            self.run_worker(self._look_at_ranks(run), group="ranks", exclusive=True)
        self.show(board)

    async def _look_at_ranks(self, run: Run) -> None:
        """What each rank says of itself."""
        told = await self.asked(lambda _: ranks(run))
        if told is not None and told != self._ranks and self.is_attached:
            self._ranks = told
            self.show(self.board)

    async def _look_up(self, run: Run) -> None:
        """Somebody asked before: when, and whether by force."""
        request = await self.asked(lambda _: stop_requested(run))
        if request is not None:
            self._asked, forced = request
            self._forced = self._asked if forced else None
            self.show(self.board)

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    def show(self, board: Board) -> None:
        run = board.runs.get(self._run)
        if run is None:
            self.dismiss(None)
            return
        frame = self.query_one(Frame)
        lines = self._question(run, board) if self._asked is None else self._escalation(run, board)
        frame.rename("Stop a run" if self._asked is None else f"Stopping {run.name}")
        self.query_one(Lines).show([*self._about(run, board), (), *lines, *self._marks(), ()])
        self._show_buttons(run)

    def _about(self, run: Run, board: Board) -> list[Cell]:
        known = {view.device.key: view.device for view in board.devices}
        pieces = [Piece(run.name, "strong", bold=True)]
        where = names_of(run.devices, known)
        if len(self._ranks) > 1:
            pieces += [Piece(", ", "muted"), Piece(str(len(self._ranks))), Piece(" ranks", "muted")]
        if where:
            pieces += [Piece(" on ", "muted"), Piece(where)]
        if run.progress.step is not None:
            total = "" if run.progress.total is None else f"/{run.progress.total}"
            pieces += [Piece(", step ", "muted"), Piece(f"{run.progress.step}{total}")]
        saved = max((rank.checkpoint for rank in self._ranks if rank.checkpoint is not None), default=None)
        if saved is not None:
            return [tuple(pieces), (Piece("last checkpoint ", "muted"), Piece(f"step {saved}"))]
        return [tuple(pieces)]

    def _marks(self) -> list[Cell]:
        """How each rank stands, as many to a line as fit."""
        lines: list[Cell] = []
        for mark in marks(self._ranks):
            sign = self.glyphs.text(mark.sign)
            told = (Piece(f"{mark.ranks} "), Piece(f"{sign} ", mark.role), Piece(f"{mark.word}   ", "muted"))
            if not lines or cell_width((*lines[-1], *told)) > MARKS_WIDTH:
                lines.append((Piece("rank " if not lines else "     ", "muted"),))
            lines[-1] = (*lines[-1], *told)
        return [(), *lines] if lines else []

    def _question(self, run: Run, board: Board) -> list[Cell | Ends]:
        if run.state is RunState.QUEUED:
            return [(Piece("It waits in the queue and is taken out of it."),)]
        found: list[Cell | Ends] = [(Piece("What happens:", "muted"),)]
        return [*found, *(self._step_line(step, None) for step in steps(run, self._stopping(board, None), board.now))]

    def _escalation(self, run: Run, board: Board) -> list[Cell | Ends]:
        stopping = self._stopping(board, self._asked)
        lines: list[Cell | Ends] = []
        for step in steps(run, stopping, board.now):
            lines.append(self._step_line(step, board.now))
            if step.state == "now" and (step.ends or 0) > (step.begins or 0):
                lines.append(self._countdown(step, board.now))
        return lines

    def _stopping(self, board: Board, asked: float | None) -> Stopping:
        settings: dict[str, Any] = dict(board.link.greeting.get("settings") or {})
        return Stopping(
            asked, self._forced, float(settings.get("save_seconds", 120)), float(settings.get("grace_seconds", 10))
        )

    def _step_line(self, step: Step, now: float | None) -> Cell:
        sign = {"done": "passed", "now": "running", "later": "option-off", "skipped": "absent"}[step.state]
        role = {"done": "ok", "now": "accent", "later": "muted", "skipped": "faint"}[step.state]
        at = ""
        if step.state == "skipped":
            at = "not needed"
        elif step.state == "done" and step.begins is not None:
            at = clock(step.begins, self.services.zone)
        elif step.state == "now" and step.begins is not None and now is not None:
            at = duration(now - step.begins)
        elif step.begins is not None:
            at = f"at {clock(step.begins, self.services.zone)}"
        elif step.after is not None:
            at = f"after {duration(step.after)}" if step.after else "at once"
        text = "text" if step.state in ("done", "now") else "muted"
        return (
            Piece(f"{self.glyphs.text(sign)} ", role),
            Piece(f"{step.word:<13}", text),
            Piece(f"{step.what:<32}", "text" if step.state == "now" else "muted"),
            Piece(at, "muted"),
        )

    def _countdown(self, step: Step, now: float) -> Cell:
        begins, ends = step.begins or now, step.ends or now
        share = 0.0 if ends <= begins else (now - begins) / (ends - begins)
        left = max(0.0, ends - now)
        return (Piece("  "), *bar(min(1.0, share), 49, "accent", self.glyphs), Piece(f"  {duration(left)} left"))

    def _show_buttons(self, run: Run) -> None:
        if self._asked is None:
            chosen = [
                ("close", "Keep it running esc", "default"),
                ("stop", "Stop it s", "plain"),
                ("force", "Force now k", "danger"),
            ]
            if run.state is RunState.QUEUED:
                chosen = [("close", "Keep it esc", "default"), ("stop", "Take it out s", "plain")]
        elif run.state is RunState.FINISHED:
            chosen = [("close", "Close esc", "default")]
        else:
            kind = "off" if self._forced is not None else "danger"
            chosen = [("close", "Close esc", "default"), ("force", "Force now k", kind)]
        told = () if self._asked is None else (Piece("stopping goes on when closed", "muted"),)
        self.query_one(PartLine).show(buttons(chosen), told)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        verb = {"escape": "close", "q": "close", "enter": "close", "s": "stop", "k": "force"}.get(event.key)
        if verb is not None:
            self._do(verb)

    def on_part_line_chosen(self, message: PartLine.Chosen) -> None:
        message.stop()
        self._do(message.key)

    def _do(self, verb: str) -> None:
        run = self.board.runs.get(self._run)
        if verb == "close" or run is None or run.state is RunState.FINISHED:
            self.dismiss(None)
        elif verb == "force" and self._forced is None:
            self._forced = self.board.now
            self._asked = self._asked or self.board.now
            self._send(run, now=True)
        elif verb == "stop" and self._asked is None:
            self._asked = self.board.now
            self._send(run, now=False)

    def _send(self, run: Run, *, now: bool) -> None:
        # The worker belongs to the application: closing the dialog must not take the request back.
        work = self.asked(lambda client: client.stop(run.id, now=now), about=run.id, word="stopping")
        self.app.run_worker(work, group="stop")
        self.show(self.board)
