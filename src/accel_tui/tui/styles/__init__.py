"""Structure shared by all screens; colours come from theme variables alone."""

from __future__ import annotations

from pathlib import Path

BASE = Path(__file__).parent / "base.tcss"
"""The style sheet that every application of ours loads first."""
