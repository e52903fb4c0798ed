"""The main screen: head, panes, foot. It places panes and passes verbs on; what they mean is the panes' affair."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.widget import Widget

from accel_tui.tui.bindings import KEYS, bind_all
from accel_tui.tui.board import Board, Level
from accel_tui.tui.doing import Doer
from accel_tui.tui.exact import ExactScreen
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.head import head, notice_lines, too_small, trouble
from accel_tui.tui.layouts import Mode, Panes, Place, Wish, mode_of, places
from accel_tui.tui.messages import DoAsked, GoTo, Told, Whole
from accel_tui.tui.palette import PaletteTheme
from accel_tui.tui.panes import PANES, Pane
from accel_tui.tui.panes import Entry as PaneEntry
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.parts import Part, PartLine
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, cell_width

if TYPE_CHECKING:
    from accel_tui.tui.screens.palette import Entry

GENERAL = (
    *(f"pane.{entry.number}" for entry in PANES if entry.number),
    *("pane.next", "pane.previous", "pane.maximise", "pane.narrower", "pane.wider"),
    *("app.palette", "item.actions", "app.help", "app.notices", "app.theme", "app.retry", "app.back", "app.quit"),
)
"""Verbs that the screen does itself."""
FOOT = ("pane.maximise", "app.palette", "app.help", "app.quit")
JOB = 2
NOTE_SECONDS = 6.0
"""How long a notice that is neither warning nor error stays in the foot line."""


_OF_LISTS = frozenset({"item.open", "item.pick", "item.range", "item.clear", "pane.sort", "field.reset"})
"""Verbs that tables and forms in panes do themselves."""


class MainScreen(ExactScreen, Doer):
    """Everything that a person keeps open."""

    CSS_PATH = "main.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bind_all(*GENERAL, *(verb for entry in PANES for verb in entry.reach))

    def __init__(self, services: Services, panes: Sequence[PaneEntry] = PANES) -> None:
        super().__init__()
        self.services = services
        self._entries = panes
        self._panes: dict[str, Pane] = {}
        self._reach: dict[str, Pane] = {}
        self._wish = Wish(shown=panes[0].key)
        self._places: dict[str, Place] = {}
        self._layout_of: object = None
        self._before_whole: bool | None = None

    def compose(self) -> ComposeResult:
        self._mark(self.mode)  # before there are children: each change of a class restyles all of them
        yield Lines([()], id="head")
        with Frame("Connection", id="trouble"):
            yield Lines([(), ()], id="trouble-lines")
        yield PartLine(id="tabs", gap=2, parts_first=True)
        with Panes(self._regions, id="panes"):
            for entry in self._entries:
                pane = self._panes[entry.key] = entry.load()(self.services)
                self._reach.update(dict.fromkeys(entry.reach, pane))
                yield pane
        yield Lines([], id="too-small")
        yield PartLine(id="foot", lead=1)

    def on_mount(self) -> None:
        self.services.desk.watch(self, self.show)
        self._arrange()
        self.show(self.board)
        self._panes[self._wish.shown].take_focus()

    @property
    def panes(self) -> tuple[Pane, ...]:
        return tuple(self._panes.values())

    # What is shown around the panes

    @property
    def mode(self) -> Mode:
        return mode_of(self.app.size)

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    def show(self, board: Board) -> None:
        """Draw head, strip and foot; place the panes anew where the board changes how much room they need."""
        mode = self.mode
        self._arrange()
        if mode is Mode.TINY:
            self.query_one("#too-small", Lines).show(too_small(board, *self.app.size))
            return
        self.query_one("#head", Lines).show([self._head(board, mode)])
        self._show_trouble(board)
        self._show_tabs()
        self._show_foot(board)

    def _head(self, board: Board, mode: Mode) -> Ends:
        return head(board, mode, self.glyphs, self.services.zone)

    def _show_trouble(self, board: Board) -> None:
        lines = trouble(board, self.services.zone)
        if lines:
            sign = self.glyphs.text("warning")
            first, second = lines
            shown = [(Piece(f"{sign} ", "warn"), *first), (Piece("  "), *second)]
            self.query_one("#trouble-lines", Lines).show(shown)

    def _show_tabs(self) -> None:
        if self.mode is not Mode.TABS:
            return
        parts = []
        for name, pane in self._numbered():
            title: Cell
            if name == self._wish.shown:
                title = (Piece(f" {pane.number} {pane.label} ", "on_accent", bold=True, on="accent"),)
            else:
                title = (Piece(f" {pane.number} {pane.label}{' ' * (self.app.size.width >= 70)}", "muted"),)
            parts.append(Part(f"pane.{pane.number}", title))
        self.query_one("#tabs", PartLine).show(parts, self._panes[self._wish.shown].about)

    def _show_foot(self, board: Board) -> None:
        pane = self._panes[self._wish.shown]
        narrow = self.mode is Mode.TABS
        general = tuple(verb for verb in FOOT if verb not in pane.foot and verb in self.own_verbs)
        if narrow:
            several = ("pane.next",) if len(self._panes) > 1 else ()
            general = (*several, *(verb for verb in general if verb != "pane.maximise"))
        newest = self._newest(board)
        line = self.query_one("#foot", PartLine)
        room = self.app.size.width - 1 - min(cell_width(newest) + 2, self.app.size.width // 2 - 1 if newest else 0)
        possible = [verb for verb in pane.foot if verb in self.own_verbs or self.taker(verb) is not None]
        own, last = ([self._foot_part(verb, pane) for verb in verbs] for verbs in (possible, general))
        parts = line.fitting(own, last, room)
        line.show(parts, newest, "app.notices")

    def _foot_part(self, verb: str, pane: Pane) -> Part:
        word = pane.WORDS.get(verb, KEYS[verb].word)
        if verb == "pane.maximise" and self._wish.maximised:
            word = "restore"
        off = self.why_not(verb) is not None
        key = Piece(self.services.key(verb), "faint" if off else "accent", bold=not off)
        return Part(verb, (key, Piece(" "), Piece(word, "faint" if off else "muted")))

    def _newest(self, board: Board) -> Cell:
        """The newest notice that is still to be said."""
        for notice in reversed(board.notices):
            old = board.now - notice.time > NOTE_SECONDS
            if notice.seen or (old and notice.level is Level.NOTE):
                continue
            sign = {Level.ERROR: "failed", Level.WARNING: "warning", Level.NOTE: "notice"}[notice.level]
            role = {Level.ERROR: "error", Level.WARNING: "warn", Level.NOTE: "muted"}[notice.level]
            lead = () if notice.level is Level.NOTE else (Piece(f"{self.glyphs.text(sign)} ", role),)
            text = notice.message if not notice.remedy else f"{notice.message}: {notice.remedy}"
            return (*lead, Piece(text.split("\n")[0], "text"), Piece(" "))
        return ()

    # Where the panes stand

    def on_resize(self) -> None:
        self.show(self.board)

    def on_told(self, _: Told) -> None:
        self._show_tabs()
        self._show_foot(self.board)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and pane.name_in_layouts != self._wish.shown:
            self._change_wish(shown=pane.name_in_layouts)
        elif pane is not None:
            self._show_foot(self.board)

    def _change_wish(self, **parts: Any) -> None:
        self._wish = replace(self._wish, **parts)
        self.show(self.board)

    def _arrange(self) -> None:
        """Decide which panes are visible and where; only a difference costs a new layout."""
        mode, board, size = self.mode, self.board, self.app.size
        rows = {name: pane.wanted_rows(board) for name, pane in self._panes.items()}
        self._choose_start(board)
        self._wish = replace(self._wish, rows=rows)
        state = (mode, size, self._wish, bool(trouble(board, self.services.zone)))
        if state == self._layout_of:
            return
        self._layout_of = state
        self._mark(mode)
        self.query_one("#trouble").display = state[3] and mode is not Mode.TINY
        strip = state[3] and mode is not Mode.TINY
        inner = Size(size.width, max(1, size.height - 2 - (mode is Mode.TABS) - 4 * strip))
        self._places = places(mode, inner, self._panes, self._wish)
        for name, pane in self._panes.items():
            place = self._places.get(name)
            pane.display = place is not None
            pane.set_class(place is not None and place.strip, "-strip")
            pane.set_class(place is not None and place.tab, "-tab")
            pane.set_class(self._wish.maximised, "-maximised")
        for pane in self._panes.values():  # a child's request clears what the container remembers of its arrangement
            pane.refresh(layout=True)
        self.call_after_refresh(self._keep_focus)

    def _mark(self, mode: Mode) -> None:
        for one in Mode:
            self.set_class(mode is one, f"-{one.value}")

    def _choose_start(self, board: Board) -> None:
        """The start card stands in the middle until something runs or a job is opened."""
        wanted = board.inventory is not None and not board.runs and board.draft is None and board.link.trusted
        if wanted == self._wish.start or "start" not in self._panes:
            return
        shown = "start" if wanted and self._wish.shown == "devices" else self._wish.shown
        if not wanted and shown == "start":
            shown = "devices"
        moved = shown != self._wish.shown
        self._wish = replace(self._wish, start=wanted, shown=shown)
        if moved:
            self.call_after_refresh(self._panes[shown].take_focus if wanted else self._refocus)

    def _refocus(self) -> None:
        """Into whatever is shown by now: somebody may have gone on to another pane meanwhile."""
        self._panes[self._wish.shown].take_focus()

    def _keep_focus(self) -> None:
        """A pane that was hidden, as all are on a screen that is too small, has lost it and is shown again."""
        if self.focused is None and self.mode is not Mode.TINY:
            self._refocus()

    def _regions(self, size: Size) -> Mapping[Widget, Region]:
        found = places(self.mode, size, self._panes, self._wish)
        return {self._panes[name]: place.region for name, place in found.items()}

    # Verbs

    @property
    def focused_pane(self) -> Pane:
        return self._panes[self._wish.shown]

    def taker(self, verb: str) -> Pane | None:
        """The pane that does a verb now: the focused one, else the one that does it from everywhere."""
        shown = self._panes[self._wish.shown]
        return shown if verb in shown.KEYS else self._reach.get(verb)

    @property
    def own_verbs(self) -> frozenset[str]:
        """Verbs that it does itself, or that the tables in its panes do."""
        places = {f"pane.{pane.number}" for pane in self._panes.values()}
        return _OF_LISTS | {verb for verb in GENERAL if verb in places or not re.fullmatch(r"pane\.\d", verb)}

    def why_not(self, key: str) -> str | None:
        if key in GENERAL:
            return super().why_not(key)
        pane = self._panes[self._wish.shown] if key in _OF_LISTS else self.taker(key)
        return pane.why_not(key) if pane is not None else super().why_not(key)

    async def action_do(self, key: str) -> None:
        if self.mode is Mode.TINY and not key.startswith("app."):
            return  # nothing is shown: what a key would start, stop or remove could not be seen
        pane = None if key in GENERAL else self.taker(key)
        if pane is not None:
            await pane.action_do(key)
        elif key in GENERAL:
            await super().action_do(key)

    async def run_verb(self, verb: str) -> None:
        """Do a verb as if its key had been pressed."""
        for active in self.active_bindings.values():
            if active.binding.id == verb:
                await self.app.run_action(active.binding.action, active.node)
                return

    async def on_part_line_chosen(self, message: PartLine.Chosen) -> None:
        await self.run_verb(message.key)

    async def on_do_asked(self, message: DoAsked) -> None:
        await self.run_verb(message.key)

    def on_go_to(self, message: GoTo) -> None:
        self.go_to(message.number)

    def on_whole(self, message: Whole) -> None:
        """A pane takes the whole screen; afterwards it is as the person had it."""
        if message.on and self._before_whole is None:
            self._before_whole = self._wish.maximised
            self._change_wish(maximised=True)
            self.go_to(message.number)
        elif not message.on and self._before_whole is not None:
            before, self._before_whole = self._before_whole, None
            self._change_wish(maximised=before)

    def go_to(self, number: int) -> None:
        """Show a pane and put the focus into it."""
        for name, pane in self._panes.items():
            if pane.number == number:
                self._enter(name)
                return

    def do_pane_1(self) -> None:
        self.go_to(1)

    def do_pane_2(self) -> None:
        self.go_to(2)

    def do_pane_3(self) -> None:
        self.go_to(3)

    def do_pane_4(self) -> None:
        self.go_to(4)

    def do_pane_5(self) -> None:
        self.go_to(5)

    def do_pane_6(self) -> None:
        self.go_to(6)

    def do_pane_next(self) -> None:
        self._step(1)

    def do_pane_previous(self) -> None:
        self._step(-1)

    def _step(self, steps: int) -> None:
        """The next pane in the order of their numbers; beside the start card, of those that are visible."""
        order = [name for name, _ in self._numbered()]
        if "start" in self._places:
            order = [name for name in self._places if name in ("devices", "start", "runs", "log")]
        here = order.index(self._wish.shown) if self._wish.shown in order else 0
        self._enter(order[(here + steps) % len(order)])

    def _numbered(self) -> list[tuple[str, Pane]]:
        """The panes that have a key, in its order."""
        return sorted(
            ((name, pane) for name, pane in self._panes.items() if pane.number), key=lambda one: one[1].number
        )

    def _enter(self, name: str) -> None:
        self._change_wish(shown=name)
        self._panes[name].take_focus()

    def do_pane_maximise(self) -> None:
        self._change_wish(maximised=not self._wish.maximised)

    def do_pane_narrower(self) -> None:
        self._change_wish(wider=self._wish.wider - 2)

    def do_pane_wider(self) -> None:
        self._change_wish(wider=self._wish.wider + 2)

    def do_app_back(self) -> None:
        if not self._panes[self._wish.shown].back() and self._wish.maximised:
            self._change_wish(maximised=False)

    # What is opened on demand is imported on demand: the first paint must not wait for it.

    def do_app_palette(self) -> None:
        from accel_tui.tui.finding import entries, typed
        from accel_tui.tui.screens.palette import Palette

        self.app.push_screen(Palette(entries(self), typed=lambda words: typed(self, words)), self._chosen)

    def do_item_actions(self) -> None:
        """Everything that can be done in the focused pane."""
        from accel_tui.tui.finding import actions
        from accel_tui.tui.screens.palette import Palette

        pane = self._panes[self._wish.shown]
        self.app.push_screen(Palette(actions(self, pane), f"{pane.label}: actions"), self._chosen)

    async def _chosen(self, entry: Entry | None) -> None:
        if entry is None:
            return
        if entry.reason is not None:
            self.services.desk.say(f"{entry.title}: {entry.reason}", Level.WARNING)
        elif entry.act is not None:
            result = entry.act()
            if inspect.isawaitable(result):
                await result

    def do_app_help(self) -> None:
        from accel_tui.tui.screens.help import Here, help_lines
        from accel_tui.tui.screens.sheet import Sheet

        pane = self._panes[self._wish.shown]
        own = [verb for verb in dict.fromkeys((*pane.foot, *pane.KEYS)) if verb not in FOOT and self.can_do(verb)]
        known = [verb for verb in KEYS if self.can_do(verb)]
        width = min(98, self.app.size.width - 8)
        lines = help_lines(self.services, Here(pane.label, own, pane.WORDS), known, self.glyphs, width)
        facts = (Piece("keys come from keymap.toml   esc close", "muted"),)
        self.app.push_screen(Sheet("Help", lines, facts=facts, indent=13))

    def do_app_notices(self) -> None:
        from accel_tui.tui.screens.sheet import Sheet

        lines = notice_lines(self.board, self.glyphs, self.services.zone)
        self.services.desk.read_notices()
        self.app.push_screen(Sheet("Notices", lines, indent=12))

    def do_app_theme(self) -> None:
        names = [name for name in sorted(self.app.available_themes) if self.is_ours(name)]
        place = names.index(self.app.theme) if self.app.theme in names else -1
        self.app.theme = names[(place + 1) % len(names)]
        self.services.desk.say(f"theme {self.app.theme}")

    def is_ours(self, theme: str) -> bool:
        """A theme with roles of its own, not one that comes with Textual."""
        return isinstance(self.app.available_themes[theme], PaletteTheme)

    def can_do(self, verb: str) -> bool:
        """Somebody here knows the verb, whether it is possible now or not."""
        known = verb in self.own_verbs or verb in self._reach
        return known or any(verb in pane.KEYS for pane in self._panes.values())

    def reveal(self, number: int, key: str) -> None:
        """Have a pane put its cursor on something."""
        next(pane for pane in self._panes.values() if pane.number == number).reveal(key)

    def open_session(self, path: str, job: str | None = None) -> None:
        """Put a session and one of its jobs onto the board, and show the job."""
        from accel_tui.tui.sessions import open_session

        work = open_session(self.services, path, job)
        self.run_worker(work, group="session", exclusive=True)
        self.go_to(JOB)

    def do_app_quit(self) -> None:
        self.app.exit()

    def do_app_retry(self) -> None:
        self.services.try_now()
