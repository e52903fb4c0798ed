"""What an examination is given, and how it words its findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.config.state import demo_folder
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.config.settings import Settings


@dataclass(frozen=True)
class Host:
    """The host as one person sees it: their settings, environment and state folder."""

    settings: Settings
    environment: Mapping[str, str]
    state_root: Path
    """The state folder; it need not exist."""
    demo: str | None = None

    @property
    def state(self) -> Path:
        """The folder with runs and socket, which a demonstration has below the real one."""
        return self.state_root if self.demo is None else demo_folder(self.state_root, self.demo)


def passed(check: str, message: str) -> Check:
    return Check(check, CheckLevel.PASS, message)


def warning(check: str, message: str, remedy: str | None = None) -> Check:
    return Check(check, CheckLevel.WARNING, message, remedy)


def refusal(check: str, message: str, remedy: str | None = None) -> Check:
    return Check(check, CheckLevel.REFUSAL, message, remedy)


def unknown(check: str, message: str, remedy: str | None = None) -> Check:
    return Check(check, CheckLevel.UNKNOWN, message, remedy)
