"""Shipped files in a plain checkout; wheels and editable installs are tried in `tests/integration`."""

from __future__ import annotations

from accel_tui.config.shipped import shipped_folder


def test_a_checkout_has_its_themes_and_sessions() -> None:
    assert shipped_folder("themes").name == "themes"
    assert shipped_folder("sessions").name == "sessions"
