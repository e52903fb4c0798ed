"""The board: all that the screen knows, as one immutable value. The desk writes it, panes read it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from accel_tui.model.devices import DeviceView, Inventory
from accel_tui.model.runs import Run, RunState

SILENT_SECONDS = 7.0
"""Without a word for this long a supervisor counts as silent; it gives a sign of life every 3 s."""


class LinkState(enum.Enum):
    """How the link to the supervisor stands."""

    CONNECTING = "connecting"
    """Never heard of it yet."""
    LIVE = "live"
    SILENT = "silent"
    """Connected, and without a word for too long."""
    LOST = "lost"
    """Nobody answers; it is tried again."""


@dataclass(frozen=True)
class Link:
    """The supervisor as the screen sees it. Times are seconds since the epoch."""

    state: LinkState = LinkState.CONNECTING
    last_word: float | None = None
    """When it was last heard of."""
    message: str = ""
    """Why it is lost."""
    remedy: str | None = None
    again: float | None = None
    """When it is tried again."""
    greeting: Mapping[str, Any] = field(default_factory=dict)
    """Its first answer: version, pid, host, settings."""

    @property
    def trusted(self) -> bool:
        """What is shown is the present; asking makes sense."""
        return self.state is LinkState.LIVE


class Level(enum.Enum):
    """How long a notice stays in the foot line."""

    NOTE = "note"
    """A few seconds."""
    WARNING = "warning"
    ERROR = "error"
    """Until it was looked at."""


@dataclass(frozen=True)
class Notice:
    """One sentence to the person, with what helps. Foreign text may stand in it: it is cleaned when drawn."""

    time: float
    message: str
    level: Level = Level.NOTE
    remedy: str | None = None
    seen: bool = False


@dataclass(frozen=True)
class Draft:
    """The job that the Job pane holds: what Launch would start. Not checked; the pane says what is wrong with it."""

    job: Mapping[str, Any]
    """The job's fields as JSON values, as `jobs.spec.parse_job` takes them."""
    select: str | None = None
    """The device selector of the session or of the earlier run; picks come before it."""
    source: str | None = None
    """Where it comes from, for the title: the path of a session file, or `run ID`."""
    cwd: str | None = None
    """The folder that relative paths in it are meant from; None is the screen's own."""
    saved: Mapping[str, Any] | None = None
    """The job as it stands in `source`; None when it was never saved."""
    retry_of: str | None = None
    """The id of the run that is run again."""

    @property
    def name(self) -> str:
        return str(self.job.get("name") or self.job.get("kind") or "job")

    @property
    def edited(self) -> bool:
        """It differs from where it comes from."""
        return self.saved is None or dict(self.job) != dict(self.saved)


@dataclass(frozen=True)
class OpenSession:
    """The session file that is open."""

    path: str
    title: str
    jobs: tuple[str, ...] = ()
    select: str | None = None


@dataclass(frozen=True)
class Board:
    """Everything that panes show. Replaced as a whole; parts that did not change are the same objects."""

    now: float
    """Seconds since the epoch, told once a second."""
    link: Link = field(default_factory=Link)
    inventory: Inventory | None = None
    """None until the first word."""
    runs: Mapping[str, Run] = field(default_factory=lambda: MappingProxyType({}))
    """By id, newest first: live ones and those of the last days."""
    picks: tuple[str, ...] = ()
    """Keys of picked devices, in the order of the table."""
    selected: str | None = None
    """The id of the run that Log and Metrics follow."""
    file: str | None = None
    """The file that Log shows in place of a run's log; absolute."""
    draft: Draft | None = None
    session: OpenSession | None = None
    span: float | None = 300.0
    """Seconds that charts over time show; None is the whole of the selected run."""
    moment: float | None = None
    """The time that the cursor of the charts stands at, in all of them."""
    notices: tuple[Notice, ...] = ()
    """Newest last."""
    demo: str | None = None
    read_only: bool = False
    busy: Mapping[str, str] = field(default_factory=dict)
    """What is being asked right now, by what it is about: run id or `launch`, to a word such as `stopping`."""

    @property
    def run(self) -> Run | None:
        """The selected run, as long as its record exists."""
        return None if self.selected is None else self.runs.get(self.selected)

    @property
    def live(self) -> tuple[Run, ...]:
        """Runs that are not finished."""
        return tuple(run for run in self.runs.values() if run.state is not RunState.FINISHED)

    @property
    def devices(self) -> tuple[DeviceView, ...]:
        return () if self.inventory is None else self.inventory.devices

    @property
    def host(self) -> str:
        return "" if self.inventory is None else self.inventory.host

    @property
    def age(self) -> float:
        """Seconds since the supervisor was last heard of; 0 before it ever was."""
        return 0.0 if self.link.last_word is None else max(0.0, self.now - self.link.last_word)

    def device(self, key: str) -> DeviceView | None:
        return next((view for view in self.devices if view.device.key == key), None)

    def picked(self) -> tuple[DeviceView, ...]:
        """The picked devices that are still there."""
        return tuple(view for view in self.devices if view.device.key in self.picks)

    def verbs_off(self) -> str | None:
        """Why nothing can be started, stopped or changed right now; None when it can."""
        if self.read_only:
            return "the screen was opened with --read-only"
        if not self.link.trusted:
            return "the supervisor does not answer"
        return None
