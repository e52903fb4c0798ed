"""Where a job is saved: one line for the path, and whether a file would be written over."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.screens.buttons import buttons
from accel_tui.tui.widgets.field import Field
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Line, Lines
from accel_tui.tui.widgets.parts import PartLine


class SaveDialog(ExactModalScreen):
    """Dismissed with an absolute path, or None. Whoever opened it asks before a file is changed."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, title: str, proposed: str, lines: list[Line], folder: str, suffix: str) -> None:
        """`folder` is what a relative path is meant from; `suffix` is added to a name without one."""
        super().__init__()
        self._title, self._proposed, self._told, self._folder = title, proposed, lines, folder
        self._suffix = suffix

    def compose(self) -> ComposeResult:
        with Frame(self._title, chip=False, classes="dialog"):
            yield Field(self._proposed, placeholder="path of the file", id="path")
            yield Lines([(), *self._told, ()], surface="raised")
            line = PartLine(gap=2)
            line.surface = "raised"
            yield line

    def on_mount(self) -> None:
        self.query_one(PartLine).show(buttons([("save", "Save enter", "default"), ("no", "Cancel esc", "plain")]))
        self.set_focus(self.query_one(Field))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        self._save()

    def on_part_line_chosen(self, message: PartLine.Chosen) -> None:
        message.stop()
        if message.key == "save":
            self._save()
        else:
            self.dismiss(None)

    def _save(self) -> None:
        text = self.query_one(Field).value.strip()
        if not text:
            return
        path = Path(self._folder, Path(text).expanduser())
        self.dismiss(str(path if path.suffix else path.with_suffix(self._suffix)))
