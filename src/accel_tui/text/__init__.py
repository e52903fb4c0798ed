"""The sanitiser that stands between every foreign byte and the terminal."""

from accel_tui.text.sanitiser import sanitise, sanitise_block

__all__ = ["sanitise", "sanitise_block"]
