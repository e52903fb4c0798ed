"""What a pane is, and which panes there are. Panes know the board and the desk, never each other."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events, on
from textual.widget import Widget

from accel_tui.tui.bindings import bind_all
from accel_tui.tui.board import Board
from accel_tui.tui.doing import Doer
from accel_tui.tui.messages import Told
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.pieces import Cell, Piece


@dataclass(frozen=True)
class Entry:
    """A pane by its place, without importing it."""

    number: int
    """The key that goes there; also the order of `tab`. 0 has none: it is shown when the layout wants it."""
    name: str
    """Its title, and in lower case its name in layouts."""
    place: str
    """`module:class`."""
    reach: tuple[str, ...] = ()
    """Verbs that this pane does from wherever the focus is, unless the focused pane has that verb itself."""

    @property
    def key(self) -> str:
        return self.name.lower()

    def load(self) -> type[Pane]:
        module, _, name = self.place.partition(":")
        found: type[Pane] = getattr(importlib.import_module(module), name)
        return found


_RUNS = ("run.stop", "run.rerun")
_JOB = ("job.launch", "job.queue", "job.edit", "session.open", "session.save")

PANES: tuple[Entry, ...] = (
    Entry(1, "Devices", "accel_tui.tui.panes.devices:DevicesPane", ("device.group",)),
    Entry(2, "Job", "accel_tui.tui.panes.job:JobPane", _JOB),
    Entry(3, "Runs", "accel_tui.tui.panes.runs:RunsPane", _RUNS),
    Entry(4, "Utilization", "accel_tui.tui.panes.utilization:UtilizationPane"),
    Entry(5, "Log", "accel_tui.tui.panes.log:LogPane"),
    Entry(6, "Metrics", "accel_tui.tui.panes.metrics:MetricsPane"),
    Entry(0, "Start", "accel_tui.tui.panes.start:StartPane"),
)
"""Every pane, one line each."""


class Pane(Frame, Doer):
    """A part of the main screen that shows one subject.

    A pane declares `number`, `label` and its verbs, composes its widgets, and implements `show`. For a verb `run.stop`
    in `KEYS`, or in the `reach` of its entry, it has a method `do_run_stop` (plain or async), and it may say in
    `why_not` why that cannot be done now.
    What takes time goes into a worker: `self.run_worker(self._stop(run), group="stop", exclusive=True)`, and inside
    `await self.asked(lambda client: client.stop(run.id), about=run.id, word="stopping")`.
    """

    number: ClassVar[int]
    label: ClassVar[str]
    KEYS: ClassVar[tuple[str, ...]] = ()
    """Verbs that it does while the focus is inside."""
    FOOT: ClassVar[tuple[str, ...]] = ()
    """Verbs for the foot line while the focus is inside, most useful first; the general ones follow."""
    WORDS: ClassVar[dict[str, str]] = {}
    """Words for the foot line that differ from those of the table, by verb."""

    DEFAULT_CSS = """
    Pane.-strip, Pane.-tab, Pane.-strip:focus-within, Pane.-tab:focus-within { border: none; padding: 0; }
    Pane.-strip, Pane.-strip:focus-within { border-top: solid $line; }
    Pane.-strip.-ascii, Pane.-strip.-ascii:focus-within { border-top: ascii $line; }
    Pane.-tab.-ascii, Pane.-tab.-ascii:focus-within { border: none; }
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        cls.BINDINGS = [*cls.__dict__.get("BINDINGS", ()), *bind_all(*cls.KEYS)]
        super().__init_subclass__(**keywords)

    def __init__(self, services: Services) -> None:
        super().__init__(self.label, self.number or None, id=f"pane-{self.label.lower()}")
        self.services = services
        self._shown: Board | None = None
        self._last_focus: Widget | None = None

    # What a pane implements

    def show(self, board: Board) -> None:
        """Show the board. Called with every new one while the pane is visible, and when it becomes visible."""
        raise NotImplementedError

    def wanted_rows(self, board: Board) -> int:
        """How many rows it needs to show everything, border included; layouts give more or less."""
        return 12

    # What a pane is given

    @property
    def foot(self) -> tuple[str, ...]:
        """The verbs for the foot line now."""
        return self.FOOT

    @property
    def strip(self) -> bool:
        """It stands without border in few rows below another pane: only the newest of what it has."""
        return self.has_class("-strip")

    def tell(self, about: Cell = (), facts: Cell = ()) -> None:
        """Say in the border: the subject in `text`, its mode in `muted`; at the lower right a fact and two keys."""
        before = self.about
        super().tell(about, facts)
        if before != about:
            self.post_message(Told())

    def empty(self, fact: str, change: str = "", role: str = "muted") -> tuple[Cell, ...]:
        """The lines of an empty pane: the fact, and what changes it."""
        return ((Piece(fact, role),), (Piece(change, "faint"),)) if change else ((Piece(fact, role),),)

    def back(self) -> bool:
        """`esc` was pressed: undo what narrows the view, such as a filter; False when there is nothing."""
        return False

    def reveal(self, key: str) -> None:
        """Put the cursor on what has this key: a device, a run."""

    def typed(self, words: str) -> tuple[str, Callable[[], object]] | None:
        """What words typed into the palette mean to this pane, and what does it; None when nothing."""
        return None

    def take_focus(self) -> None:
        """Put the focus where it was in this pane, or into its first part that takes it."""
        if self._last_focus is not None and self._last_focus.is_attached and self._last_focus.focusable:
            self.focus_on(self._last_focus)
            return
        for widget in self.query("*"):
            if widget.focusable:
                self.focus_on(widget)
                return

    def focus_on(self, widget: Widget) -> None:
        """Put the focus there at once: `Widget.focus` does it later, and keys typed before that go to where it was."""
        self.screen.set_focus(widget)

    def on_mount(self) -> None:
        self.services.desk.watch(self, self._receive)
        self._receive(self.board)

    def on_show(self) -> None:
        self._receive(self.board)

    @on(events.DescendantFocus)
    def _remember_focus(self, event: events.DescendantFocus) -> None:
        self._last_focus = event.widget

    @property
    def name_in_layouts(self) -> str:
        return self.label.lower()

    def _receive(self, board: Board) -> None:
        """Hidden panes do not draw: they are shown the newest board when they become visible."""
        if self.display and board is not self._shown:
            self._shown = board
            self.show(board)
