"""The application: puts a client, the desk, themes and keys together and shows the main screen. No logic."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App

from accel_tui.client.asynchronous import AsyncClient, Feed
from accel_tui.client.connection import Client
from accel_tui.config.shipped import shipped_folder
from accel_tui.model.errors import AccelError, FileError
from accel_tui.tui.desk import Desk
from accel_tui.tui.palette import theme_of
from accel_tui.tui.screens.main import MainScreen
from accel_tui.tui.services import Services
from accel_tui.tui.theme import DEFAULT, Themes, fitting, load_themes
from accel_tui.tui.trail import KEPT_SECONDS
from accel_tui.tui.widgets.painted import ASCII_CLASS

if TYPE_CHECKING:
    import datetime

    from accel_tui.config.settings import Settings


@dataclass(frozen=True)
class Options:
    """What the command line says about the screen."""

    session: str | None = None
    """A session file to open."""
    theme: str | None = None
    read_only: bool = False
    ascii_only: bool = False
    demo: str | None = None


class AccelApp(App[None]):
    """One screen on one terminal."""

    TITLE = "accel-tui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS = "* { scrollbar-size-vertical: 1; }"

    def __init__(
        self,
        make_client: Callable[[], Client],
        settings: Settings,
        environment: Mapping[str, str],
        cwd: str,
        options: Options = Options(),
        *,
        clock: Callable[[], float] = time.time,
        zone: datetime.tzinfo | None = None,
    ) -> None:
        """`make_client` makes clients that have not connected yet; each is used by one thread."""
        self._themes = themes_for(settings)
        palette = fitting(self._themes.palettes, options.theme or DEFAULT, environment)
        super().__init__(ansi_color=palette.ansi or None)
        for one in {**self._themes.palettes, palette.name: palette}.values():
            self.register_theme(theme_of(one))
        self.theme = palette.name
        self.set_class(options.ascii_only, ASCII_CLASS)
        self.animation_level = "none"
        self.desk = Desk(clock, demo=options.demo, read_only=options.read_only)
        self.feed = Feed(make_client(), self.desk.hear)
        self.services = Services(
            self.desk,
            AsyncClient(make_client),
            settings,
            environment,
            cwd,
            clock,
            zone,
            try_now=self.feed.try_now,
        )
        self.options = options

    def on_mount(self) -> None:
        self.desk.open(self)
        self.push_screen(MainScreen(self.services))
        self.set_interval(1.0, self.desk.tick)
        self.feed.start()
        self.run_worker(self._remember(), group="remember")

    async def _remember(self) -> None:
        """The minutes before this screen was opened; a screen without them is as good."""
        with contextlib.suppress(AccelError):
            history = await self.services.asking.ask(lambda client: client.devices_history(KEPT_SECONDS))
            self.desk.trail.fill(history)

    def on_unmount(self) -> None:
        self.feed.close()
        self.services.asking.close()
        self.desk.close()


def themes_for(settings: Settings) -> Themes:
    """Shipped themes and the person's own."""
    own = Path(settings.config_dir) / "themes"
    try:
        return load_themes(shipped_folder("themes"), own if own.is_dir() else None)
    except FileError as problem:
        return Themes({}, (problem,))


def run_screen(
    state_dir: Path,
    settings: Settings,
    environment: Mapping[str, str],
    cwd: str,
    options: Options,
) -> int:
    """Show the screen until the person leaves it or its terminal is gone; the exit code."""

    def make() -> Client:
        return Client(state_dir, options.demo, settings, environment)

    app: App[Any] = AccelApp(make, settings, environment, cwd, options)
    app.run()
    return app.return_code or 0
