"""A dialog with a line to type into and a list below it, whose cursor moves while the line keeps the focus."""

from __future__ import annotations

from textual import events

from accel_tui.tui.exact import ExactModalScreen
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.grid import Grid


class ListDialog(ExactModalScreen):
    """The keys and clicks that such dialogs have in common."""

    def choose(self, key: str | None) -> None:
        """The row with this key was opened; None where there is none."""
        raise NotImplementedError

    def on_key(self, event: events.Key) -> None:
        grid = self.query_one(Grid)
        moves = {"down": 1, "up": -1}
        if event.key in moves:
            grid.action_move(moves[event.key])
        elif event.key in ("pagedown", "pageup"):
            grid.action_page(1 if event.key == "pagedown" else -1)
        elif event.key == "escape":
            self.dismiss(None)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_grid_opened(self, message: Grid.Opened) -> None:
        self.choose(message.key)

    def on_click(self) -> None:
        if not self.query_one(Frame).region.contains_point(self.app.mouse_position):
            self.dismiss(None)
