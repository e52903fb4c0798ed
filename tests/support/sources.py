"""Registry entries for the stand-in sources."""

from __future__ import annotations

from pathlib import Path

from accel_tui.devices.registry import GIVES, SourceEntry

STANDINS = Path(__file__).parent / "standins"


def standin(attribute: str, *, name: str | None = None, gives: frozenset[str] = GIVES) -> SourceEntry:
    """The stand-in source that `standin_sources.attribute` opens."""
    return SourceEntry("test", name or attribute, "standin_sources", attribute, gives, str(STANDINS))
