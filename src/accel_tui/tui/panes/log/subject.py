"""Whose log the pane shows: that of a run, or a file that was named. Pure but for the paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accel_tui.model.runs import Run, RunState


@dataclass(frozen=True)
class Subject:
    """One log and what is known of whoever wrote it."""

    key: str
    """The id of the run, or the path: another key is another log."""
    name: str
    log: Path
    times: Path | None
    """The keeper's record of when it grew; None where nobody kept one."""
    run: Run | None = None

    @property
    def live(self) -> bool:
        """It may still grow: always so for a file of which nothing else is known."""
        return self.run is None or self.run.state is not RunState.FINISHED


def of_run(run: Run | None) -> Subject | None:
    """The log of a run."""
    if run is None:
        return None
    folder = Path(run.folder)
    return Subject(run.id, run.name, folder / "log", folder / "log.times", run)


def of_file(path: Path) -> Subject:
    """Any file; one of a run folder has its record of times beside it."""
    return Subject(
        str(path), path.name, path, path.with_name("log.times") if path.name == "log" and not path.is_dir() else None
    )
