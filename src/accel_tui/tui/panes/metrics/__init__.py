"""The Metrics pane: the curves of the selected run over time."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult

from accel_tui.model.runs import Run, RunState
from accel_tui.tui import curves, spans
from accel_tui.tui.board import Board
from accel_tui.tui.curves import Curves
from accel_tui.tui.glyphs import Glyphs, clock
from accel_tui.tui.panes import Pane
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.decimate import Axis, Scale
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_LEFT, _RIGHT = 8, 7


class CurveChart(Chart, can_focus=True):
    """A chart that takes the keys of its pane."""


class MetricsPane(Pane):
    """Loss, learning rate, gradient norm, speed: one at a time, the newest values of all in a row."""

    number = 6
    label = "Metrics"
    KEYS = (
        *("chart.metric", "chart.log_axis", "chart.span", "chart.zoom_in", "chart.zoom_out"),
        *("chart.cursor_left", "chart.cursor_right"),
    )
    FOOT = ("chart.metric", "chart.log_axis", "chart.span", "chart.cursor_left")
    WORDS: ClassVar[dict[str, str]] = {"chart.span": "span"}

    DEFAULT_CSS = """
    MetricsPane #figures { height: 1; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._curves = Curves()
        self._name = ""
        self._log = False
        self._whole = True

    def compose(self) -> ComposeResult:
        yield Lines([()], id="figures")
        yield CurveChart(left=_LEFT, right=_RIGHT, id="curve")

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    @property
    def chart(self) -> CurveChart:
        return self.query_one(CurveChart)

    # Showing

    def show(self, board: Board) -> None:
        run = board.run
        if self._curves.follow(run, board.now) and run is not None:
            self.run_worker(self._read(run.id), group="curves", exclusive=True)
        names = self._curves.names()
        name = self._name if self._name in names else (names[0] if names else "loss")
        self._show_figures(board, name)
        self._show_chart(board, run, name)
        self._show_border(board, run)

    def on_resize(self) -> None:
        self.show(self.board)

    def _axis(self, board: Board, run: Run | None) -> Axis:
        whole = None if run is None else spans.whole(run, board.now)
        if whole is not None and (self._whole or board.span is None):
            return whole
        return Axis(board.now, (board.span or 300.0) / max(1, self.chart.columns))

    def _show_figures(self, board: Board, name: str) -> None:
        left = list(curves.figures(self._curves, name, self.glyphs, board.moment))
        mode = Piece("log axis", "muted") if self._log else Piece("")
        self.query_one("#figures", Lines).show([Ends(tuple(left), (mode,))])

    def _show_chart(self, board: Board, run: Run | None, name: str) -> None:
        axis, points = self._axis(board, run), self._curves.points(name)
        start, _ = axis.place(self.chart.columns)
        seen = [value for time, value in points if value is not None and time >= start]
        scale = Scale.around(seen, log=self._log)
        last = self._curves.last(name)
        line = Line(points if seen else (), "series-1", "" if last is None else curves.text(name, last))
        high, middle, low = (curves.text(name, value) for value in (scale.high, scale.middle, scale.low))
        self.chart.show(
            Picture(
                (line,), axis, scale, y_labels=(high, middle, low), cursor=board.moment,
                x_labels=spans.labels(axis, self.chart.columns, board.now, self.services.zone) if seen else (),
                empty=self._nothing(board, run, known=bool(points)),
            )
        )  # fmt: skip

    def _nothing(self, board: Board, run: Run | None, *, known: bool) -> tuple[Cell, ...]:
        if run is None:
            return self.empty("No run selected.", "The curves of the selected run stand here.")
        if known:
            return self.empty("No value in this span.", f"{self.services.key('chart.span')} shows the whole run.")
        if run.kind == "command":
            return self.empty("A command tells no figures.", "Kinds with our worker do: train, generate.")
        if run.state is RunState.FINISHED:
            return self.empty("This run told no figures.")
        if run.started is None:
            return self.empty(f"{run.name} has not started.", "Its curves stand here as soon as it trains.")
        return self.empty("No figures so far.", "They come with the first logged step.")

    def _show_border(self, board: Board, run: Run | None) -> None:
        about: list[Piece] = [] if run is None else [Piece(run.name)]
        if run is not None and not self._whole:
            about.append(Piece(f"  {spans.word(board.span)}", "muted"))
        if board.moment is not None and run is not None:
            about.append(Piece(f"   {clock(board.moment, self.services.zone)}", "accent"))
        keys = (("chart.metric", "metric"), ("chart.log_axis", "log axis"))
        facts = [
            piece
            for verb, word in keys
            for piece in (Piece(f"   {self.services.key(verb)} ", "accent"), Piece(word, "muted"))
        ]
        self.tell(tuple(about), tuple(facts) if run is not None else ())

    async def _read(self, identifier: str) -> None:
        found: dict[str, Any] | None = await self.asked(
            lambda client: client.run_metrics(identifier, devices=False, points=curves.POINTS)
        )
        if found is not None:
            self._curves.load(identifier, found["series"])
            self.show(self.board)

    # Verbs

    def why_not(self, key: str) -> str | None:
        if key in self.KEYS and self.board.run is None:
            return "no run is selected"
        return super().why_not(key)

    def do_chart_metric(self) -> None:
        names = self._curves.names()
        if names:
            place = names.index(self._name) if self._name in names else 0
            self._name = names[(place + 1) % len(names)]
            self.show(self.board)

    def do_chart_log_axis(self) -> None:
        self._log = not self._log
        self.show(self.board)

    def do_chart_span(self) -> None:
        """The whole run, or the span that Utilization shows."""
        self._whole = not self._whole
        self.show(self.board)

    def do_chart_zoom_in(self) -> None:
        self._zoom(longer=False)

    def do_chart_zoom_out(self) -> None:
        self._zoom(longer=True)

    def _zoom(self, *, longer: bool) -> None:
        self._whole = False
        self.services.desk.look_at(spans.zoomed(self.board.span, longer=longer))
        self.show(self.board)

    def do_chart_cursor_left(self) -> None:
        self._move_cursor(-1)

    def do_chart_cursor_right(self) -> None:
        self._move_cursor(1)

    def _move_cursor(self, steps: int) -> None:
        axis = self.chart.picture.axis
        start, slot = axis.place(self.chart.columns)
        here = self.board.moment
        end = min(axis.last, self.board.now)
        wanted = end if here is None else here + steps * slot
        self.services.desk.point_at(max(start, min(end, wanted)))

    def on_chart_pointed(self, message: Chart.Pointed) -> None:
        self.services.desk.point_at(message.x)

    def back(self) -> bool:
        if self.board.moment is None:
            return False
        self.services.desk.point_at(None)
        return True
