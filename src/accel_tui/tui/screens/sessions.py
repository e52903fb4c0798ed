"""Opening a session, or starting a job of a kind: one list, and a line for a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.model.errors import AccelError
from accel_tui.tui.background import in_thread
from accel_tui.tui.fuzzy import match
from accel_tui.tui.screens.listing import ListDialog
from accel_tui.tui.widgets.columns import Column, Row
from accel_tui.tui.widgets.field import Field
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Cell, Piece

if TYPE_CHECKING:
    from accel_tui.jobs.session import Session


@dataclass(frozen=True)
class Chosen:
    """What was chosen: a job of a file, or with `path` empty a new job of a kind."""

    path: str
    job: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Offer:
    """One row. Foreign text may stand in it: it is cleaned when drawn."""

    chosen: Chosen
    name: str
    about: str
    where: str
    reason: str | None = None
    """Why it cannot be opened; None when it can."""


class SessionsDialog(ListDialog):
    """Dismissed with what was chosen, or with None."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self, files: Callable[[], Sequence[Path]], shipped: Path | None, kinds: Sequence[tuple[str, str]], *,
        new: bool = False,
    ) -> None:  # fmt: skip
        """
        Args:
            files: The session files at hand; called in a thread.
            shipped: The folder of those that come with the product.
            kinds: Name and sentence of each kind that a job can be started from.
            new: Begin at the kinds instead of at the sessions.
        """
        super().__init__()
        self._files, self._shipped, self._new = files, shipped, new
        self._kinds = [Offer(Chosen("", kind=name), f"new {name}", about, "") for name, about in kinds]
        self._offers: list[Offer] = []
        self._shown: list[Offer] = []
        self._loading = True

    def compose(self) -> ComposeResult:
        with Frame("New job" if self._new else "Open a session", chip=False, classes="dialog -palette"):
            yield Field(placeholder="letters of a name, or the path of a file", id="words")
            columns = [
                Column("name", "JOB", 18, gap=0),
                Column("about", "WHAT", 20, grow=True, gap=2),
                Column("where", "FILE", 26, gap=2, drop=1),
            ]
            grid = Grid(columns, marks=False, id="found")
            grid.surface = "raised"
            grid.can_focus = False
            yield grid
            hint = Lines([(Piece("Opening reads the file and runs nothing.", "muted"),)], surface="raised")
            yield hint

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Field))
        self._find()
        self.run_worker(self._load(), group="sessions")

    async def _load(self) -> None:
        """Read every file; one that cannot be used stays in the list with its reason."""
        self._offers = await in_thread("accel-tui reads sessions", self._read_all)
        self._loading = False
        self._find()

    def _read_all(self) -> list[Offer]:
        return [offer for path in self._files() for offer in self._read(path)]

    def _read(self, path: Path) -> list[Offer]:
        from accel_tui.jobs.session import load_session

        where = path.name if path.parent == self._shipped else str(path)
        try:
            session = load_session(path)
        except AccelError as fault:
            reason = fault.message.split("\n")[0].removeprefix(f"{path}: ").removeprefix(f"{path}:")
            return [Offer(Chosen(str(path)), path.stem, reason, where, reason)]
        return _offers(session, where)

    # The list

    def on_input_changed(self, event: Field.Changed) -> None:
        event.stop()
        self._find()

    @property
    def _words(self) -> str:
        return self.query_one(Field).value.strip()

    def _find(self) -> None:
        words = self._words
        groups = [self._kinds, self._offers] if self._new else [self._offers, self._kinds]
        offers = [offer for group in groups for offer in group]
        if words and not is_path(words):
            rated = [(match(words, f"{one.name} {one.about} {one.where}"), at, one) for at, one in enumerate(offers)]
            hits = sorted(((-hit[0], at, one) for hit, at, one in rated if hit is not None), key=lambda one: one[:2])
            offers = [one for _, _, one in hits]
        self._shown = [] if is_path(words) else offers
        grid = self.query_one(Grid)
        grid.show([_row(str(at), offer) for at, offer in enumerate(self._shown)], empty=self._nothing(words))
        grid.action_edge(-1)
        self._tell()

    def _nothing(self, words: str) -> tuple[Cell, ...]:
        if is_path(words):
            return ((Piece("enter opens this file.", "muted"),),)
        if self._loading:
            return ((Piece("Reading the session files.", "muted"),),)
        return ((Piece(f"No session matches '{words}'.", "muted"),), (Piece("A path opens any file.", "faint"),))

    def _tell(self) -> None:
        number = len(self._offers)
        about = "reading" if self._loading else f"{number} jobs of files" if number != 1 else "1 job of a file"
        self.query_one(Frame).tell((Piece(about, "muted"),), (Piece("enter open   esc close", "muted"),))

    # Choosing

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        if is_path(self._words):
            self.run_worker(self._open_path(self._words), group="path", exclusive=True)
        else:
            self.choose(self.query_one(Grid).cursor_key)

    def choose(self, key: str | None) -> None:
        if key is None:
            return
        offer = self._shown[int(key)]
        if offer.reason is None:
            self.dismiss(offer.chosen)
        else:
            self.query_one(Frame).tell((Piece(offer.reason, "error"),), (Piece("enter open   esc close", "muted"),))

    async def _open_path(self, words: str) -> None:
        """One job of the file opens at once; of several the list shows which."""
        from accel_tui.jobs.session import load_session, split_reference

        def read() -> tuple[Session, str | None]:
            path, job = split_reference(words)
            return load_session(path), job

        try:
            session, job = await in_thread("accel-tui reads a session", read)
        except AccelError as fault:
            message = fault.message if fault.remedy is None else f"{fault.message}: {fault.remedy}"
            self.query_one(Frame).tell((Piece(message.split("\n")[0], "error"),), (Piece("esc close", "muted"),))
            return
        names = [one.name for one in session.jobs]
        if job in names or len(names) == 1:
            self.dismiss(Chosen(session.path, job or names[0]))
            return
        self._offers, self._kinds = _offers(session, session.path), []
        self.query_one(Field).value = ""


def is_path(words: str) -> bool:
    """What was typed is meant as a file, not as letters of a name."""
    return "/" in words or words.startswith(("~", ".")) or words.endswith(".toml")


def _offers(session: Session, where: str) -> list[Offer]:
    title = session.title or Path(session.path).stem
    return [Offer(Chosen(session.path, job.name), job.name, f"{job.kind}: {title}", where) for job in session.jobs]


def _row(key: str, offer: Offer) -> Row:
    off = offer.reason is not None
    name = (Piece(offer.name, "faint" if off else "strong", bold=not off),)
    return Row(key, (name, (Piece(offer.about, "error" if off else "text"),), (Piece(offer.where, "muted"),)))
