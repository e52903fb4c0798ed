"""What panes ask of the screen around them. Facts are on the board; choices go to the desk."""

from __future__ import annotations

from textual.message import Message


class GoTo(Message):
    """Show this pane and put the focus into it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Whole(Message):
    """Give this pane the whole screen, or the place that it had before."""

    def __init__(self, number: int, *, on: bool) -> None:
        super().__init__()
        self.number = number
        self.on = on


class Told(Message):
    """A pane says something new in its border: a tab line without borders repeats it."""


class DoAsked(Message):
    """A verb was clicked in the foot line or in a text."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class LeaveFor(Message):
    """Another program is to have the terminal for a while; the screen is opened again afterwards."""

    def __init__(self, argv: tuple[str, ...], file: str) -> None:
        """`file` is what the program is given, and goes afterwards."""
        super().__init__()
        self.argv = argv
        self.file = file
