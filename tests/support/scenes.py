"""The screen in its states, by name: for pictures."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from accel_tui.model.runs import RunState
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.board import Draft
from support import past, written
from support.fake_client import FakeSupervisor
from support.scene import cpu_view, inventory, runs, server, xpu_server
from support.screening import SIZES, Stage, staged


@dataclass(frozen=True)
class Scene:
    """A supervisor, and the keys that lead to what is shown."""

    name: str
    supervisor: Callable[[], FakeSupervisor]
    keys: tuple[str, ...] = ()
    sizes: tuple[tuple[int, int], ...] = SIZES
    options: Options = field(default_factory=Options)
    draft: Draft | None = None
    silent_seconds: float = 0.0
    """The supervisor stopped answering so long ago."""


def busy() -> FakeSupervisor:
    supervisor = FakeSupervisor(server(), runs())
    supervisor.history = past.history(server())
    supervisor.series = {runs()[0].id: past.curves()}
    return supervisor


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


TRAIN = {
    "name": "qwen3-sft",
    "kind": "train",
    "launch": {"launcher": "torchrun", "python": "/envs/hpu/bin/python", "env": {"OMP_PROC_BIND": "true"}},
    "model": {"path": "Qwen/Qwen3-8B", "dtype": "bfloat16"},
    "data": {"path": "/lab/data/support-chat.jsonl", "block_size": 4096},
    "train": {"arguments": {"learning_rate": 2e-4, "max_steps": 1500, "bf16": True}},
}
JOB = Draft(TRAIN, "gaudi:7", "/lab/session.toml", "/lab", saved=TRAIN)

SCENES = (
    Scene("busy", busy),
    Scene("picking", busy, ("1", "g", "m"), ((160, 22), (120, 40))),
    Scene("runs", busy, ("3", "m"), ((160, 38), (80, 24))),
    Scene("log", busy, ("5",)),
    Scene("log-search", busy, ("5", "m", "slash", *"1.26", "enter", "N"), ((160, 44), (80, 24))),
    Scene("log-failure", busy, ("3", "down", "down", "down", "5", "m", "}"), ((160, 44), (120, 40))),
    Scene("utilization", busy, ("4", "m", "left", "left"), ((160, 45), (80, 24))),
    Scene("metrics", busy, ("6",), ((120, 40), (80, 24))),
    Scene("first", lambda: FakeSupervisor(inventory(cpu_view(), host="dev-laptop"))),
    Scene("silent", lambda: FakeSupervisor(xpu_server(), runs()[3:]), silent_seconds=38.0),
    Scene("stop", stopping, ("s",), ((120, 40), (80, 24))),
    Scene("palette", busy, ("ctrl+p", *"qwl"), ((120, 40),)),
    Scene("help", busy, ("question_mark",), ((120, 40),)),
    Scene("details", busy, ("1", "enter"), ((120, 40),)),
    Scene("explain", busy, ("1", "i"), ((120, 40),)),
    Scene("job", busy, ("2",), draft=JOB),
    Scene("job-form", busy, ("2", "e", *("down",) * 6, "enter", *"1.5"), ((160, 40), (120, 40), (80, 24)), draft=JOB),
    Scene("job-preview", busy, ("2", "p"), ((120, 40), (80, 24)), draft=JOB),
    Scene("sessions", busy, ("o",), ((120, 40), (80, 24))),
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
        give_logs(supervisor, Path(folder))
        async with staged(supervisor, Path(folder), size, options) as stage:
            if scene.silent_seconds:
                await fall_silent(supervisor, stage, scene.silent_seconds)
            if scene.draft is not None:
                stage.app.desk.draft(scene.draft)
                await stage.settle()
            await stage.press(*scene.keys)
            yield stage.app


def give_logs(supervisor: FakeSupervisor, folder: Path) -> None:
    """Real logs for the run in training and for the one that failed, where they are among the runs."""
    real = {one.run.id: one.run for one in (written.training(folder), written.failure(folder))}
    supervisor.runs = [replace(run, folder=real[run.id].folder) if run.id in real else run for run in supervisor.runs]
    stopping = supervisor.runs[:1] and supervisor.runs[0].state is RunState.STOPPING
    written.tell_ranks(folder / "runs" / runs()[0].id, stopping=bool(stopping))


async def fall_silent(supervisor: FakeSupervisor, stage: Stage, seconds: float) -> None:
    """The supervisor does not answer any more, and time goes on."""
    supervisor.break_link("the supervisor did not answer for 10 s")
    await stage.until(lambda: stage.app.desk.board.link.message, "the loss of the link")
    stage.clock.now += seconds
    stage.app.desk.tick()
    await stage.settle()
