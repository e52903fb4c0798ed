"""One line of typing. What is pasted is cleaned: it goes back to the terminal when it is drawn."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input

from accel_tui.text import sanitise


class Field(Input):
    """Textual's input without border and blink, in our roles."""

    DEFAULT_CSS = """
    Field, Field:focus {
        height: 1;
        border: none;
        padding: 0;
        background: $raised;
        color: $text;
    }
    Field > .input--placeholder { color: $faint; }
    """

    def __init__(self, value: str = "", **options: Any) -> None:
        super().__init__(sanitise(value), compact=True, select_on_focus=False, **options)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """Whatever way text comes in, only what may be drawn stays."""
        return value if value.isprintable() else sanitise(value)
