"""The Log pane: what the selected run says, from its file, at any size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult

from accel_tui.logs.packed import LogSource, open_log
from accel_tui.logs.rankfiles import LOOK_BYTES
from accel_tui.logs.ranks import OfRank, ranks_in, split_rank
from accel_tui.logs.search import Both, Finder
from accel_tui.logs.severity import Problems
from accel_tui.logs.source import ByteSource
from accel_tui.logs.times import Times
from accel_tui.model.errors import FileError
from accel_tui.model.runs import Run, RunState
from accel_tui.text import sanitise
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.panes import Pane
from accel_tui.tui.panes.log import words
from accel_tui.tui.panes.log.bars import LiveBars
from accel_tui.tui.panes.log.cutting import Cutting
from accel_tui.tui.panes.log.dress import Columns, dressed
from accel_tui.tui.panes.log.finding import FindLine, Search, seek
from accel_tui.tui.panes.log.places import Places
from accel_tui.tui.panes.log.subject import Subject, of_file, of_run
from accel_tui.tui.panes.log.taking import Taking
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.logline import Dressed, LogLine, spread
from accel_tui.tui.widgets.logview import LogView
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import LONGEST, Cell, Ends, Piece, Rule

_SAMPLE = 128 * 1024
"""Bytes at both ends in which ranks are looked for when a log is opened."""
_FRESH_SECONDS = 3.0
"""So long after the last entry of times a line that is not in it yet has just arrived."""
LONGEST_SHOWN = 100_000
"""Characters of a line that its own dialog shows."""
_LEAST_ROWS = 7
"""Below this height nothing but the text is shown."""


class LogPane(Pane):
    """The log of the selected run: follows, scrolls, searches, goes from trouble to trouble, shows one rank."""

    number = 5
    label = "Log"
    KEYS = (
        *("find.open", "find.next", "find.previous", "find.regex", "event.next", "event.previous"),
        *("part.next", "part.previous", "log.follow", "log.only_matches", "item.open", "item.copy", "item.clear"),
        *("item.range", "item.range_up", "item.export", "log.go", "log.mark", "log.next_mark", "log.cause"),
        *("log.fold", "log.fold_all", "log.raw", "log.pager", "log.editor"),
    )
    FOOT = ("find.open", "event.next", "part.next", "log.follow", "find.next", "log.only_matches", "item.copy")
    WORDS: ClassVar[dict[str, str]] = {"part.next": "rank", "item.open": "whole line", "item.copy": "copy line"}

    DEFAULT_CSS = """
    LogPane #card, LogPane #cut { height: auto; display: none; }
    LogPane #progress { height: auto; }
    LogPane.-card #card, LogPane.-cut #cut { display: block; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._subject: Subject | None = None
        self._source: LogSource | None = None
        self._times: Times | None = None
        self._ranks: frozenset[int] = frozenset()
        self._rank: int | None = None
        self._finder: Finder | None = None
        """Finds the lines of the chosen rank."""
        self._only_hits = False
        self._columns = Columns()
        self._bars = LiveBars()
        self._hidden_cards: set[str] = set()
        self._cutting = Cutting()

    def compose(self) -> ComposeResult:
        keys = tuple(
            piece
            for verb, word in (("find.next", "next"), ("find.previous", "previous"), ("log.only_matches", "only hits"))
            for piece in (Piece(f"   {self.services.key(verb)} ", "accent"), Piece(word, "muted"))
        )
        yield Lines(id="card")
        yield Lines([()], id="cut")
        yield LogView(dress=self._dress, folds=True, id="text")
        yield Lines(id="progress")
        yield FindLine(keys)

    def on_mount(self) -> None:
        self._search = Search(self.view, self.find, self._draw_map)
        self._places = Places(self, self._draw_map)
        self._taking = Taking(self)
        super().on_mount()

    @property
    def view(self) -> LogView:
        return self.query_one(LogView)

    @property
    def find(self) -> FindLine:
        return self.query_one(FindLine)

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    def take_focus(self) -> None:
        self.focus_on(self.view)

    # Showing

    def subject(self, board: Board) -> Subject | None:
        """Whose log is shown: the selected run's, unless a file was named."""
        return of_run(board.run) if board.file is None else of_file(Path(board.file))

    def show(self, board: Board) -> None:
        before, subject = self._subject, self.subject(board)
        self._subject = subject
        if (subject and subject.key) != (before and before.key):
            self._open(subject)
        if self._times is not None:
            self._times.look()
        self.view.say_when_empty(self.empty(*words.nothing(board, subject)))
        self._arrange_columns()
        self._show_cut()
        self._show_around(board, None if subject is None else subject.run)
        self._show_border()

    def on_resize(self) -> None:
        self.show(self.board)

    def _open(self, subject: Subject | None) -> None:
        """Show another log, from its end on."""
        if self._source is not None:
            self._source.close()
        self._source = None
        try:
            self._source = None if subject is None else open_log(subject.log, look_bytes=LOOK_BYTES)
        except FileError as fault:
            self.services.desk.say(fault)
        self._times = None if subject is None or subject.times is None else Times(subject.times)
        self._rank, self._finder, self._only_hits, self._cutting = None, None, False, Cutting()
        self._ranks = frozenset() if self._source is None else _ranks_at_ends(self._source)
        if self.find.is_open:
            self.find.close()
        self._columns = Columns()
        self._bars = LiveBars()
        self._places.open(None if subject is None else subject.key)
        self.view.open(self._source)

    def _arrange_columns(self) -> None:
        timed = self._times is not None and self._times.last is not None
        total = self.view.status.total
        columns = Columns.fitting(self.view.size.width, total, self._ranks, timed=timed and not self.strip)
        if columns != self._columns:
            self._columns = columns
            self.view.redress()

    def _dress(self, line: LogLine) -> Dressed:
        rank = split_rank(line.text)[0]
        if rank is not None and rank not in self._ranks:
            self._ranks |= {rank}
            self.call_next(self._arrange_columns)
        marked = self._places.is_marked(line.offset)
        found = None if self._subject is None or self._subject.run is None else self._subject.run.diagnosis
        return dressed(
            line, self._columns, self._arrived, self.glyphs, self.services.zone, marked=marked,
            first=None if found is None else found.rank,
        )  # fmt: skip

    def _arrived(self, offset: int) -> float | None:
        times = self._times
        if times is None or times.last is None:
            return None
        known = times.moment_of(offset)
        if known is not None:
            return known
        now = self.services.clock()
        return now if now - times.last <= _FRESH_SECONDS else None

    def _show_around(self, board: Board, run: Run | None) -> None:
        """The card above, and below how far the run is."""
        roomy = not self.strip and self.size.height >= _LEAST_ROWS
        card = []
        if run is not None and roomy and run.id not in self._hidden_cards:
            keys = (self.services.key("log.cause"), self.services.key("item.clear"))
            card = words.card(run, board, self.view.size.width, keys, self.glyphs)
        self.set_class(bool(card), "-card")
        self.query_one("#card", Lines).show(card)
        lines: list[Cell | Ends] = []
        if roomy:
            if self._source is not None and not self.view.raw:
                self._bars.look(self._source)
            line = words.progress(run, self.view.size.width, self.glyphs)
            lines = [*self._bars.rows(self.view.size.width, self.glyphs, self.size.height // 3, run)]
            lines += [] if line is None else [line]
        over = run is not None and run.state is RunState.FINISHED
        rule = Rule("progress when it ended" if over else "")
        self.query_one("#progress", Lines).show([rule, *lines] if lines else [])

    def _show_border(self) -> None:
        status = self.view.status
        about = words.title(
            self._subject, status, self._ranks, self._rank, only_hits=self._only_hits, raw=self.view.raw
        )  # fmt: skip
        facts: list[Piece] = []
        if self._subject is not None and status.total:
            facts.append(Piece(words.length(status), "muted"))
            keys = [("find.open", "find"), ("event.next", "next problem")]
            if not status.following:
                keys = [("log.follow", "follow"), *keys]
            for verb, word in keys:
                facts += [Piece(f"   {self.services.key(verb)} ", "accent"), Piece(word, "muted")]
        self.tell(about, tuple(facts))

    def _draw_map(self) -> None:
        """Where hits and marks stand in the whole log."""
        end = 0 if self._source is None else self._source.size()
        marks = [*((place, "warn") for place in self._search.places()), *self._places.on_map()]
        self.view.show_map(spread(marks, end, self.view.size.height))

    def on_log_view_changed(self, message: LogView.Changed) -> None:
        message.stop()
        self._show_cut()
        self._arrange_columns()
        self._search.count()
        self._show_around(self.board, None if self._subject is None else self._subject.run)
        self._show_border()

    def _show_cut(self) -> None:
        """Say when the file was cut, replaced or deleted, until another log is opened."""
        self._cutting.look(self._source, self.view.status.replaced, self.services.clock())
        line = self._cutting.line(self.board, self.services.zone, self.glyphs)
        self.set_class(line is not None and not self.strip, "-cut")
        self.query_one("#cut", Lines).show([] if line is None else [line])

    # Verbs

    def why_not(self, key: str) -> str | None:
        if key in self.KEYS and self.view.source is None:
            return "no run is selected"
        if key in ("part.next", "part.previous") and not self._ranks:
            return "this log names no ranks"
        if key in ("find.next", "find.previous", "log.only_matches", "find.regex") and not self.find.is_open:
            return f"nothing is searched for; {self.services.key('find.open')} begins"
        draft = self.board.draft
        if key in ("log.pager", "log.editor") and draft is not None and draft.edited:
            return "the job was edited and is not saved; leaving the screen would lose that"
        if key == "log.next_mark" and not self._places.marks:
            return f"nothing is marked; {self.services.key('log.mark')} marks a line"
        return super().why_not(key)

    def do_log_follow(self) -> None:
        self.view.action_follow()

    def do_item_clear(self) -> None:
        """Give the selection up, else hide the card about the failure."""
        if self._taking.clear():
            return
        if self._subject is not None:
            self._hidden_cards.add(self._subject.key)
            self.show(self.board)

    def do_item_open(self) -> None:
        """The current line whole, or else the last one that is visible."""
        text = self._line_here()
        if text is not None:
            from accel_tui.tui.screens.sheet import Sheet

            # A piece is cut at LONGEST characters when it is drawn; a line may be several pieces.
            whole: Cell = tuple(Piece(text[at : at + LONGEST]) for at in range(0, len(text), LONGEST))
            self.app.push_screen(Sheet("Line", [whole]))

    def _line_here(self) -> str | None:
        line = self.view.line_here()
        return None if line is None else sanitise(line.data, limit=LONGEST_SHOWN)

    # Taking text out

    def do_item_range(self) -> None:
        self._taking.extend(1)

    def do_item_range_up(self) -> None:
        self._taking.extend(-1)

    def do_item_copy(self) -> None:
        self._taking.copy()

    def do_item_export(self) -> None:
        if self._subject is not None:
            self._taking.export(self._subject.name, self.view.finder)

    def do_log_fold(self) -> None:
        if not self.view.toggle_fold():
            self.services.desk.say("nothing is folded here")

    def do_log_fold_all(self) -> None:
        opened = self.view.toggle_folds()
        if opened is not None:
            self.services.desk.say("all folds are open" if opened else "all folds are closed")

    def do_log_raw(self) -> None:
        self.view.show_raw(not self.view.raw)
        self._show_border()

    def do_log_pager(self) -> None:
        self._taking.open_in("PAGER", "less")

    def do_log_editor(self) -> None:
        self._taking.open_in("EDITOR", "vi")

    # Places

    def do_log_go(self) -> None:
        self._places.ask(self._times)

    def do_log_mark(self) -> None:
        self._places.mark()

    def do_log_next_mark(self) -> None:
        self._places.next_mark()

    def do_log_cause(self) -> None:
        self.run_worker(self._places.cause(self.board.run if self._subject and self._subject.run else None), group="go")

    def typed(self, words: str) -> tuple[str, Callable[[], object]] | None:
        return self._places.typed(words, self._times)

    # Searching

    def do_find_open(self) -> None:
        self.find.open()

    def do_find_regex(self) -> None:
        self.find.toggle_regex()

    def on_find_line_sought(self, message: FindLine.Sought) -> None:
        message.stop()
        self._search.set(message.needle, self._of_rank())
        if self._only_hits:
            self._only_hits = message.needle is not None
            self._narrow()
        if message.go and message.needle is not None:
            self.focus_on(self.view)
            self._go(message.needle, ahead=not self.view.status.following, here=True)

    def do_find_next(self) -> None:
        self._go(self._search.needle, ahead=True)

    def do_find_previous(self) -> None:
        self._go(self._search.needle, ahead=False)

    def do_log_only_matches(self) -> None:
        self._only_hits = not self._only_hits and self._search.needle is not None
        self._narrow()

    def _go(self, finder: Finder | None, *, ahead: bool, here: bool = False) -> None:
        if finder is not None:
            self.run_worker(self._seek(finder, ahead=ahead, here=here), group="seek", exclusive=True)

    async def _seek(self, finder: Finder, *, ahead: bool, here: bool) -> None:
        within = self._of_rank()
        meant = finder if within is None else Both(within, finder)
        trouble = isinstance(finder, Problems)
        found = await seek(self.view, meant, ahead=ahead, here=here, around=not trouble)
        self._search.moved()
        if found is None:
            self.services.desk.say(f"searched on from the {'beginning' if ahead else 'end'} of the log")
        elif not found and trouble:
            self.services.desk.say(f"no error or warning {'below' if ahead else 'above'}")

    # Trouble and ranks

    def do_event_next(self) -> None:
        self._go(Problems(), ahead=True)

    def do_event_previous(self) -> None:
        self._go(Problems(), ahead=False)

    def do_part_next(self) -> None:
        self._step_rank(1)

    def do_part_previous(self) -> None:
        self._step_rank(-1)

    def _step_rank(self, steps: int) -> None:
        choices: list[int | None] = [None, *sorted(self._ranks)]
        place = choices.index(self._rank) if self._rank in choices else 0
        self._choose_rank(choices[(place + steps) % len(choices)])

    def _choose_rank(self, rank: int | None) -> None:
        self._rank, self._finder = rank, None if rank is None else OfRank(rank)
        self._narrow()
        self._search.set(self._search.needle, self._of_rank())

    def _of_rank(self) -> Finder | None:
        return self._finder

    def _narrow(self) -> None:
        """Show the lines of the chosen rank, the hits, or both."""
        within, needle = self._of_rank(), self._search.needle
        if self._only_hits and needle is not None:
            self.view.narrow(needle if within is None else Both(within, needle))
        else:
            self.view.narrow(within, folds=True)
        self._show_border()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.find.input.has_focus:
            event.stop()
            self.back()

    def back(self) -> bool:
        if self._taking.clear():
            return True
        if self.find.is_open:
            self.find.close()
            self.focus_on(self.view)
            return True
        if self._rank is not None:
            self._choose_rank(None)
            return True
        return False


def _ranks_at_ends(source: ByteSource) -> frozenset[int]:
    size = source.size()
    found = ranks_in(source.read(0, _SAMPLE))
    if size > _SAMPLE:
        tail = source.read(size - _SAMPLE, _SAMPLE)
        found |= ranks_in(tail[tail.find(b"\n") + 1 :])
    return frozenset(found)
