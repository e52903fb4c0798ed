"""The border around a pane: a numbered title that becomes a chip under the focus, and one fact at the lower right."""

from __future__ import annotations

from textual import events, on
from textual.containers import Vertical
from textual.content import Content

from accel_tui.tui.glyphs import GLYPHS
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Cell, Piece, cell_width, clean, fit

_AROUND = 4
"""Columns of the border beside a title: both corners, and a blank beside each."""


class Frame(Vertical):
    """What a pane stands in. Exactly one frame of a screen has the chip: the one that holds the focus."""

    DEFAULT_CSS = """
    Frame {
        border: round $line;
        border-title-align: left;
        border-subtitle-align: right;
        border-title-color: $text;
        border-subtitle-color: $muted;
        background: $bg;
        padding: 0 1;
        height: 1fr;
        width: 1fr;
    }
    Frame:focus-within { border: $focus-border $accent; }
    Frame.-trouble { border: round $warn; }
    Frame.-error { border: round $error; }
    Frame.-ascii { border: ascii $line; }
    Frame.-ascii:focus-within { border: ascii $accent; }
    """

    def __init__(
        self,
        name: str,
        number: int | None = None,
        *,
        chip: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """
        Args:
            name: The pane's name in the title.
            number: The key that focuses it; None for a frame that has none.
            chip: Reverse the title under the focus; a dialog, which has it anyway, does not.
        """
        super().__init__(id=id, classes=classes)
        self._title_name, self._number, self._chip = name, number, chip
        self._about: Cell = ()
        self._facts: Cell = ()

    @property
    def about(self) -> Cell:
        """What it says beside its name."""
        return self._about

    @property
    def facts(self) -> Cell:
        """What it says at the lower right."""
        return self._facts

    def rename(self, name: str) -> None:
        """Give it another name."""
        if name != self._title_name:
            self._title_name = name
            self._write()

    def tell(self, about: Cell = (), facts: Cell = ()) -> None:
        """Say in the border what the pane is about and, at the lower right, one fact and the keys.

        Args:
            about: The subject in `text`, its mode in `muted`.
            facts: Right-aligned in the lower border.
        """
        if (about, facts) != (self._about, self._facts):
            self._about, self._facts = about, facts
            self._write()

    def on_mount(self) -> None:
        self.set_class(self.app.has_class(ASCII_CLASS), ASCII_CLASS)
        self._write()

    @on(events.Resize)
    def _fit_again(self) -> None:
        if self.has_class(ASCII_CLASS):
            self._write()

    def on_descendant_focus(self) -> None:
        self._write()

    def on_descendant_blur(self) -> None:
        self._write()

    def _write(self) -> None:
        focused = self.has_focus_within and not self.has_class("-dialog")  # a dialog has the focus anyway
        ascii_only = self.app.has_class(ASCII_CLASS)
        number = "" if self._number is None else f"{self._number} "
        title: Cell
        if focused and self._chip:
            title = (Piece(f" {number}{self._title_name} ", "on_accent", bold=True, on="accent"),)
        else:
            title = (Piece(number, "faint"), Piece(self._title_name, "strong", bold=True))
        about = (Piece(" "), *self._about) if self._about else ()
        self.border_title = self._fitted((*title, *about), ascii_only)
        self.border_subtitle = self._fitted(self._facts, ascii_only)

    def _fitted(self, pieces: Cell, ascii_only: bool) -> Content:
        """As content of the border; Textual would cut it with a sign that not every terminal can show."""
        room = self.outer_size.width - _AROUND
        if ascii_only and 0 < room < cell_width(pieces):
            pieces = fit(pieces, room, cut=GLYPHS["cut"].ascii, ascii_only=True)
        return _content(pieces, ascii_only)


def _content(pieces: Cell, ascii_only: bool) -> Content:
    """Cleaned pieces as Textual content; never markup. Colours stay variables, so a theme change needs no help."""
    return Content.assemble(*((piece.text, _style(piece)) for piece in clean(pieces, ascii_only) if piece.text))


def _style(piece: Piece) -> str:
    weight = "$chip-style " if piece.on == "accent" else "bold " if piece.bold else ""
    surface = f" on ${piece.on}" if piece.on else ""
    return f"{weight}${piece.role}{surface}"
