"""What all line-API widgets share: the palette and the glyphs of the application, and lines of pieces."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events, on
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from accel_tui.tui.glyphs import GLYPHS, Glyphs
from accel_tui.tui.palette import Palette, palette_of
from accel_tui.tui.widgets.pieces import Cell, Piece, fit, segments

ASCII_CLASS = "-ascii"
"""A class of the application: nothing but ASCII is drawn, and style sheets choose ASCII borders."""
NO_RARE_CLASS = "-no-rare"
"""A class of the application: the signs that few fonts have are drawn as letters."""


class Painted(Widget):
    """A widget drawn line by line in roles; it follows a change of theme by itself."""

    surface = "bg"
    """The role of its background; `raised` inside a dialog."""

    _palette: Palette | None = None
    _glyphs: Glyphs | None = None

    @property
    def palette(self) -> Palette:
        """The colours of the theme that is on."""
        if self._palette is None:
            self._palette = palette_of(self.app.current_theme)
        return self._palette

    @property
    def glyphs(self) -> Glyphs:
        """The signs this terminal can show."""
        if self._glyphs is None:
            self._glyphs = Glyphs(self.app.has_class(ASCII_CLASS), rare=not self.app.has_class(NO_RARE_CLASS))
        return self._glyphs

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._follow_theme)

    @on(events.Hide)
    def _forget_drawing(self) -> None:
        """Forget the last drawing: what is told while there is no size to compare in differs in no cell from it."""
        self.refresh()

    def _follow_theme(self, _theme: Theme) -> None:
        self._palette = self._glyphs = None
        self.refresh()

    def sign(self, name: str, role: str | None = None) -> Piece:
        """The glyph of a meaning as a piece, in its own role unless another is given."""
        return Piece(self.glyphs.text(name), role or GLYPHS[name].role)

    def fitted(self, content: Cell, width: int) -> Cell:
        """`content` cleaned, cut and padded to `width` columns with this terminal's signs."""
        return fit(content, width, "left", self.glyphs.text("cut"), self.glyphs.ascii)

    def line(self, content: Cell, surface: str | None = None) -> Strip:
        """`content` as a whole line of the widget."""
        width = self.size.width
        return Strip(segments(self.fitted(content, width), self.palette, surface or self.surface), width)

    def notice(self, lines: Sequence[Cell], y: int, head: int = 0) -> Strip:
        """Line `y` of the widget when it shows nothing but `lines`, in the middle; the first is never behind `head`."""
        width, height = self.size
        number = y - max(head, (height - len(lines)) // 2)
        content = lines[number] if 0 <= number < len(lines) else ()
        centred = fit(content, width, "centre", self.glyphs.text("cut"), self.glyphs.ascii)
        return Strip(segments(centred, self.palette, self.surface), width)
