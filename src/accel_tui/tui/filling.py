"""A disk that fills under a run: said when it begins, and from 95 % on the question whether to stop that run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.widgets import Input

from accel_tui.logs.upkeep import DISK_NOTE, DISK_QUESTION
from accel_tui.model.errors import AccelError
from accel_tui.model.runs import Run, RunState
from accel_tui.tui.board import Board, Level
from accel_tui.tui.screens.confirm import Confirm
from accel_tui.tui.widgets.pieces import Cell, Piece

if TYPE_CHECKING:
    from textual.app import App

    from accel_tui.tui.services import Services


class FullDisk:
    """Watches the notes of live runs. A question waits until no dialog is open and nobody is typing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._said: set[str] = set()
        self._asked: set[str] = set()
        """Runs that were asked about; again once the disk had room in between."""

    def begin(self, app: App[Any]) -> None:
        """Look at each board of `app`."""
        self._services.desk.watch(app, lambda board: self.look(app, board))

    def look(self, app: App[Any], board: Board) -> None:
        """Say what is new; ask at most one question."""
        notes = {run.id: note for run in board.live for note in run.notes if note.startswith(DISK_NOTE)}
        for known in (self._said, self._asked):
            known.intersection_update(notes)
        for run in board.live:
            note = notes.get(run.id)
            if note is None:
                continue
            asks = DISK_QUESTION in note and run.state is RunState.RUNNING
            if run.id not in self._said:
                self._said.add(run.id)
                self._services.desk.say(f"{run.name}: {note}", Level.WARNING)
            if asks and run.id not in self._asked and board.verbs_off() is None and _is_free(app):
                self._asked.add(run.id)
                self._ask(app, run, note)

    def _ask(self, app: App[Any], run: Run, note: str) -> None:
        lines: list[Cell] = [
            (Piece(run.name, "strong", bold=True), Piece(f": {note.partition(DISK_QUESTION)[0]}", "warn")),
            (Piece("Its log grows fastest. A full disk would cost checkpoints and records of all runs.", "muted"),),
            (Piece("Room can be made meanwhile; a stop lets it save first.", "muted"),),
        ]

        def answered(stop: bool | None) -> None:
            if stop:
                app.run_worker(self._stop(run), group="stop")

        question = Confirm("The disk is nearly full: stop this run?", lines, yes="Stop it", key="S")
        app.push_screen(question, answered)

    async def _stop(self, run: Run) -> None:
        desk = self._services.desk
        desk.busy(run.id, "stopping")
        try:
            await self._services.asking.ask(lambda client: client.stop(run.id))
        except AccelError as error:
            desk.say(error)
        finally:
            desk.busy(run.id, None)


def _is_free(app: App[Any]) -> bool:
    """No dialog is open, and keys go into no line that is being written."""
    return len(app.screen_stack) == 1 and not isinstance(app.focused, Input)
