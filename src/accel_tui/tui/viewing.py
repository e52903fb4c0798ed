"""The application that shows one log alone: a run's, or any file's. A file needs no supervisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from accel_tui.client.connection import Client
from accel_tui.model.runs import Run
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.board import Board
from accel_tui.tui.screens.main import MainScreen

if TYPE_CHECKING:
    from accel_tui.config.settings import Settings


class ViewApp(AccelApp):
    """One log on one terminal."""

    alone = True

    def __init__(
        self,
        make_client: Callable[[], Client],
        settings: Settings,
        environment: Mapping[str, str],
        cwd: str,
        options: Options,
        *,
        looked_at: Run | str,
        **rest: Any,
    ) -> None:
        """`looked_at` is the run, or the absolute path of a file."""
        super().__init__(make_client, settings, environment, cwd, options, **rest)
        self._looked_at = looked_at

    def first_screen(self) -> MainScreen:
        from accel_tui.tui.screens.view import ViewScreen

        if isinstance(self._looked_at, str):
            self.desk.look_into(self._looked_at)
        else:
            self.desk.add_runs([self._looked_at])
            self.desk.select(self._looked_at.id)
            self.desk.watch(self, self._keep)
        return ViewScreen(self.services)

    def begin(self) -> None:
        if not isinstance(self._looked_at, str):
            self.feed.start()

    def _keep(self, board: Board) -> None:
        """A run of last year is in no snapshot."""
        if isinstance(self._looked_at, Run) and board.run is None:
            self.desk.add_runs([self._looked_at])
