"""The sanitiser between every foreign byte and the terminal, and how signs and numbers are written."""

from accel_tui.text.sanitiser import sanitise, sanitise_block

__all__ = ["sanitise", "sanitise_block"]
