"""What panes and dialogs are given: the desk, the client, and what was passed in from outside."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from accel_tui.client.asynchronous import AsyncClient
from accel_tui.config.settings import Settings
from accel_tui.tui.bindings import KEYS, shown
from accel_tui.tui.desk import Desk


@dataclass(frozen=True)
class Services:
    """One screen's parts; made once by whoever starts it, and by tests."""

    desk: Desk
    asking: AsyncClient
    settings: Settings
    environment: Mapping[str, str]
    """What a run's base environment is taken from."""
    cwd: str
    """The folder that the screen was started in, absolute."""
    clock: Callable[[], float]
    """Seconds since the epoch."""
    zone: datetime.tzinfo | None = None
    """The reader's time zone; None is that of the host."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """The person's own keys, by verb."""
    try_now: Callable[[], None] = lambda: None
    """Ask a supervisor that does not answer again at once."""

    def key(self, verb: str, limit: int = 1) -> str:
        """The keys of a verb as a person reads them; the first `limit` of them."""
        return shown(self.keymap.get(verb, KEYS[verb].keys), limit)

    @property
    def config_dir(self) -> Path:
        """The folder of the person's own keymap, themes and sessions."""
        return Path(self.settings.config_dir)
