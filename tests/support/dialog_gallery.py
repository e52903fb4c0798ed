"""A dialog over the widgets: what a form's parts and buttons look like."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Input

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.pieces import Ends, Piece, cell
from support.gallery import Gallery


class Dialog(ExactModalScreen):
    """The stop of a run, half way, with a field in it."""

    CSS = """
    Dialog Horizontal { height: 1; width: 1fr; }
    Dialog Lines { height: auto; }
    """

    def __init__(self, signs: Glyphs) -> None:
        super().__init__()
        self.signs = signs

    def compose(self) -> ComposeResult:
        signs = self.signs
        with Frame("Stopping qwen3-lora", classes="-dialog"):
            yield Lines(
                [
                    cell(Piece("4 ranks on ", "muted"), "gaudi:0-3", Piece(", step ", "muted"), "812/1500"),
                    (),
                    cell(
                        Piece(f"{signs.text('passed')} ", "ok"), "asked          ", Piece("SIGTERM to 4 ranks", "muted")
                    ),
                    cell(Piece(f"{signs.text('option-on')} ", "accent"), "saving         ", Piece("6 s", "muted")),
                    Ends(cell("  ", *bar(0.2, 50, "accent", signs)), cell("24 s left")),
                    cell(Piece(f"{signs.text('option-off')} ", "muted"), Piece("then forced    SIGKILL", "muted")),
                    (),
                ],
                surface="raised",
            )
            yield Input("0.05", id="field")
            yield Input(placeholder="find a field")
            yield Lines([cell(Piece("must be between 0 and 1, for example 0.05", "error")), ()], surface="raised")
            with Horizontal():
                yield Button("Close esc", variant="primary", compact=True)
                yield Button("Wait 60 s more w", compact=True)
                yield Button("Force now k", variant="error", compact=True)
                yield Button("Launch l", disabled=True, compact=True)


class DialogGallery(Gallery):
    """The widgets with a dialog in front."""

    def fill(self, now: float = 1_796_042_467.0) -> None:
        super().fill(now)
        self.push_screen(Dialog(self.signs))
