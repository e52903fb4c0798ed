"""The screen in its states, by name: for pictures."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from accel_tui.model.runs import RunState
from accel_tui.tui.app import AccelApp, Options
from support.fake_client import FakeSupervisor
from support.scene import NOW, cpu_view, inventory, runs, server, xpu_server
from support.screening import SIZES, Stage, staged


@dataclass(frozen=True)
class Scene:
    """A supervisor, and the keys that lead to what is shown."""

    name: str
    supervisor: Callable[[], FakeSupervisor]
    keys: tuple[str, ...] = ()
    sizes: tuple[tuple[int, int], ...] = SIZES
    options: Options = field(default_factory=Options)
    silent_seconds: float = 0.0
    """The supervisor stopped answering so long ago."""


def busy() -> FakeSupervisor:
    supervisor = FakeSupervisor(server(), runs())
    supervisor.history = history()
    return supervisor


def history() -> dict[str, dict[str, list[list[float | None]]]]:
    """Five minutes of utilization about what each card has now."""
    found: dict[str, dict[str, list[list[float | None]]]] = {}
    for number, view in enumerate(server().devices):
        value = view.readings["utilization_percent"].value
        level = float(value) if isinstance(value, (int, float)) else 55.0
        points: list[list[float | None]] = [
            [NOW - 300 + second, min(100.0, max(0.0, level + 12 * math.sin(second * 0.11 + number)))]
            for second in range(0, 296, 2)
        ]
        found[view.device.key] = {"utilization_percent": points}
    return found


def stopping() -> FakeSupervisor:
    first, *others = runs()
    return FakeSupervisor(server(), (replace(first, state=RunState.STOPPING), *others))


def many() -> FakeSupervisor:
    """64 cards."""
    one = server().devices[0]
    views = []
    for number in range(64):
        address = f"0000:{number:02x}:00.0"
        device = replace(one.device, key=f"pci:{address}", module_id=number, index=number, pci_address=address)
        views.append(replace(one, device=device))
    return FakeSupervisor(inventory(*views, cpu_view()))


SCENES = (
    Scene("busy", busy),
    Scene("picking", busy, ("1", "g", "m"), ((160, 22), (120, 40))),
    Scene("runs", busy, ("3", "m"), ((160, 38), (80, 24))),
    Scene("first", lambda: FakeSupervisor(inventory(cpu_view(), host="dev-laptop"))),
    Scene("silent", lambda: FakeSupervisor(xpu_server(), runs()[3:]), silent_seconds=38.0),
    Scene("stop", stopping, ("s",), ((120, 40), (80, 24))),
    Scene("palette", busy, ("ctrl+p", *"qwl"), ((120, 40),)),
    Scene("help", busy, ("question_mark",), ((120, 40),)),
    Scene("details", busy, ("1", "enter"), ((120, 40),)),
    Scene("explain", busy, ("1", "i"), ((120, 40),)),
    Scene("many", many, (), ((200, 50),)),
    Scene("simulated", busy, options=Options(demo="server8"), sizes=((120, 40),)),
    Scene("ascii", busy, options=Options(ascii_only=True), sizes=((80, 24),)),
    Scene("tiny", busy, sizes=((52, 18),)),
)


@contextlib.asynccontextmanager
async def played(scene: Scene, size: tuple[int, int], theme: str) -> AsyncIterator[AccelApp]:
    """The screen of a scene once its keys are pressed."""
    supervisor = scene.supervisor()
    options = replace(scene.options, theme=theme)
    with tempfile.TemporaryDirectory() as folder:
        async with staged(supervisor, Path(folder), size, options) as stage:
            if scene.silent_seconds:
                await fall_silent(supervisor, stage, scene.silent_seconds)
            await stage.press(*scene.keys)
            yield stage.app


async def fall_silent(supervisor: FakeSupervisor, stage: Stage, seconds: float) -> None:
    """The supervisor does not answer any more, and time goes on."""
    supervisor.break_link("the supervisor did not answer for 10 s")
    await stage.until(lambda: stage.app.desk.board.link.message, "the loss of the link")
    stage.clock.now += seconds
    stage.app.desk.tick()
    await stage.settle()
