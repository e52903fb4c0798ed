"""What the first full screen can do without: read once that is there, or will not be there soon."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.config.shipped import shipped_folder
from accel_tui.model.errors import AccelError
from accel_tui.tui.board import Board
from accel_tui.tui.palette import theme_of
from accel_tui.tui.theme import load_themes
from accel_tui.tui.trail import KEPT_SECONDS, READINGS

if TYPE_CHECKING:
    from textual.app import App

    from accel_tui.tui.services import Services


class Late:
    """Reads the other themes and the minutes before, and says what was wrong with the person's own files."""

    def __init__(self, services: Services, own_themes: Path, problems: Iterable[str | AccelError]) -> None:
        """`problems` are those that were found already."""
        self._services, self._own_themes, self._problems = services, own_themes, tuple(problems)
        self._done = False

    def begin(self, app: App[Any], *, alone: bool) -> None:
        """Wait for the first full screen of `app`; with `alone` it shows a log and waits for no supervisor."""
        app.call_after_refresh(self._watch_disk, app)
        if alone:
            self._done = True
            app.call_after_refresh(self._load_themes, app)
            return

        def look(board: Board) -> None:
            if not self._done and (board.inventory is not None or board.link.message):
                self._done = True
                app.call_after_refresh(self._load_themes, app)
                app.run_worker(self._remember(), group="remember")

        self._services.desk.watch(app, look)
        look(self._services.desk.board)

    def _load_themes(self, app: App[Any]) -> None:
        themes = load_themes(shipped_folder("themes"), self._own_themes)
        for palette in themes.palettes.values():
            if palette.name != app.theme:
                app.register_theme(theme_of(palette))
        for problem in (*themes.problems, *self._problems):
            self._services.desk.say(problem)

    def _watch_disk(self, app: App[Any]) -> None:
        from accel_tui.tui.filling import FullDisk  # late: the first paint must not wait for it

        if app.is_running:  # it may have been asked to end meanwhile
            FullDisk(self._services).begin(app)

    async def _remember(self) -> None:
        """The minutes before this screen was opened; a screen without them is as good."""
        desk = self._services.desk
        with contextlib.suppress(AccelError):
            history = await self._services.asking.ask(
                lambda client: client.devices_history(KEPT_SECONDS, readings=READINGS)
            )
            desk.trail.fill(history)
            desk.tick()  # shown at once, not with the next second
