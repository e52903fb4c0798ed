"""Scroll bars of whole cells, for terminals that show nothing but ASCII."""

from __future__ import annotations

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender


class WholeCells(ScrollBarRender):
    """Without the eighths of blocks that smooth both ends of a bar."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


def draw_scrollbars(*, ascii_only: bool) -> None:
    """Choose how all scroll bars of this process are drawn; Textual has no other place for it."""
    ScrollBar.renderer = WholeCells if ascii_only else ScrollBarRender
