"""The screen over a fake supervisor, with a clock that stands still."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from accel_tui.config.settings import load_settings
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.panes import PANES
from support.fake_client import FakeSupervisor
from support.scene import NOW, ZONE
from support.supervising import Site

SIZES = ((200, 50), (120, 40), (80, 24))
COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "USER": "me"}


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Stage:
    """One open screen and what it shows."""

    def __init__(self, app: AccelApp, pilot: Pilot[Any], clock: Clock | None = None) -> None:
        self.app, self.pilot, self.clock = app, pilot, clock or Clock()

    async def settle(self) -> None:
        """Wait until everything that was told is drawn, workers included."""
        await self.app.workers.wait_for_complete()
        while self.app.desk.pending:
            await self.pilot.pause(0.01)
        for _ in range(3):
            await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def until(self, condition: Any, what: str, *, seconds: float = 20.0, settle: bool = True) -> None:
        """Wait for a condition; polls, since what it waits for comes from a thread."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                if settle:
                    await self.settle()
                return
            await self.pilot.pause(0.02 if seconds < 60 else 0.25)
        raise AssertionError(f"{what} did not come true; the focus is on {self.app.focused}")


@contextlib.asynccontextmanager
async def staged(
    supervisor: FakeSupervisor,
    folder: Path,
    size: tuple[int, int] = (120, 40),
    options: Options = Options(),  # noqa: B008 - immutable
    environment: Mapping[str, str] | None = None,
    *,
    panes: Collection[str] = (),
) -> AsyncIterator[Stage]:
    """The screen at that size, once it shows what the supervisor told first; with `panes`, with these alone."""
    clock = Clock()
    settings = load_settings({"config_dir": str(folder / "config")}, {})
    variables = {**COLOURS, **(environment or {})}
    entries = [entry for entry in PANES if not panes or entry.name in panes]
    app = AccelApp(
        supervisor.client, settings, variables, str(folder), options, panes=entries, clock=clock, zone=ZONE
    )  # fmt: skip
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, clock)
        if supervisor.silent is None:
            await stage.until(lambda: app.desk.board.inventory is not None, "the first word of the supervisor")
        await stage.settle()
        yield stage


@contextlib.asynccontextmanager
async def over(place: Site, options: Options = Options(), size: tuple[int, int] = (120, 40)) -> AsyncIterator[Stage]:  # noqa: B008 - immutable
    """The screen over a real supervisor, once it shows the devices."""
    environment = {**place.environment, **COLOURS}
    settings = load_settings({"state_dir": str(place.base)}, environment)
    app = AccelApp(place.new_client, settings, environment, str(place.base), options)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot)
        await stage.until(lambda: app.desk.board.inventory is not None, "the first word of the supervisor")
        yield stage
