"""The Start pane: nothing has run here yet, and four ways to begin."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.widgets import Static

from accel_tui.client.connection import Client
from accel_tui.model.plans import Check
from accel_tui.model.runs import Run, RunResult, RunState
from accel_tui.tui.background import in_thread
from accel_tui.tui.board import Board, Level
from accel_tui.tui.naming import is_card
from accel_tui.tui.panes import Pane
from accel_tui.tui.services import Services
from accel_tui.tui.sessions import session_files
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Cell, Piece, wrapped

DEMO = "server8"
_MAKERS = {"cpu": "CPU", "gaudi": "Gaudi", "xpu": "Intel GPU"}
_POLL_SECONDS = 4.0


class Focus(Static, can_focus=True):
    """Takes the focus for a pane that has nothing to move in."""


class StartPane(Pane):
    """Shown until the first run is queued or the first job is opened."""

    number = 0
    label = "Start"
    KEYS = ("start.try", "start.demo")
    FOOT = ("start.try", "session.open", "job.edit", "start.demo")
    WORDS: ClassVar[dict[str, str]] = {"job.edit": "new job"}

    DEFAULT_CSS = """
    StartPane { padding: 1 3; }
    StartPane Focus { height: 0; width: 0; }
    """

    def compose(self) -> ComposeResult:
        yield Focus()
        yield Lines(id="ways")

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._examples = ""

    def on_mount(self) -> None:
        self.run_worker(self._look_for_examples(), group="examples")

    async def _look_for_examples(self) -> None:
        files = await in_thread("accel-tui looks for sessions", lambda: session_files(self.services))
        counted = Counter(path.stem.partition("-")[0] for path in files)
        told = [f"{counted[name]} for {words}" for name, words in _MAKERS.items() if counted[name]]
        self._examples = ", ".join(told)
        self.show(self.board)

    def show(self, board: Board) -> None:
        width = max(20, self.content_size.width)
        lines: list[Cell] = [(Piece("Nothing has run here yet. Four ways to begin:", "strong", bold=True),), ()]
        ways = (
            ("start.try", "Try it on this machine", "a tiny model is made, used and trained on the CPU"),
            ("session.open", "Start from an example session", self._examples),
            ("job.edit", "Fill in a job", "train, generate or any command"),
            ("start.demo", "Look around with invented cards", "8 simulated Gaudi cards, marked as such"),
        )
        for verb, what, about in ways:
            key = Piece(f"{self.services.key(verb):<3}", "accent", bold=True)
            told = Piece(about, "muted") if width > 88 else Piece("")
            lines.append((key, Piece(f"{what:<34}"), told))
        lines += [(), *(line for told in self._last_words(board) for line in wrapped(told, width))]
        self.query_one(Lines).show(lines)

    def _last_words(self, board: Board) -> list[Cell]:
        """What is seen here, and why there is no more."""
        told: list[Cell] = []
        if not any(is_card(view.device) for view in board.devices):
            seen = "No Gaudi or Intel GPU card is seen on this host: jobs run on the CPU. "
            told.append((Piece(seen, "muted"), Piece("accel-tui doctor"), Piece(" says why.", "muted")))
        told.append((Piece("Runs go on when this screen is closed.", "muted"),))
        return told

    def on_resize(self) -> None:
        self.show(self.board)

    def do_start_demo(self) -> None:
        self.app.exit(DEMO)

    def do_start_try(self) -> None:
        # The worker belongs to the application: this pane goes away as soon as the first run is queued.
        self.app.run_worker(self._try(), group="quickstart", exclusive=True)

    async def _try(self) -> None:
        """Queue the three runs one after the other; each needs what the one before made."""
        from accel_tui.client import quickstart  # late: the first paint must not wait for it

        environment, settings, cwd = self.services.environment, self.services.settings, self.services.cwd
        desk = self.services.desk

        def refused(client: Client) -> list[Check]:
            job = quickstart.shipped_jobs(Path(client.base_dir))[0]
            return quickstart.refusals(client.check(quickstart.submission(job, environment, cwd)))

        checks = await self.asked(refused, about="launch", word="looking whether it can run here")
        if checks is None:
            return
        if checks:
            desk.say(f"it cannot run here: {checks[0].message}", Level.ERROR, checks[0].remedy)
            return
        for step in range(3):

            def submit(client: Client, step: int = step) -> str:
                base = Path(client.base_dir)
                jobs = [quickstart.model_job(base, environment, settings), *quickstart.shipped_jobs(base)]
                return str(client.submit(quickstart.submission(jobs[step], environment, cwd))["id"])

            identifier = await self.asked(submit, about="launch", word="queueing")
            if identifier is None:
                return
            desk.select(identifier)
            run = await self._finished(identifier)
            if run is None or run.result is not RunResult.SUCCEEDED:
                return
        place = await self.asked(lambda client: quickstart.session_file(Path(client.base_dir)))
        if place is not None:
            key = self.services.key("session.open")
            desk.say(f"tried: {key} opens the same jobs to change", remedy=str(place))

    async def _finished(self, identifier: str) -> Run | None:
        while True:
            run: Run | None = await self.asked(lambda client: client.run(identifier, wait=_POLL_SECONDS))
            if run is None or run.state is RunState.FINISHED:
                return run
