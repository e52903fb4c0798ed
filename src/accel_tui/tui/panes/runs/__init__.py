"""The Runs pane: what is going on, what went on before, and the verbs that change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult

from accel_tui.client.connection import Client
from accel_tui.model.devices import Device
from accel_tui.model.runs import Run, RunState
from accel_tui.tui.board import Board, Draft
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.messages import GoTo
from accel_tui.tui.panes import Pane
from accel_tui.tui.panes.runs import rows
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.columns import Column
from accel_tui.tui.widgets.field import Field
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Piece

JOB, LOG = 2, 5


class RunsPane(Pane):
    """The table of runs. Its cursor is the selected run, which Log and Metrics follow."""

    number = 3
    label = "Runs"
    KEYS = ("item.explain", "job.edit", "run.remove", "run.all", "find.open", "item.copy", "item.export")
    FOOT = ("item.open", "run.stop", "run.rerun", "job.edit", "item.explain", "find.open", "run.remove", "item.copy")
    WORDS: ClassVar[dict[str, str]] = {
        "item.open": "log", "job.edit": "edit and rerun", "item.explain": "details",
        "find.open": "filter", "item.copy": "copy id", "item.export": "copy folder",
    }  # fmt: skip

    DEFAULT_CSS = """
    RunsPane Grid { height: 1fr; }
    RunsPane Field { display: none; }
    RunsPane.-filtering Field { display: block; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._filter = ""
        self._followed: str | None = None
        self._everything = False

    def compose(self) -> ComposeResult:
        yield Grid(rows.columns(70), marks=False, id="runs")
        yield Field(placeholder="words of name, state, kind, device or id", id="filter")

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    def wanted_rows(self, board: Board) -> int:
        return 3 + max(3, min(len(board.runs), 8))

    # Showing

    def show(self, board: Board) -> None:
        width = self.grid.size.width
        self.grid.head_rows = 0 if self.strip or not board.runs else 1
        known = self._known(board)
        shown = rows.in_order(board.runs.values())
        if self._filter:
            shown = [run for run in shown if rows.matches(run, self._filter, known)]
        if self.strip:
            shown = shown[: self.grid.size.height]
        look = self._look(width, known)
        kept: tuple[Column, ...] = rows.columns(width, max([0, *(len(run.name) for run in shown[:50])]))
        table = [rows.row(run, board, kept, look) for run in shown]
        self.grid.show(table, columns=None if kept == self.grid.columns else kept, empty=self._nothing(board))
        self._follow_selection()
        self._show_border(board, len(shown))

    def on_resize(self) -> None:
        self.show(self.board)

    def _look(self, width: int, known: Mapping[str, Device]) -> rows.Look:
        return rows.Look(Glyphs(self.app.has_class(ASCII_CLASS)), self.services.zone, width, known)

    def _known(self, board: Board) -> Mapping[str, Device]:
        return {view.device.key: view.device for view in board.devices}

    def _nothing(self, board: Board) -> tuple[Cell, ...]:
        if board.runs and self._filter:
            return self.empty(f"No run matches '{self._filter}'.", "esc clears the filter.")
        if board.inventory is None:
            return self.empty("Asking the supervisor for the runs.")
        return self.empty("No runs yet.", "They appear here as soon as one is queued.")

    def _show_border(self, board: Board, shown: int) -> None:
        live = board.live
        queued = sum(run.state is RunState.QUEUED for run in live)
        if self._filter:
            about: Cell = (Piece(f"{shown} of {len(board.runs)}"), Piece(f"   filter: {self._filter}", "muted"))
        elif live:
            words = [f"{len(live) - queued} running"] if len(live) > queued else []
            about = (Piece(", ".join([*words, *([f"{queued} queued"] if queued else [])])),)
        else:
            about = (Piece(f"{len(board.runs)}" if board.runs else "", "text"),)
        keys = (("item.open", "log"), ("find.open", "filter"))
        first, second = (self._key(verb, word) for verb, word in keys)
        self.tell(about, (*first, Piece("   "), *second))

    def _key(self, verb: str, word: str) -> Cell:
        return (Piece(f"{self.services.key(verb)} ", "accent"), Piece(word, "muted"))

    # The selected run

    def _follow_selection(self) -> None:
        """The cursor goes where somebody else selected a run; at first the newest one is selected."""
        desk = self.services.desk
        if desk.board.selected is None and self.grid.cursor_key is not None:
            self._followed = self.grid.cursor_key
            desk.select(self._followed)
        elif desk.board.selected != self._followed:
            self._followed = desk.board.selected
            self.grid.move_to(self._followed or "")

    def on_grid_moved(self) -> None:
        # The newest place of the cursor counts: older messages may still be on their way.
        self._followed = self.grid.cursor_key
        self.services.desk.select(self._followed)

    def on_grid_opened(self) -> None:
        self.post_message(GoTo(LOG))

    @property
    def run_here(self) -> Run | None:
        return self.board.run

    def why_not(self, key: str) -> str | None:
        run = self.run_here
        if key in _ON_A_RUN and run is None:
            return "no run is selected"
        if run is not None:
            live = run.state is not RunState.FINISHED
            if key == "run.stop" and not live:
                return f"{run.name} has ended"
            if key == "run.remove" and live:
                return f"{run.name} has not ended: stop it first"
        return super().why_not(key)

    # Verbs

    def do_run_stop(self) -> None:
        from accel_tui.tui.screens.stop import StopDialog  # late: the first paint must not wait for it

        if self.run_here is not None:
            self.app.push_screen(StopDialog(self.services, self.run_here.id))

    def do_run_rerun(self) -> None:
        if self.run_here is not None:
            self.run_worker(self._rerun(self.run_here), group="rerun")

    async def _rerun(self, run: Run) -> None:
        environment = self.services.environment

        def again(client: Client) -> dict[str, Any]:
            from accel_tui.client.rerun import resubmission

            return client.submit(resubmission(run, environment))

        answer = await self.asked(again, about=run.id, word="queueing again")
        if answer is not None:
            self.services.desk.say(f"queued {run.name} again as {answer['id']}")
            self.services.desk.select(answer["id"])

    def do_job_edit(self) -> None:
        """Hand the run's job to the Job pane."""
        if self.run_here is not None:
            self.run_worker(self._edit(self.run_here), group="edit", exclusive=True)

    async def _edit(self, run: Run) -> None:
        def read(_: Client) -> dict[str, Any]:
            from accel_tui.client.records import specification

            return specification(run)

        spec = await self.asked(read, about=run.id, word="reading its job")
        if spec is not None:
            draft = Draft(
                spec["job"], str(spec["select"]), f"run {run.id}", spec.get("submitted_by", {}).get("cwd"),
                saved=spec["job"], retry_of=run.id,
            )  # fmt: skip
            self.services.desk.draft(draft)
            self.post_message(GoTo(JOB))

    async def do_run_remove(self) -> None:
        from accel_tui.tui.screens.confirm import Confirm  # late, like the stop

        run = self.run_here
        if run is not None:
            lines: list[Cell] = [
                (Piece("The record of "), Piece(run.name, "strong", bold=True), Piece(f" ({run.id}) is removed:")),
                (Piece(run.folder, "muted"),),
                (Piece("log, results and checkpoints in it are gone for good.", "warn"),),
            ]
            question = Confirm("Remove a run", lines, yes="Remove it", key="r")
            self.app.push_screen(question, lambda sure: self._remove(run, sure=bool(sure)))

    def _remove(self, run: Run, *, sure: bool) -> None:
        if sure:
            remove = self.asked(lambda client: client.remove(run.id), about=run.id, word="removing")
            self.run_worker(remove, group="remove")

    def do_item_explain(self) -> None:
        """Everything about the run: why it ended so, when, where its files lie."""
        from accel_tui.tui.panes.runs.details import LABEL_WIDTH, sheet  # late, like the stop
        from accel_tui.tui.screens.sheet import Sheet

        run = self.run_here
        if run is not None:
            lines = sheet(run, self.board, self._look(rows.FULL_COLUMNS, self._known(self.board)))
            self.app.push_screen(Sheet(f"Run {run.name}", lines, indent=LABEL_WIDTH))

    def do_item_copy(self) -> None:
        if self.run_here is not None:
            self.app.copy_to_clipboard(self.run_here.id)
            self.services.desk.say(f"copied {self.run_here.id}")

    def do_item_export(self) -> None:
        """The folder: a path is what other programs want."""
        if self.run_here is not None:
            self.app.copy_to_clipboard(self.run_here.folder)
            self.services.desk.say(f"copied {self.run_here.folder}")

    def do_run_all(self) -> None:
        self.run_worker(self._load_all(), group="all", exclusive=True)

    async def _load_all(self) -> None:
        found = await self.asked(lambda client: client.runs(everything=True), about="runs", word="reading older runs")
        if found is not None:
            self.services.desk.add_runs(found)
            self.services.desk.say(f"{len(found)} runs, all that there are")

    # The filter

    def do_find_open(self) -> None:
        self.add_class("-filtering")
        self.focus_on(self.query_one(Field))

    def on_input_changed(self, event: Field.Changed) -> None:
        event.stop()
        self._filter = event.value.strip()
        self.show(self.board)

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        self.focus_on(self.grid)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.query_one(Field).has_focus:
            event.stop()
            self.back()

    def back(self) -> bool:
        if not self.has_class("-filtering"):
            return False
        self.query_one(Field).value = ""
        self.remove_class("-filtering")
        self.focus_on(self.grid)
        return True


_ON_A_RUN = frozenset(
    {"run.stop", "run.rerun", "run.remove", "job.edit", "item.copy", "item.export", "item.explain", "item.open"}
)
