"""Screens that send changed cells alone to the terminal.

Textual 8.2 sends the line from the left edge of a widget up to the end of a changed region, once for every region of
that line: a table whose cells change costs a hundred times what changed. `Exact` crops at the left as well. It reaches
into Textual's compositor, for which there is no public way, and touches nothing but the making of partial updates; the
test compares what a terminal then shows with a full drawing.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from textual._compositor import ChopsUpdate, Compositor
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen
from textual.strip import Strip


class _ExactUpdate(ChopsUpdate):
    """Changed spans of lines, each sent from its first to its last column."""

    def render_segments(self, console: Console) -> str:
        parts: list[str] = []
        for y, start, stop in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x >= stop or end <= start:
                    continue
                left = x if _has_wide(strip) else max(x, start)  # half of a wide character cannot be drawn
                parts.append(f"\x1b[{y + 1};{left + 1}H")
                parts.append(strip.crop(left - x, min(end, stop) - x).render(console))
        return "".join(parts)


def _has_wide(strip: Strip) -> bool:
    return len(strip.text) != strip.cell_length


class _ExactCompositor(Compositor):
    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return None if update is None else _ExactUpdate(update.chops, update.spans, update.chop_ends)


class ExactScreen(Screen[None]):
    """The screen to derive views from."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = _ExactCompositor()


class ExactModalScreen(ModalScreen[Any]):
    """The screen to derive dialogs from; what goes on behind them is drawn through it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = _ExactCompositor()
        self._left = False

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Leave it, once: the second of two keys that came together must not take the screen below away."""
        if self._left:
            return AwaitComplete()
        self._left = True
        if not self.is_mounted:  # its key and the one that closes it came together: what it mounts must be there first
            self.call_later(self._leave, result)
            return AwaitComplete()
        return super().dismiss(result)

    def _leave(self, result: Any) -> None:
        super().dismiss(result)
