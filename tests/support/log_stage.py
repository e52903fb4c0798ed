"""The screen with the focus in the Log pane of a run whose log is real."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from accel_tui.tui.app import Options
from accel_tui.tui.panes.log import LogPane
from support.fake_client import FakeSupervisor
from support.scene import runs, server
from support.screening import Stage, staged
from support.screens import text_grid
from support.written import Written

LOG = 5
OWN = ("Devices", "Runs", "Log")
"""What is looked at here; other panes have grids of their own."""


@contextlib.asynccontextmanager
async def opened(
    base: Path,
    shown: Written,
    size: tuple[int, int] = (120, 40),
    options: Options = Options(),  # noqa: B008 - immutable
) -> AsyncIterator[Stage]:
    """The screen with that run selected and the focus in the log."""
    others = tuple(one for one in runs() if one.id != shown.run.id)
    async with staged(FakeSupervisor(server(), (shown.run, *others)), base, size, options, panes=OWN) as stage:
        stage.app.desk.select(shown.run.id)
        await stage.press(str(LOG))
        yield stage


def pane(stage: Stage) -> LogPane:
    return stage.app.screen.query_one(LogPane)


async def look(stage: Stage) -> None:
    """A look at the file, as the timer has it several times a second."""
    pane(stage).view.look()
    await stage.settle()


async def until_counted(stage: Stage) -> None:
    await stage.until(lambda: pane(stage).view.status.exact, "the counting of lines")


def text_of(stage: Stage) -> str:
    return text_grid(stage.app)
