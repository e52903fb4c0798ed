"""The application: puts a client, the desk, themes and keys together and shows the main screen. No logic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from accel_tui.client.asynchronous import AsyncClient, Feed
from accel_tui.client.connection import Client
from accel_tui.config.shipped import shipped_folder
from accel_tui.tui.allocation import seen_by
from accel_tui.tui.desk import Desk
from accel_tui.tui.keymap import load_keymap
from accel_tui.tui.late import Late
from accel_tui.tui.messages import LeaveFor
from accel_tui.tui.palette import theme_of
from accel_tui.tui.panes import PANES, Entry
from accel_tui.tui.screens.main import MainScreen
from accel_tui.tui.services import Services
from accel_tui.tui.styles import BASE
from accel_tui.tui.theme import DEFAULT, fitting, load_themes
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.scrollbars import draw_scrollbars

if TYPE_CHECKING:
    import datetime

    from accel_tui.config.settings import Settings
    from accel_tui.tui.endings import Endings


@dataclass(frozen=True)
class Options:
    """What the command line says about the screen."""

    session: str | None = None
    """A session file to open."""
    theme: str | None = None
    read_only: bool = False
    ascii_only: bool = False
    demo: str | None = None
    selected: str | None = None
    """The run that was selected when the screen was left for another program."""


class AccelApp(App[str], inherit_bindings=False):
    """One screen on one terminal. It returns the name of a demonstration when that was asked for."""

    TITLE = "accel-tui"
    CSS_PATH = BASE
    ENABLE_COMMAND_PALETTE = False
    DEFAULT_MODE = "main"
    alone = False
    """It shows a log without its neighbours."""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "hint", "quit hint", show=False, system=True)]

    def __init__(
        self,
        make_client: Callable[[], Client],
        settings: Settings,
        environment: Mapping[str, str],
        cwd: str,
        options: Options = Options(),
        *,
        panes: Sequence[Entry] = PANES,
        clock: Callable[[], float] = time.time,
        zone: datetime.tzinfo | None = None,
    ) -> None:
        """`make_client` makes clients that have not connected yet; each is used by one thread."""
        own_themes = Path(settings.config_dir) / "themes"
        wanted = options.theme or DEFAULT
        themes = load_themes(shipped_folder("themes"), own_themes, only=(wanted, "sixteen"))
        palette = fitting(themes.palettes, wanted, environment)
        super().__init__(ansi_color=palette.ansi or None)
        self.register_theme(theme_of(palette))
        self.theme = palette.name
        self.set_class(options.ascii_only, ASCII_CLASS)
        draw_scrollbars(ascii_only=options.ascii_only)
        self.animation_level = "none"
        keymap = load_keymap(Path(settings.config_dir) / "keymap.toml")
        self.set_keymap(dict(keymap.keys))
        self.desk = Desk(clock, demo=options.demo, read_only=options.read_only, seen=seen_by(environment))
        self.feed = Feed(make_client(), self.desk.hear)
        self.services = Services(
            self.desk, AsyncClient(make_client), settings, environment, cwd, clock, zone,
            keymap=keymap.keys, try_now=self.feed.try_now,
        )  # fmt: skip
        self._options, self._panes = options, panes
        self.desk.open(self)
        # As the first screen of a mode it stands there from the beginning; pushed, it would come after an empty one.
        self.add_mode(self.DEFAULT_MODE, self.first_screen)
        self.endings: Endings | None = None
        """Lets signals and the loss of the terminal end it; set before it runs."""
        self.outside: LeaveFor | None = None
        """What the screen was left for; it is opened again afterwards."""
        self.late = Late(self.services, own_themes, keymap.problems)

    def on_leave_for(self, message: LeaveFor) -> None:
        self.outside = message
        self.exit()

    def on_load(self) -> None:
        self.begin()  # the answer comes while the screen is being made

    def first_screen(self) -> MainScreen:
        """What is shown from the beginning on."""
        return MainScreen(self.services, self._panes)

    def begin(self) -> None:
        """Listen to the supervisor."""
        self.feed.start()

    def on_mount(self) -> None:
        if self.endings is not None:
            self.endings.attach(asyncio.get_running_loop(), lambda code: self.exit(return_code=code))
        self.set_interval(1.0, self.desk.tick)
        # Back in the foreground: the terminal shows nothing of what was drawn before.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if self._options.selected is not None:
            self.desk.select(self._options.selected)
        self.late.begin(self, alone=self.alone)
        if self._options.session is not None:
            from accel_tui.tui.sessions import open_session

            self.run_worker(open_session(self.services, self._options.session), group="session", exclusive=True)

    def on_unmount(self) -> None:
        self.feed.close()
        self.services.asking.close()
        self.desk.close()

    def action_hint(self) -> None:
        self.desk.say(f"{self.services.key('app.quit')} closes the screen; runs go on")

    def _print_error_renderables(self) -> None:
        """Nothing: Textual's traceback shows values of variables. Who runs the application gets the exception."""
        self._exit_renderables.clear()

    @property
    def failure(self) -> Exception | None:
        """What ended the application against its will."""
        return self._exception
