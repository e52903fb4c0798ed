"""The Utilization pane: what devices did over time, and the loss of the run above it where no other pane shows that."""

from __future__ import annotations

import getpass
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.geometry import Size

from accel_tui.model.devices import DeviceView
from accel_tui.tui import curves, spans
from accel_tui.tui.board import Board, LinkState
from accel_tui.tui.curves import Curves
from accel_tui.tui.glyphs import Glyphs, clock, duration
from accel_tui.tui.idle import IdleWatch
from accel_tui.tui.layouts import Mode, mode_of
from accel_tui.tui.naming import number as number_of
from accel_tui.tui.panes import Pane
from accel_tui.tui.panes.utilization import pictures
from accel_tui.tui.panes.utilization.arrange import Arrangement, arrange
from accel_tui.tui.panes.utilization.backlog import POINTS, Backlog, Wish
from accel_tui.tui.panes.utilization.readings import DRAWN, Drawn, all_denied, offered
from accel_tui.tui.services import Services
from accel_tui.tui.standing import Standing, standing
from accel_tui.tui.trail import KEPT_SECONDS
from accel_tui.tui.widgets.axis import LEFT_GUTTER, RIGHT_GUTTER
from accel_tui.tui.widgets.chart import Chart, Line, Picture
from accel_tui.tui.widgets.decimate import Axis, Point, Scale
from accel_tui.tui.widgets.heat import HeatStrip, heat_legend
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.multiples import Multiples, Tile
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece

_MOST_DETAILS = 4
"""Devices of which further readings are drawn."""


class UtilizationPane(Pane):
    """History of the picked devices, or of all cards."""

    number = 4
    label = "Utilization"
    KEYS = (
        *("chart.span", "chart.zoom_in", "chart.zoom_out", "chart.metric", "chart.pause", "chart.log_axis"),
        *("chart.cursor_left", "chart.cursor_right", "part.next", "part.previous"),
    )
    FOOT = ("chart.span", "chart.metric", "chart.cursor_left", "part.next", "chart.zoom_in", "chart.pause")
    WORDS: ClassVar[dict[str, str]] = {"part.next": "card", "chart.zoom_in": "shorter span"}

    DEFAULT_CSS = """
    UtilizationPane #loss-figures { height: 1; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._user = services.environment.get("USER") or getpass.getuser()
        self._idle = IdleWatch()
        self._curves = Curves()
        self._backlog = Backlog(services.desk.trail)
        self._drawn: Drawn = DRAWN[0]
        self._alone: str | None = None
        self._paused: float | None = None
        self._log = False
        self._arrangement = Arrangement()
        self._axis = Axis(1.0)
        self._kept: dict[tuple[str, str], tuple[Point, ...]] = {}
        """Points as they were drawn last."""
        self._kept_for: object = None

    def compose(self) -> ComposeResult:
        yield Lines([()], id="loss-figures")
        yield Chart(id="loss")
        yield Chart(id="single")
        yield HeatStrip(id="strip")
        yield Multiples(id="tiles")

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    @property
    def tiles(self) -> Multiples:
        return self.query_one(Multiples)

    def take_focus(self) -> None:
        self.focus_on(self.tiles)

    # Showing

    def show(self, board: Board) -> None:
        self._idle.look(board)
        views, word = pictures.chosen(board, self._alone)
        known = offered(board.devices)
        if self._drawn not in known:
            self._drawn = known[0]
        if self._shows_loss() and self._curves.follow(board.run, board.now):
            self._ask_curves(board)
        if self._paused is None:
            self._place_axis(board)
        self._ask_backlog(views)
        self._arrange(views)
        self._draw(board, views)
        self._show_border(board, views, word)

    def on_resize(self) -> None:
        self.show(self.board)

    def _shows_loss(self) -> bool:
        """Whether no pane of their own shows the curves of the run."""
        return mode_of(self.app.size) is not Mode.WIDE or self.has_class("-maximised")

    @property
    def _span(self) -> float:
        return spans.seconds_of(self.board.span, self.board.run, self.board.now)

    @property
    def _still(self) -> Axis:
        """The axis as it stands until the newest column is over: equal pictures are not drawn again."""
        slot = self._span / self._columns
        return Axis(math.floor(self._axis.last / slot) * slot + slot / 2, slot)

    def _place_axis(self, board: Board) -> None:
        """The end of the charts: now, or the end of the run where that is shown as a whole."""
        last = board.now
        if board.link.state in (LinkState.SILENT, LinkState.LOST) and board.link.last_word is not None:
            last = board.link.last_word
        if board.span is None and board.run is not None:
            times = spans.run_times(board.run, last)
            last = last if times is None else times[1]
        self._axis = Axis(last, self._span / self._columns)

    @property
    def _room(self) -> Size:
        """The pane without its border."""
        return self.content_region.size

    @property
    def _columns(self) -> int:
        """Time slots of what spans the pane; asked of it and not of a chart, which has no size before it is shown."""
        return max(1, self._room.width - LEFT_GUTTER - RIGHT_GUTTER)

    def _arrange(self, views: Sequence[DeviceView]) -> None:
        count = 0 if all_denied(views, self._drawn.name) else len(views)
        new = arrange(self._room, count, loss=self._shows_loss() and bool(self._curves.names()))
        nothing = not (new.loss or new.single or new.strip or new.tiles)
        rows = (
            ("#loss-figures", 1 if new.loss else 0),
            ("#loss", new.loss - 1 if new.loss else 0),
            ("#single", new.single),
            ("#strip", new.strip),
        )
        if new != self._arrangement or nothing:
            self._arrangement = new
            for name, height in rows:
                widget = self.query_one(name)
                widget.display = height > 0
                widget.styles.height = max(1, height)
            # It holds the focus of the pane, so it stays, without a row where there is nothing for it to draw.
            self.tiles.styles.height = "1fr" if new.tiles or nothing else 0

    def _draw(self, board: Board, views: Sequence[DeviceView]) -> None:
        span, now = self._span, self._axis.last
        past = board.link.state in (LinkState.SILENT, LinkState.LOST)
        look = pictures.Look(self.glyphs, now, spans.max_gap(span), board.moment, past)
        stands = {view.device.key: self._stands(view, board) for view in views}
        parts, drawn = self._arrangement, self._drawn
        if parts.loss:
            self._draw_loss(board)
        if parts.single:
            self._draw_single(board, views[0], look)
        if parts.strip:
            rows = [pictures.heat_row(view, stands[view.device.key], drawn, self._read, look) for view in views]
            strip = self.query_one(HeatStrip)
            labels = spans.labels(self._still, self._columns, board.now, self.services.zone)
            strip.show(rows, self._still, max_gap=look.max_gap, labels=labels, cursor=board.moment)
        if parts.details:
            self._draw_details(views, look, span)
        elif parts.tiles:
            narrow = (self._room.width // max(1, min(4, len(views)))) < 22
            tiles = [
                pictures.tile(view, stands[view.device.key], drawn, self._read, look, narrow=narrow) for view in views
            ]
            self.tiles.show(tiles, now, span, max_gap=look.max_gap, cursor=board.moment)
        else:
            self.tiles.show([], now, span, empty=() if parts.single or parts.strip else self._nothing(board, views))

    def _stands(self, view: DeviceView, board: Board) -> Standing:
        return standing(view, board, self._user, self._idle.since(view.device.key, board.now))

    def _read(self, key: str, reading: str) -> tuple[Point, ...]:
        """The points to draw. New ones are taken four times in the time of a column: more often would show nothing."""
        columns = self.tiles.columns if self._arrangement.tiles and not self._arrangement.details else self._columns
        turn = math.floor(self._axis.last / max(1.0, self._span / columns / 4))
        wanted = (turn, self._span, self._backlog.loaded, self.services.desk.trail.filled)
        if wanted != self._kept_for:
            self._kept, self._kept_for = {}, wanted
        if (key, reading) not in self._kept:
            points = self._backlog.read(key, reading, self._axis.last - self._span * 1.1)
            self._kept[key, reading] = tuple(point for point in points if point[0] <= self._axis.last)
        return self._kept[key, reading]

    def _draw_loss(self, board: Board) -> None:
        names = self._curves.names()
        if not names:
            return
        name = names[0]
        right = (
            Piece("log axis" if self._log else "linear", "muted"),
            Piece(f"   {self._key('chart.log_axis')} ", "accent"),
        )
        left = curves.figures(self._curves, name, self.glyphs, board.moment)
        self.query_one("#loss-figures", Lines).show([Ends(left, (*right, Piece("log axis", "muted")))])
        points = self._curves.points(name)
        since = self._axis.last - self._span
        seen = [value for time, value in points if value is not None and time >= since]
        scale = Scale.around(seen, log=self._log)
        last = self._curves.last(name)
        line = Line(points if seen else (), "series-1", "" if last is None else curves.text(name, last))
        self.query_one("#loss", Chart).show(
            Picture(
                (line,), self._still, scale, y_labels=_y_labels(name, scale), cursor=board.moment,
                empty=((Piece(f"no {curves.label(name)} in this span", "muted"),),) if not seen else (),
            )
        )  # fmt: skip

    def _draw_single(self, board: Board, view: DeviceView, look: pictures.Look) -> None:
        drawn, points = self._drawn, self._read(view.device.key, self._drawn.name)
        scale = drawn.scale(view, points)
        chart = self.query_one("#single", Chart)
        middle = drawn.text(scale.middle)
        value = "".join(piece.text for piece in pictures.value(view, drawn, points, look, short=True))
        chart.show(
            Picture(
                (Line(points, pictures.role(self._stands(view, board), drawn, look), value),), self._still, scale,
                "area",
                look.max_gap, (drawn.value(scale.high), middle, "0"),
                spans.labels(self._still, self._columns, board.now, self.services.zone),
                cursor=board.moment, empty=self._nothing(board, [view]) if not points else (),
            )
        )  # fmt: skip

    def _draw_details(self, views: Sequence[DeviceView], look: pictures.Look, span: float) -> None:
        """Further readings of the picked devices, or of those of the selected run, or of the first ones."""
        board = self.board
        of_run = () if board.run is None else board.run.devices
        matter = [view for view in views if view.device.key in (board.picks or of_run)] or list(views)
        matter = matter[:_MOST_DETAILS]
        others = [drawn for drawn in offered(matter) if drawn != self._drawn]
        tiles: list[Tile] = [pictures.detail(view, drawn, self._read, look) for drawn in others for view in matter]
        self.tiles.show(tiles, self._axis.last, span, max_gap=look.max_gap, cursor=board.moment, across=len(matter))

    def _nothing(self, board: Board, views: Sequence[DeviceView]) -> tuple[Cell, ...]:
        if board.inventory is None:
            return self.empty("Asking the supervisor for the devices.")
        if all_denied(views, self._drawn.name):
            others = [drawn.word for drawn in offered(views) if not all_denied(views, drawn.name)]
            change = f"{self._key('chart.metric')} shows {_listed(others)}." if others else "i in Devices says why."
            return self.empty(f"{self._drawn.word.capitalize()} is denied on this host.", change)
        if not views:
            return self.empty("There is no device to show.", "accel-tui doctor says why.")
        return self.empty("Nothing was read in this span.", f"{self._key('chart.span')} shows another one.")

    def _key(self, verb: str) -> str:
        return self.services.key(verb)

    # Titles

    def _show_border(self, board: Board, views: Sequence[DeviceView], word: str) -> None:
        about = [Piece(", ".join(filter(None, [self._subject(word, views), spans.word(board.span)])))]
        if all_denied(views, self._drawn.name):
            about.append(Piece("   denied", "warn"))
        if board.link.state in (LinkState.SILENT, LinkState.LOST) and board.link.last_word is not None:
            about = [
                Piece(f"as of {clock(board.link.last_word, self.services.zone)}, {duration(board.age)} old", "warn")
            ]
        elif self._paused is not None:
            about.append(Piece(f"   paused at {clock(self._paused, self.services.zone)}", "warn"))
        elif board.moment is not None:
            about.append(Piece(f"   {clock(board.moment, self.services.zone)}", "accent"))
        keys = (("chart.span", "time span"), ("chart.metric", "metric"))
        facts = [
            piece for verb, name in keys for piece in (Piece(f"   {self._key(verb)} ", "accent"), Piece(name, "muted"))
        ]
        scale: Cell = (Piece(self._drawn.range(views), "muted"),)
        if self._arrangement.strip and self._room.width > 70:
            high = self._drawn.range(views).rpartition("to ")[2]
            scale = heat_legend(self.glyphs, high=high, by_glyph=self.tiles.palette.heat_glyphs)
        self.tell(tuple(about), (*scale, *facts))

    def _subject(self, word: str, views: Sequence[DeviceView]) -> str:
        metric = "" if self._drawn is DRAWN[0] else self._drawn.word
        if not word and len(views) == 1:
            name = number_of(views[0].device)
            word = name if name == "cpu" else f"card {name}"
        return ", ".join(filter(None, [metric, word]))

    # Asking

    def _ask_curves(self, board: Board) -> None:
        run = board.run
        if run is not None:
            self.run_worker(self._read_curves(run.id), group="curves", exclusive=True)

    async def _read_curves(self, identifier: str) -> None:
        found: dict[str, Any] | None = await self.asked(
            lambda client: client.run_metrics(identifier, devices=False, points=curves.POINTS)
        )
        if found is not None:
            self._curves.load(identifier, found["series"])
            self.show(self.board)

    def _ask_backlog(self, views: Sequence[DeviceView]) -> None:
        seconds = min(spans.LONGEST_SECONDS, self._span + self.board.now - self._axis.last)
        wish = (seconds, tuple(view.device.key for view in views), tuple(drawn.name for drawn in DRAWN))
        if self.board.link.trusted and self._backlog.wants(wish, self.board.now):
            self.run_worker(self._read_backlog(wish), group="backlog", exclusive=True)

    async def _read_backlog(self, wish: Wish) -> None:
        seconds, devices, readings = wish
        found = await self.asked(
            lambda client: client.devices_history(
                min(spans.LONGEST_SECONDS, max(seconds * 1.1, KEPT_SECONDS)),
                devices=devices,
                readings=readings,
                points=POINTS,
            )
        )
        if found is not None:
            self._backlog.load(found)
            self.show(self.board)

    # Verbs

    def do_chart_span(self) -> None:
        run = self.board.run
        self.services.desk.look_at(spans.next_span(self.board.span, 1, run=run is not None and run.started is not None))

    def do_chart_zoom_in(self) -> None:
        self.services.desk.look_at(spans.zoomed(self.board.span, longer=False))

    def do_chart_zoom_out(self) -> None:
        self.services.desk.look_at(spans.zoomed(self.board.span, longer=True))

    def do_chart_metric(self) -> None:
        known = offered(self.board.devices)
        self._drawn = known[(known.index(self._drawn) + 1) % len(known)] if self._drawn in known else known[0]
        self.show(self.board)

    def do_chart_pause(self) -> None:
        """Let the picture stand still, or go on."""
        self._paused = self._axis.last if self._paused is None else None
        self.show(self.board)

    def do_chart_log_axis(self) -> None:
        self._log = not self._log
        self.show(self.board)

    def do_chart_cursor_left(self) -> None:
        self._move_cursor(-1)

    def do_chart_cursor_right(self) -> None:
        self._move_cursor(1)

    def _move_cursor(self, steps: int) -> None:
        axis = self._axis if self._arrangement.strip or self._arrangement.single else self.tiles.axis
        slot = axis.slot or 1.0
        here = self.board.moment
        wanted = axis.last if here is None else here + steps * slot
        self.services.desk.point_at(max(axis.last - self._span + slot, min(axis.last, wanted)))

    def on_multiples_pointed(self, message: Multiples.Pointed) -> None:
        self.services.desk.point_at(message.x)

    def on_chart_pointed(self, message: Chart.Pointed) -> None:
        self.services.desk.point_at(message.x)

    def do_part_next(self) -> None:
        self._step_device(1)

    def do_part_previous(self) -> None:
        self._step_device(-1)

    def _step_device(self, steps: int) -> None:
        """All, then one device after the other."""
        choices: list[str | None] = [None, *(view.device.key for view in self.board.devices)]
        place = choices.index(self._alone) if self._alone in choices else 0
        self._alone = choices[(place + steps) % len(choices)]
        self.show(self.board)

    def back(self) -> bool:
        if self.board.moment is not None:
            self.services.desk.point_at(None)
        elif self._paused is not None or self._alone is not None:
            self._paused = self._alone = None
            self.show(self.board)
        else:
            return False
        return True


def _y_labels(name: str, scale: Scale) -> tuple[str, str, str]:
    return (curves.text(name, scale.high), curves.text(name, scale.middle), curves.text(name, scale.low))


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
